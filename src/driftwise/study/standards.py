"""Which standard runs are held against, by family."""

from typing import Any

from driftwise.measure.budgets.best_plan import BestPlan
from driftwise.measure.convex.best_point import BestPoint
from driftwise.measure.standard import BestChoice, Standard
from driftwise.study.rival import WhittleRival

STANDARDS: dict[str, type[Standard]] = {
    "armed": BestChoice,
    "features": BestChoice,
    "slates": BestChoice,
    "budgets": BestPlan,
    "convex": BestPoint,
    "restless": WhittleRival,
}


def standard_of(world: Any, horizon: int, seed: int) -> Standard:
    """What runs in this world are held against."""
    return STANDARDS[world.problem(horizon).family](world, horizon, seed)
