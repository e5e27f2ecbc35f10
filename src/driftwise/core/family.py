"""A family is a kind of problem: what is shown, what is chosen, what comes back.

Everything that is particular to one family lives in its own package; the rest of the product asks `FAMILIES[name]` and
never compares names. A new family is a folder in `families/` and a line in `families/__init__.py`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from driftwise.core.adapter import AnyAdapter
from driftwise.core.fixtures import Fixtures
from driftwise.core.foresight import Foresight, has_names, with_numbers
from driftwise.core.problem import ProblemValue
from driftwise.core.protocols import Comparator, Policy, World
from driftwise.core.service_hooks import ServiceHooks
from driftwise.core.types import Problem, Trace, new_trace
from driftwise.core.validation import policy_instance
from driftwise.core.verbs import ABOUT, restart
from driftwise.core.words import Words
from driftwise.errors import DriftwiseError, ParameterError

ANY = "any"  # the family of policies over policies
PolicyT = TypeVar("PolicyT", bound=Policy)


class Late(NamedTuple):
    """What a decision keeps until its late outcome comes: how many numbers of its context, and how many costs."""

    row: Callable[[Problem], int] = lambda problem: 0
    costs: Callable[[Problem], int] = lambda problem: 0


@dataclass(frozen=True, kw_only=True)
class Family:
    """All that other layers know of a family.

    Parameters
    ----------
    name : str
        What it is called on the command line and in JSON.
    chooses : str
        What a policy chooses, as errors say it: "one arm, without features".
    problem : type
        The public problem value: constructor arguments, JSON of a deployment and bytes in the journal.
    adapter : type
        Between a program and the compiled verbs.
    comparator : type
        What regret is measured against.
    words : callable
        What choices, columns and axes of a world are called in tables, plots and pages.
    drift : callable
        How far one run of a world drifts, by the names of measures.
    service : ServiceHooks
        What a decision service asks: fields in JSON, limits, defaults, statistics, explanations.
    fixtures : type
        What the contracts try its policies and worlds with.
    structure : type, optional
        What `Problem.structure` is: a NamedTuple of arrays.
    guests : tuple of str
        Other families whose policies also play problems of this one: they ignore what they do not know.
    points : bool
        Whether a choice is a point of `dim` coordinates, not an arm or several.
    late : Late, optional
        What late outcomes need; None where worlds of this family cannot be delayed.
    auto : type, optional
        The policy that `auto` is in problems of this family.
    policies, worlds, oracles : mapping
        What there is of each, by name.
    """

    name: str
    chooses: str
    problem: type[ProblemValue]
    adapter: type[AnyAdapter]
    comparator: type[Comparator]
    words: Callable[[Any], Words]
    drift: Callable[[Any, int, int], dict[str, float | None]]
    service: ServiceHooks = field(default_factory=ServiceHooks)
    fixtures: type[Fixtures]
    structure: type[Any] | None = None
    guests: tuple[str, ...] = ()
    points: bool = False
    late: Late | None = None
    auto: type[Any] | None = None
    policies: Mapping[str, type] = field(default_factory=dict)
    worlds: Mapping[str, type] = field(default_factory=dict)
    oracles: Mapping[str, type] = field(default_factory=dict)

    def accepts(self, name: str) -> bool:
        """Whether policies of the family `name` play problems of this one."""
        return name in (self.name, ANY, *self.guests)


FAMILIES: dict[str, Family] = {}


def add_family(family: Family) -> Family:
    """Put a family into the table."""
    FAMILIES[family.name] = family
    return family


def family_of(policy: Policy) -> str:
    """The name of a policy's family; of a policy over policies, that of the policy inside."""
    if hasattr(policy, "policy"):
        return family_of(policy_instance(policy.policy))
    about = ABOUT.get(type(policy))
    return about.family if about else Problem(1).family


def resolve(policy: PolicyT, family: str) -> PolicyT:
    """The policy that plays problems of a family: itself, unless it leaves that to the family, as `auto` does."""
    choose = getattr(policy, "for_family", None)
    player: PolicyT = policy if choose is None else choose(FAMILIES[family])
    return player


def player_of(policy: PolicyT, value: ProblemValue) -> PolicyT:
    """The policy that plays a problem, with a number for every word that follows from the problem."""
    player = resolve(policy, value.kind)
    if not has_names(player):
        return player
    return with_numbers(player, Foresight(FAMILIES[value.kind].adapter.of(player, value).problem))


def display_name(policy: Policy, player: Policy) -> str:
    """What errors call the player of a policy: its class, and where the family chose that, the word that left it to it.

    `auto (here FilterBankUCB)` says both what the user wrote and what decides.
    """
    return type(player).__name__ if type(player) is type(policy) else auto_name(player)


def auto_name(player: Policy) -> str:
    """What errors call a policy that `auto` stands for."""
    return f"auto (here {type(player).__name__})"


@contextmanager
def errors_about(policy: Policy, player: Policy) -> Iterator[None]:
    """In errors of a block the player of a policy has its display name, as before there is an adapter that knows it."""
    try:
        yield
    except DriftwiseError as error:
        if error.args and type(player) is not type(policy):
            name = rf"\b{re.escape(type(player).__name__)}\b"
            error.args = (re.sub(name, display_name(policy, player), str(error)), *error.args[1:])
        raise


def check_fit(policy: Policy, problem: Problem) -> None:
    """Refuse a policy that could not read this problem, or whose answers it could not read."""
    if not FAMILIES[problem.family].accepts(family_of(policy)):
        raise misfit(policy, problem.family)


def misfit(policy: Policy, family: str) -> ParameterError:
    """The error of a policy that cannot play problems of a family: what it chooses, and which policies to take."""
    outer, inner = type(policy).__name__, type(getattr(policy, "policy", policy)).__name__
    listed = f"`driftwise policies --family {family}`"
    name, way_out = outer, f"{listed} lists policies for it"
    if hasattr(policy, "policy"):
        name = f"{outer} over {inner}"
        fitting = [kind.__name__ for kind in restart.kernels if ABOUT[kind].family == family]
        if fitting:
            way_out = f"write {outer}(policy=P) with a P of {', '.join(sorted(fitting))}"
    own, offered = FAMILIES[family_of(policy)].chooses, FAMILIES[family].chooses
    return ParameterError(f"{name} chooses {own}; this problem asks for {offered}: {way_out}")


def trace_for(problem: Problem, start: int, rounds: int) -> Trace:
    """An empty trace for what is chosen in this problem."""
    return new_trace(start, rounds, problem.slate, problem.dim if FAMILIES[problem.family].points else 0)


def words_of(world: World) -> Words:
    """What choices are called in this world."""
    return FAMILIES[world.problem().family].words(world)


def caution_of(policy: Policy, problem: Problem) -> str:
    """Why a policy, or one inside it, will learn nothing in a problem; empty where it has nothing to say."""
    caution = getattr(policy, "caution", None)
    return str(caution(problem)) if caution else ""


@lru_cache(maxsize=64)
def drift_of(world: World, horizon: int, seed: int) -> dict[str, float | None]:
    """How far one run of a world drifts, by the names of measures."""
    return FAMILIES[world.problem(horizon).family].drift(world, horizon, seed)
