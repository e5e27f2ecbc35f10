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
    from driftwise.agent import Agent as Agent
    from driftwise.core.kernel import kernel as kernel
    from driftwise.core.types import About as About
    from driftwise.core.types import ArmIds as ArmIds
    from driftwise.core.types import Cache as Cache
    from driftwise.core.types import Decision as Decision
    from driftwise.core.types import Derived as Derived
    from driftwise.core.types import Moves as Moves
    from driftwise.core.types import Outcome as Outcome
    from driftwise.core.types import PerArm as PerArm
    from driftwise.core.types import PerClass as PerClass
    from driftwise.core.types import PerFeature as PerFeature
    from driftwise.core.types import PerFeaturePair as PerFeaturePair
    from driftwise.core.types import PerRound as PerRound
    from driftwise.core.types import Problem as Problem
    from driftwise.core.types import Scratch as Scratch
    from driftwise.core.types import Shared as Shared
    from driftwise.core.types import SlateOutcome as SlateOutcome
    from driftwise.core.types import Slopes as Slopes
    from driftwise.core.verbs import register as register
    from driftwise.errors import DriftwiseError as DriftwiseError
    from driftwise.families import *  # noqa: F403  # noqa: F403
    from driftwise.families.convex.projections import ball as ball
    from driftwise.families.convex.projections import box as box
    from driftwise.families.convex.projections import product as product
    from driftwise.families.convex.projections import simplex as simplex
    from driftwise.families.restless.whittle.api import whittle_index as whittle_index
    from driftwise.families.restless.whittle.warm_start import new_whittle_memory as new_whittle_memory
    from driftwise.study.results import Results as Results
    from driftwise.study.run import run as run
    from driftwise.study.study import Study as Study

__version__ = "0.1.0"

_HOMES = {
    "agent": ["Agent"],
    "core.kernel": ["kernel"],
    "core.types": [
        *("About", "ArmIds", "Cache", "Decision", "Derived", "Moves", "Outcome", "PerArm", "PerClass"),
        *("PerFeature", "PerFeaturePair", "PerRound", "Problem", "Scratch", "Shared", "SlateOutcome", "Slopes"),
    ],
    "core.verbs": ["register"],
    "errors": ["DriftwiseError"],
    "families.restless.whittle.api": ["whittle_index"],
    "families.convex.projections": ["ball", "box", "product", "simplex"],
    "families.restless.whittle.warm_start": ["new_whittle_memory"],
    "study.results": ["Results"],
    "study.run": ["run"],
    "study.study": ["Study"],
    "families.composite.worlds.delayed": ["Delayed"],
}
_TABLES = ("POLICIES", "WORLDS")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    home = next((home for home, names in _HOMES.items() if name in names), "families")
    value = getattr(import_module(f"driftwise.{home}"), name, None)
    if value is None:
        raise AttributeError(f"module 'driftwise' has no attribute {name!r}")
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    families = import_module("driftwise.families")
    named = [name for names in _HOMES.values() for name in names]
    for table in _TABLES:
        named += [table, *(kind.__name__ for kind in getattr(families, table).values())]
    return sorted(named)
