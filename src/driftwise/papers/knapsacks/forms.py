"""Algorithm 1 in the forms that are played: as printed, and with narrower bounds, cut to [0, 1].

    paper      radius sqrt(2 ln(12 m T^3) / (n + 1)), nothing cut, the same budget a round from first to last
    quarter    a quarter of that radius, bounds cut to [0, 1]; about what sqrt(ln(T) / (2 n)) gives
    tenth      a tenth of it, cut
    resolved   a tenth of it, cut, and solved with what is left of the budget

All have the windows of Theorem 1 for the V1 and V2 of the world they play in.
"""

from typing import Any

from driftwise.families import SlidingKnapsackUCB
from driftwise.families.knapsack.hindsight.path_length import steps
from driftwise.families.knapsack.worlds.base import BudgetWorld

FORMS: dict[str, dict[str, Any]] = {
    "paper": {},
    "quarter": {"scale": 0.25, "clip": 1},
    "tenth": {"scale": 0.1, "clip": 1},
    "resolved": {"scale": 0.1, "clip": 1, "resolve": 1},
}
DESCRIPTIONS = {
    "paper": "Algorithm 1 as printed",
    "quarter": "Algorithm 1, a quarter of the radius",
    "tenth": "Algorithm 1, a tenth of the radius",
    "resolved": "Algorithm 1, a tenth of the radius, re-solved",
}


def forms(world: BudgetWorld, horizon: int, v1: float, v2: float) -> dict[str, SlidingKnapsackUCB]:
    """Every form, by name, for a world with these variations."""
    printed = SlidingKnapsackUCB.paper(horizon, world.arms, len(world.rates(horizon)), v1, v2)
    return {name: printed._replace(**changed) for name, changed in FORMS.items()}


def tuned(world: BudgetWorld, horizon: int, seed: int = 0) -> dict[str, SlidingKnapsackUCB]:
    """Every form, for the variations that a world has with this seed."""
    v1, v2 = steps(world.means(horizon, seed))
    return forms(world, horizon, v1, float(v2.max()))
