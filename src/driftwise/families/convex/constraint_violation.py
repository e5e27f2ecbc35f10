"""How well points were chosen under constraints, and how far the constraints strayed.

    Reg1    sum_t f_t(x_t) - OPT                         against the best fixed point that keeps constraints on average
    Reg2    sum_i max(0, sum_t g_{t,i}(x_t))             by how much they were overdrawn in all
    W       sum_t sum_i sup_x |g_{t,i}(x) - mean of g_i(x)|

W is exact for functions k/2 |x|^2 + a'x + b on boxes, balls, simplices and products: their largest values are known in
closed form. Of Python functions nothing is known but values and gradients: finding the sup of a difference of convex
functions is a hard problem, and no W is told.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.convex.ground_truth import ConvexGroundTruth
from driftwise.families.convex.hindsight import best_on_average
from driftwise.families.convex.loss_history import Functions, Past, Recorded, past_of
from driftwise.families.convex.quadratics import Quadratics, farthest_from_mean, value_at


class Regrets(NamedTuple):
    """What a run lost beyond the best fixed point, Reg1, and by how much it overdrew constraints, Reg2."""

    loss: float
    violation: float


def regrets(past: Past, points: Floats, best: float | None = None) -> Regrets:
    """Reg1 and Reg2 of the points played, a row per round; `best` is OPT, where it is known already.

    >>> from driftwise.families.convex.loss_history import past_of
    >>> from driftwise.families import ConvexHard
    >>> past = past_of(ConvexHard(delta=0.2), 100, seed=0)
    >>> regret = regrets(past, np.full((100, 1), 0.5 / 1.2))
    >>> round(regret.loss, 3), round(regret.violation, 3)
    (4.167, 0.0)
    """
    rounds = int(past.weights.sum())
    points = np.ascontiguousarray(points, np.float64)
    if points.shape != (rounds, past.domain.dim):
        raise ParameterError(
            f"points have shape {points.shape}: {rounds} rounds need a row of {past.domain.dim} coordinates each"
        )
    if isinstance(past, Functions):
        lost = sum(past.one_loss(t, point) for t, point in enumerate(points))
        sums = np.sum([past.one_row(t, point) for t, point in enumerate(points)], axis=0)
    elif isinstance(past, Recorded):
        lost = float(_along(past.losses, points)[0])
        sums = _along(past.constraints, points)
    else:
        raise ParameterError(f"{type(past).__name__} is neither Recorded nor Functions: points cannot be put to it")
    if best is None:
        best = best_on_average(past).value
    return Regrets(lost - best, float(np.maximum(sums, 0.0).sum()))


def wandering(past: Recorded) -> float:
    """W, how far constraints stray from their mean, summed over all rounds.

    >>> from driftwise.families.convex.loss_history import past_of
    >>> from driftwise.families import ConvexLinear
    >>> round(wandering(past_of(ConvexLinear(variation=2.0), 1000, seed=0)), 6)
    2000.0
    """
    if not isinstance(past, Recorded):
        raise ParameterError("W is known of recorded functions only: of Python functions no exact sup can be had")
    dim = past.domain.dim
    forms = past.constraints
    return float(farthest_from_mean(past.domain, forms, forms.mean, forms.weights, np.zeros(dim), np.zeros(dim)))


def losses_at(forms: Quadratics, point: Floats) -> Floats:
    """What one fixed point would have lost in every round."""
    losses = np.empty(len(forms.rows))
    _fill_losses(forms, point, losses)
    return losses


def _along(forms: Quadratics, points: Floats) -> Floats:
    """The sum of each function along the points played."""
    sums = np.zeros(forms.levels.shape[1])
    _add_along(forms, points, sums)
    return sums


@kernel
def _add_along(forms: Quadratics, points: Floats, sums: Floats) -> None:
    for t in range(len(points)):
        for j in range(len(sums)):
            sums[j] += value_at(forms, forms.rows[t], j, points[t])


@kernel
def _fill_losses(forms: Quadratics, point: Floats, losses: Floats) -> None:
    for t in range(len(losses)):
        losses[t] = value_at(forms, forms.rows[t], 0, point)


def drift(world: ConvexGroundTruth, horizon: int, seed: int) -> dict[str, float | None]:
    """How far the constraints of one run stray, by the name of the measure.

    >>> from driftwise.families import ConvexHard
    >>> drift(ConvexHard(delta=0.2), 1000, seed=0)
    {'W': 200.0}
    """
    return {"W": round(wandering(past_of(world, horizon, seed)), 9)}
