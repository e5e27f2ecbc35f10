"""driftwise: sequential decisions when the world drifts.

    import driftwise as dw
    agent = dw.Agent(dw.SlidingThompson(window=1000), 3, seed=0)
    decision = agent.decide()
    agent.learn(decision, reward=1.0)

Public names load on first use: importing driftwise imports neither NumPy nor numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftwise import extend as extend
    from driftwise import worlds as worlds
    from driftwise.agent import Agent as Agent
    from driftwise.agent.summary import ArmSummary as ArmSummary
    from driftwise.core.outcome_status import OutcomeStatus as OutcomeStatus
    from driftwise.core.types import Decision as Decision
    from driftwise.errors import DriftwiseError as DriftwiseError
    from driftwise.evaluate.log import Log as Log
    from driftwise.evaluate.recommend import Recommendation as Recommendation
    from driftwise.evaluate.recommend import recommend as recommend
    from driftwise.families import *  # noqa: F403
    from driftwise.families.convex.projections import ball as ball
    from driftwise.families.convex.projections import box as box
    from driftwise.families.convex.projections import product as product
    from driftwise.families.convex.projections import simplex as simplex
    from driftwise.families.restless.whittle.api import whittle_index as whittle_index
    from driftwise.families.restless.whittle.warm_start import new_whittle_memory as new_whittle_memory
    from driftwise.study.results import Results as Results
    from driftwise.study.run import run as run
    from driftwise.study.study import Study as Study

__version__ = "1.0.0rc1"

_HOMES = {
    "agent": ["Agent"],
    "agent.summary": ["ArmSummary"],
    "core.outcome_status": ["OutcomeStatus"],
    "core.types": ["Decision"],
    "errors": ["DriftwiseError"],
    "evaluate.log": ["Log"],
    "evaluate.recommend": ["Recommendation", "recommend"],
    "families": ["FAMILIES", "POLICIES", "WORLDS", "ORACLES"],
    "families.convex.projections": ["ball", "box", "product", "simplex"],
    "families.restless.whittle.api": ["whittle_index"],
    "families.restless.whittle.warm_start": ["new_whittle_memory"],
    "study.results": ["Results"],
    "study.run": ["run"],
    "study.study": ["Study"],
}
_MODULES = ("extend", "worlds")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name in _MODULES:
        return import_module(f"driftwise.{name}")
    home = next((home for home, names in _HOMES.items() if name in names), None)
    value = getattr(import_module(f"driftwise.{home}"), name) if home else _classes().get(name)
    if value is None:
        elsewhere = [f"{each}.{name}" for each in _MODULES if hasattr(import_module(f"driftwise.{each}"), name)]
        raise import_module("driftwise.errors").no_attribute(__name__, name, __dir__(), elsewhere)
    return globals().setdefault(name, value)


def _classes() -> dict[str, Any]:
    """Policies and problem values by the names of their classes."""
    families = import_module("driftwise.families")
    kinds = [*families.POLICIES.values(), *(family.problem for family in families.FAMILIES.values())]
    return {kind.__name__: kind for kind in kinds}


def __dir__() -> list[str]:
    return sorted([*_MODULES, *(name for names in _HOMES.values() for name in names), *_classes()])
