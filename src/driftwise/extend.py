"""All that an author of a policy or a world needs, in one import.

    import driftwise.extend as dx

A policy is a NamedTuple of parameters with `init(problem) -> state`; `select` and `update` are kernels, registered for
its class. A world is a frozen dataclass that says how its means (`ArmedWorld`) or parameter (`FeaturedWorld`) drift.
CONTRIBUTING.md has a whole policy; `check_policy` and `check_world` of `driftwise.checks` hold yours to every contract.
"""

from typing import TYPE_CHECKING

from driftwise.core.adapter import Adapter as Adapter
from driftwise.core.family import FAMILIES as FAMILIES
from driftwise.core.family import Family as Family
from driftwise.core.family import add_family as add_family
from driftwise.core.kernel import kernel as kernel
from driftwise.core.problem import ProblemValue as ProblemValue
from driftwise.core.problem import RewardProblem as RewardProblem
from driftwise.core.protocols import Comparator as Comparator
from driftwise.core.protocols import Policy as Policy
from driftwise.core.protocols import Tape as Tape
from driftwise.core.protocols import World as World
from driftwise.core.random import beta as beta
from driftwise.core.random import branch as branch
from driftwise.core.random import choice as choice
from driftwise.core.random import exponential as exponential
from driftwise.core.random import fill_normal as fill_normal
from driftwise.core.random import fill_uniform as fill_uniform
from driftwise.core.random import gamma as gamma
from driftwise.core.random import integers as integers
from driftwise.core.random import normal as normal
from driftwise.core.random import stream as stream
from driftwise.core.random import uniform as uniform
from driftwise.core.seeding import generator as generator
from driftwise.core.seeding import key as key
from driftwise.core.summary import Summary as Summary
from driftwise.core.summary import clear_summary as clear_summary
from driftwise.core.types import About as About
from driftwise.core.types import ArmIds as ArmIds
from driftwise.core.types import Cache as Cache
from driftwise.core.types import Decision as Decision
from driftwise.core.types import Derived as Derived
from driftwise.core.types import Floats as Floats
from driftwise.core.types import Ints as Ints
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
from driftwise.core.types import Spent as Spent
from driftwise.core.validation import finite as finite
from driftwise.core.validation import number as number
from driftwise.core.validation import one_of as one_of
from driftwise.core.validation import whole as whole
from driftwise.core.verbs import register as register
from driftwise.errors import no_attribute
from driftwise.families.contextual.worlds.base import FeaturedWorld as FeaturedWorld
from driftwise.families.convex.worlds.base import ConvexWorld as ConvexWorld
from driftwise.families.knapsack.worlds.base import BudgetWorld as BudgetWorld
from driftwise.families.multi_armed.worlds.base import ArmedWorld as ArmedWorld
from driftwise.families.restless.worlds.base import RestlessWorld as RestlessWorld
from driftwise.measure.base_world import BaseWorld as BaseWorld
from driftwise.measure.levels import Levels as Levels

if not TYPE_CHECKING:  # a type checker knows all names

    def __getattr__(name: str) -> object:
        raise no_attribute(__name__, name, globals())
