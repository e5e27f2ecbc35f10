"""The virtual-queue algorithm for online convex optimisation with constraints that must hold on average.

    Q <- max(0, Q + g_{t-2}(x_{t-2}) + J_{t-2} (x_{t-1} - x_{t-2}))                     from the third round on
    x_t = P(x_{t-1} - (beta grad f_{t-1} + J_{t-1}' Q) / (2 alpha))                     from the second; x_1 = x_0

f_t is the loss, g_t <= 0 the constraints, J_t their gradients at x_t, a row each; P is the nearest point of the domain.
A queue is as long as its constraint has been overdrawn; the longer it is, the harder the next point is pushed back.

| symbol | field | |
|---|---|---|
| beta | weight | of the loss against the constraints: weight sqrt(T) |
| alpha | inertia | how little a round moves the point: inertia T |
| T | | the horizon; where it is not known, or exceeded, the rounds played |
| x_0 | | the first point, from the problem: the middle of the domain, unless one is given |

Liu, Jiang & Li, *Non-stationary Bandits with Knapsacks*, 2022, section 4 and Algorithm 2, after Neely & Yu, *Online
convex optimization with time-varying constraints*, 2017. The paper prints beta = 1 / sqrt(T) and alpha = 1 / T, with
which a step is about sqrt(T) long and losses grow in proportion to T; `printed=1` plays that. f_0 and g_0, which it
leaves undefined, are zero here.
Known in advance: the domain, the number of constraints, and the horizon if possible.
Regret: O(sqrt(T)) + q W against the best fixed point that keeps the constraints on average, which are overdrawn by
O(d sqrt(T)) in all; q bounds their prices, W is how far they stray from their mean. With T unknown,
nothing is proven.

Answers may come late and in any order, each makes one step: from the point being played when it comes, along the
gradients at the point it belongs to. It enters the queues with the next answer, as its linear forecast for the point
being played then. (The formula could also be read as a forecast for the point of that next answer. Queues then lag
behind the point by the delay, and swing: 100 rounds late at T = 16,000, regret was 8292 instead of 101.) An answer that
never comes moves nothing. Told twice, it would count twice; an agent refuses the second.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import About, Decision, Derived, Floats, Problem, Scratch, Shared, Slopes
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.families.convex.projections import Domain, checked, project_onto


class VirtualQueueState(NamedTuple):
    """The point to play and the queues; the answer that waits to enter them; the domain and the horizon (0: unknown).

    `action` is what `select` hands out: the point itself moves on while its answer is under way.
    """

    domain: Domain
    point: Shared
    queues: Shared
    waiting_point: Shared
    waiting_values: Shared
    waiting_jacobian: Shared
    horizon: Derived
    action: Scratch


class VirtualQueue(NamedTuple):
    """Gradient steps on the loss, pushed back by queues that count how far constraints are overdrawn.

    Parameters
    ----------
    weight : float
        Factor on beta: more follows the loss, less keeps the constraints.
    inertia : float
        Factor on alpha: more is steadier, less is faster.
    printed : int
        1 takes beta and alpha as the paper prints them; its regret then grows in proportion to the horizon.

    >>> from driftwise.families.convex.projections import box, convex
    >>> structure = convex(box(0.0, 1.0, size=3), constraints=2)
    >>> VirtualQueue().init(Problem(1, dim=3, structure=structure, family="convex")).point.tolist()
    [0.5, 0.5, 0.5]
    """

    weight: float = 1.0
    inertia: float = 1.0
    printed: int = 0

    def init(self, problem: Problem) -> VirtualQueueState:
        """At the first point, with empty queues."""
        number("weight", self.weight, above=0.0)
        number("inertia", self.inertia, above=0.0)
        whole("printed", self.printed, low=0, high=1)
        whole("n_arms", problem.n_arms)
        domain, (constraints,), start = checked(problem.structure)
        dim = whole("dim", problem.dim)
        if dim != domain.dim:
            raise ParameterError(f"dim={dim} does not fit a domain of {domain.dim} coordinates")
        return VirtualQueueState(
            domain=Domain(*(array.copy() for array in domain)),
            point=domain.project(start),
            queues=np.zeros(constraints),
            waiting_point=np.zeros(dim),
            waiting_values=np.zeros(constraints),
            waiting_jacobian=np.zeros((constraints, dim)),
            horizon=np.array([problem.horizon], np.int64),
            action=np.zeros(dim),
        )


@kernel
def _select(policy: VirtualQueue, state: VirtualQueueState, t: int, context: Any, rng: Any) -> tuple[Floats, float]:
    for k in range(len(state.point)):
        state.action[k] = state.point[k]
    return state.action, 1.0


@kernel
def _update(policy: VirtualQueue, state: VirtualQueueState, decision: Decision, outcome: Slopes, now: int) -> None:
    dim, rounds = len(state.point), float(max(state.horizon[0], now + 1))
    beta, alpha = policy.weight * math.sqrt(rounds), policy.inertia * rounds
    if policy.printed:
        beta, alpha = policy.weight / math.sqrt(rounds), policy.inertia / rounds
    for j in range(len(state.queues)):
        forecast = state.waiting_values[j]
        for k in range(dim):
            forecast += state.waiting_jacobian[j, k] * (state.point[k] - state.waiting_point[k])
        state.queues[j] = max(0.0, state.queues[j] + forecast)
    for k in range(dim):
        push = beta * outcome.gradient[k]
        for j in range(len(state.queues)):
            push += state.queues[j] * outcome.jacobian[j, k]
        state.point[k] -= push / (2.0 * alpha)
    project_onto(state.domain, state.point)
    _wait(state, decision.action, outcome)


@kernel
def _wait(state: VirtualQueueState, point: Floats, outcome: Slopes) -> None:
    """Keep an answer until the next one lets it into the queues."""
    for k in range(len(point)):
        state.waiting_point[k] = point[k]
    for j in range(len(state.queues)):
        state.waiting_values[j] = outcome.values[j]
        for k in range(len(point)):
            state.waiting_jacobian[j, k] = outcome.jacobian[j, k]


register(
    VirtualQueue,
    about=About(
        "the domain; the horizon if possible",
        "O(sqrt(T)) + q W, constraints overdrawn by O(d sqrt(T))",
        "Liu, Jiang & Li 2022; Neely & Yu 2017",
        family="convex",
    ),
    select=_select,
    update=_update,
)
