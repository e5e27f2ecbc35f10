"""Every family: a new one is a folder and a line here. All policies and worlds by name."""

from typing import Any

from driftwise.core.family import FAMILIES as FAMILIES
from driftwise.families.composite import *  # noqa: F403
from driftwise.families.composite import COMPOSITE_POLICIES, COMPOSITE_WORLDS
from driftwise.families.contextual import *  # noqa: F403
from driftwise.families.contextual_knapsack import *  # noqa: F403
from driftwise.families.convex import *  # noqa: F403
from driftwise.families.knapsack import *  # noqa: F403
from driftwise.families.multi_armed import *  # noqa: F403
from driftwise.families.restless import *  # noqa: F403
from driftwise.families.slate import *  # noqa: F403


def _all(what: str, more: dict[str, Any]) -> dict[str, Any]:
    """What families have of one kind, by name in alphabetical order."""
    tables = [getattr(family, what) for family in FAMILIES.values()]
    return dict(sorted({name: kind for table in [*tables, more] for name, kind in table.items()}.items()))


POLICIES: dict[str, Any] = _all("policies", COMPOSITE_POLICIES)
WORLDS: dict[str, Any] = _all("worlds", COMPOSITE_WORLDS)
ORACLES: dict[str, Any] = _all("oracles", {})
