"""Which standard runs are held against, by family."""

from typing import Any

from driftwise.families.knapsack.comparator import BestPlan
from driftwise.families.convex.comparator import BestPoint
from driftwise.measure.comparator import BestChoice, Standard
from driftwise.families.restless.comparator import WhittleRival

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
