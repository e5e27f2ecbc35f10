"""Proving grounds: for every family of policies a small world, and the ways an agent is asked there.

The checks of `driftwise.checks` know what was promised; here is how to play, to ask and to pay in each family.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.agent import Agent
from driftwise.core import verbs
from driftwise.core.family import family_of, trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import Decision, Moves, Outcome, Problem, SlateOutcome, Spent, Trace
from driftwise.core.validation import cast
from driftwise.errors import DriftwiseError
from driftwise.families import Abrupt, BudgetSwitching, Climbing, ConvexLinear, Rotating, Slates
from driftwise.families.convex.projections import ball, box, product, simplex

ARMS, DIM, SLATE, RESOURCES, STATES, ROUNDS, HORIZON = 4, 4, 2, 2, 3, 600, 2000
NAMES = ("a", "b", "c")
Luck = np.random.Generator


class ContractError(DriftwiseError, AssertionError):
    """A promise was broken."""


def require(kept: bool, broken: str) -> None:
    """Raise what was broken unless it was kept."""
    if not kept:
        raise ContractError(broken)


class Way(NamedTuple):
    """A way to use an agent: how it is made, what an arm that comes later brings, and what is told at a decision.

    `forgets` says that a retired arm takes all that was known of it away, so that its late rewards are ignored. `adds`
    is what must be told with a reward.
    """

    made: dict[str, Any]
    brings: dict[str, Any]
    told: Callable[[Luck], dict[str, Any]]
    forgets: bool = True
    adds: Callable[[Any], dict[str, Any]] = lambda reward: {}

    def agent(self, policy: Any, **more: Any) -> Agent:
        """An agent at the start."""
        return Agent(policy, horizon=HORIZON, **(self.made | more))

    def answer(self, agent: Agent, decision: Decision | int, told: dict[str, Any]) -> None:
        """Tell what came of a decision; nothing comes of the null arm."""
        if not (isinstance(decision, Decision) and decision.action is None):
            agent.learn(decision, **told)

    @property
    def named(self) -> bool:
        """Whether arms have names, and can come and go."""
        return "arms" in self.made


def _nothing(luck: Luck) -> dict[str, Any]:
    return {}


def rows(luck: Luck, count: int) -> NDArray[np.float64]:
    """Random directions: no two alike, none zero."""
    drawn = luck.standard_normal((count, DIM))
    directions: NDArray[np.float64] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return directions


def _any_rows(luck: Luck) -> dict[str, Any]:
    return {"actions": rows(luck, int(luck.integers(1, 7)))}


def _any_context(luck: Luck) -> dict[str, Any]:
    return {"context": luck.uniform(0.2, 0.7, 2)}


def _costs(reward: Any) -> dict[str, Any]:
    return {"costs": {"euros": 0.1 + 0.3 * reward, "units": 0.25}}


def _any_states(luck: Luck) -> dict[str, Any]:
    return {"states": luck.integers(STATES, size=ARMS).tolist()}


_UNITS = dict(zip((*NAMES, "d"), np.eye(DIM), strict=True))
WAYS = {
    "multi-armed": {"arms": Way({"arms": NAMES}, {}, _nothing)},
    "contextual": {
        "rows that come with decisions": Way({"features": DIM}, {}, _any_rows),
        "arms with features": Way(
            {"arms": {name: _UNITS[name] for name in NAMES}}, {"features": _UNITS["d"]}, _nothing, forgets=False
        ),
        "arms and a context": Way({"arms": NAMES, "context": 2}, {}, _any_context),
    },
    "slate": {"slates": Way({"arms": (*NAMES, "e"), "slate": SLATE}, {}, _nothing)},
    "restless": {
        "arms that move": Way(
            {"arms": (*NAMES, "e"), "activate": SLATE, "states": STATES, "rewards": [0.0, 0.5, 1.0], "episode": 50}
            | {"ties": "first"},  # as in the loop
            {},
            _any_states,
            forgets=False,
        )
    },
    "convex": {
        "points": Way({"domain": product(box(0.0, 1.0), ball(0.0, 1.0), simplex(2)), "constraints": 2}, {}, _nothing)
    },
    "knapsack": {
        "budgets": Way(
            {"arms": NAMES, "budgets": {"euros": 0.2 * HORIZON, "units": 0.5 * HORIZON}}, {}, _nothing, adds=_costs
        ),
    },
}


class Ground(NamedTuple):
    """Where a policy is tried."""

    family: str
    world: Any

    @property
    def problem(self) -> Problem:
        """What a policy may know."""
        problem: Problem = self.world.problem(HORIZON)
        return problem

    @property
    def ways(self) -> dict[str, Way]:
        """The ways to use an agent of this family."""
        return WAYS[self.family]

    def played(self, policy: Any, rounds: int = ROUNDS) -> tuple[Any, Trace]:
        """The state and trace of a short run."""
        tape, nature = self.world.draw(rounds, seed=1)
        return self.play(policy, tape, nature, key(2), rounds)

    def play(self, policy: Any, tape: Any, nature: Any, rng: Any, rounds: int) -> tuple[Any, Trace]:
        """The state and trace of a run over a tape."""
        policy = cast(policy)
        state, trace = policy.init(self.problem), self.trace(0, rounds)
        play(policy, state, tape, nature, rng, trace, rounds)
        return state, trace

    def trace(self, start: int, rounds: int) -> Trace:
        """An empty trace."""
        return trace_for(self.problem, start, rounds)

    def observe(self, tape: Any, nature: Any, t: int) -> tuple[Any, bool]:
        """What round `t` of a whole tape shows, and whether the world is open."""
        shown, is_open = verbs.observe(tape, nature, t)
        return tape.sets[tape.which[t]] if self.family == "contextual" else shown, bool(is_open)

    def any_context(self, luck: Luck, count: int = ARMS) -> Any:
        """Something a policy could be shown."""
        contexts: dict[str, Callable[[], Any]] = {
            "contextual": lambda: rows(luck, count),
            "knapsack": lambda: luck.uniform(0.1, 0.5, RESOURCES),
            "restless": lambda: luck.integers(STATES, size=self.problem.n_arms),
        }
        return contexts.get(self.family, tuple)()

    def any_action(self, luck: Luck) -> Any:
        """Something a policy could choose."""
        n_arms, slate = self.problem.n_arms, self.problem.slate
        if self.family == "restless":
            return np.sort(luck.permutation(n_arms)[:slate])
        if slate:
            return luck.permutation(n_arms)[:slate].astype(np.int64)
        return int(luck.integers(-1 if self.family == "knapsack" else 0, n_arms))  # -1 is the null arm

    def any_row(self, luck: Luck) -> Any:
        """What could describe an action chosen."""
        return rows(luck, 1)[0] if self.family == "contextual" else self.any_context(luck)

    def any_outcome(self, luck: Luck) -> Any:
        """What could come of a decision."""
        if self.family == "knapsack":
            return Spent(float(luck.integers(2)), luck.random(RESOURCES))
        if self.family == "restless":
            states = self.any_context(luck)
            return Moves(float(states.sum()), states.astype(np.float64), states)
        if not self.problem.slate:
            return Outcome(float(luck.integers(2)))
        items = luck.integers(2, size=self.problem.slate).astype(np.float64)
        return SlateOutcome(float(items.sum()), items)

    def any_told(self, luck: Luck) -> dict[str, Any]:
        """What could be told to an agent."""
        if self.family == "slate":
            return {"rewards": (luck.random(SLATE) < 0.5).astype(float).tolist()}
        if self.family == "convex":
            gradient, (values, *jacobian) = luck.standard_normal(DIM), luck.standard_normal((DIM + 1, 2))
            return {"gradient": gradient, "values": values, "jacobian": np.transpose(jacobian)}
        if self.family == "restless":
            return {"states": luck.integers(STATES, size=ARMS).tolist()}
        reward = float(luck.random())
        return {"reward": reward} | (_costs(reward) if self.family == "knapsack" else {})

    def bad_told(self, luck: Luck) -> list[dict[str, Any]]:
        """What an agent must refuse to be told."""
        bad: tuple[Any, ...] = (np.nan, np.inf, 1.5, "much")
        if self.family == "slate":
            return [{"rewards": each} for each in [*([0.0, each] for each in bad), [0.0], 0.5]]
        if self.family == "convex":
            good, wrong = self.any_told(luck), [np.full(DIM, each) for each in (np.nan, np.inf)]
            less = [{name: good[name] for name in good if name != missing} for missing in good]
            return [*less, *(good | {"gradient": each} for each in (*wrong, [0.0], "much")), {"reward": 1.0}]
        if self.family == "restless":
            states = [0] * (ARMS - 1), [STATES] * ARMS, [-1] * ARMS, 0, "much", {"z": 0}
            rewards = [np.nan] * ARMS, [np.inf] * ARMS, ["much"] * ARMS, [0.0], 1.0
            paid = [{"states": [0] * ARMS, "rewards": each} for each in rewards]
            return [{}, {"reward": 1.0}, *({"states": each} for each in states), *paid]
        return [self.any_told(luck) | {"reward": each} for each in (*bad, [0.0])]

    @property
    def changes(self) -> list[dict[str, Any]]:
        """What an agent may be told that has changed."""
        changes: list[dict[str, Any]] = [{"horizon": HORIZON + ROUNDS}, {"horizon": HORIZON - ROUNDS}]
        if self.family == "knapsack":
            changes += [
                {"budgets": {"euros": 0.4 * HORIZON}},
                {"budgets": {"units": 0.3 * HORIZON}, "horizon": 3 * HORIZON},
            ]
        if self.family == "restless":
            changes += [{"activate": 1}, {"activate": 3, "horizon": 3 * HORIZON}]
        return changes

    @property
    def bad_costs(self) -> list[Any]:
        """Costs that an agent must refuse to be told; none where nothing costs."""
        if self.family != "knapsack":
            return []
        whole: dict[str, Any] = {"euros": 0.5, "units": 0.5}
        wrong = [whole | {"units": each} for each in (np.nan, np.inf, 1.5, -0.1, "much", None)]
        return [None, 0.5, {"euros": 0.5}, whole | {"hours": 0.0}, *wrong]

    def select(self, policy: Any, state: Any, t: int, context: Any, rng: Any) -> tuple[Any, float]:
        """What a policy chooses, as plain numbers: an arm or row, the items of a slate, the coordinates of a point."""
        action, propensity = verbs.select(policy, state, t, context, rng)
        return (tuple(action.tolist()) if isinstance(action, np.ndarray) else action), propensity

    def exists(self, action: Any) -> bool:
        """Whether this could be chosen."""
        if self.family == "convex":
            return bool(self.problem.structure.domain.contains(action))
        chosen, n_arms = action if isinstance(action, tuple) else (action,), self.problem.n_arms
        least = -1 if self.family == "knapsack" else 0  # the null arm
        right = all(isinstance(each, int) and least <= each < n_arms for each in chosen)
        return right and len(set(chosen)) == max(1, self.problem.slate)

    def problem_of(self, kept: list[int]) -> Problem:
        """The problem of other arms: `kept[new]` is the old number of arm `new`, or -1 for one that was not there."""
        problem = self.problem._replace(n_arms=len(kept))
        if self.family != "restless":
            return problem
        structure = problem.structure
        return problem._replace(
            structure=structure._replace(classes=structure.classes[kept], costs=structure.costs[kept])
        )

    @property
    def bare(self) -> bool:
        """Whether one arm is chosen, and nothing is shown."""
        return self.family == "multi-armed"

    @property
    def has_arms(self) -> bool:
        """Whether something is numbered here that can come and go."""
        return self.family != "convex"


def ground_of(policy: Any) -> Ground:
    """The proving ground of a policy's family."""
    inner = getattr(policy, "policy", policy)
    return ground_in(family_of(policy), getattr(inner, "link", "identity"))


def ground_in(family: str, link: str = "identity") -> Ground:
    """The proving ground of a family."""
    worlds: dict[str, Callable[[], Any]] = {
        "multi-armed": lambda: Abrupt(n_arms=ARMS, phases=3),
        "contextual": lambda: Rotating(n_actions=ARMS, dim=DIM, link=link),
        "slate": lambda: Slates(size=SLATE, drift=f"abrupt:n_arms={ARMS},phases=3"),
        "restless": lambda: Climbing(n_arms=ARMS, activate=SLATE, rungs=STATES, episode=50),
        "convex": lambda: ConvexLinear(dim=DIM, variation=1.0, noise=0.3),
        "knapsack": lambda: BudgetSwitching(n_arms=ARMS, resources=RESOURCES, phases=3, rate=0.4),
    }
    return Ground(family, worlds[family]())
