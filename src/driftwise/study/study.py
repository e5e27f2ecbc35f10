"""A study is data: worlds, policies, a horizon, a number of runs and a seed. Everything else follows from it."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from driftwise.core.family import FAMILIES, caution_of, check_fit, drift_of, errors_about, resolve
from driftwise.core.fingerprint import code_tag
from driftwise.core.foresight import Foresight, with_numbers
from driftwise.core.loop import play
from driftwise.core.protocols import Policy, World
from driftwise.core.types import Problem, Record
from driftwise.core.validation import cast, whole
from driftwise.errors import ParameterError
from driftwise.measure.ledger import enter

if TYPE_CHECKING:
    from driftwise.study.sweep import Sweep


@dataclass(frozen=True, kw_only=True)
class Study:
    """Every policy in every world, `runs` times.

    Parameters
    ----------
    name : str
        What it is called in results and reports.
    worlds, policies : mapping of str to world or policy
        By the label they are shown with.
    horizon, runs, seed : int
        Rounds per run; runs per policy and world; the one seed all randomness comes from.
    marks : tuple of int
        Rounds at which the curves are wanted, besides the log-spaced ones.
    """

    name: str
    worlds: Mapping[str, World]
    policies: Mapping[str, Policy]
    horizon: int
    runs: int
    seed: int = 0
    marks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, low, high in (("horizon", 1, 10**10), ("runs", 1, 10**9), ("seed", 0, 2**63 - 1)):
            object.__setattr__(self, name, whole(name, getattr(self, name), low=low, high=high))
        for name in ("worlds", "policies"):
            _check_kinds(name, getattr(self, name))
        for mark in self.marks:
            whole("mark", mark, high=self.horizon)
        if not self.worlds or not self.policies:
            raise ParameterError(f"study {self.name!r} needs at least one world and one policy")
        object.__setattr__(self, "policies", {label: cast(policy) for label, policy in self.policies.items()})
        for world in self.worlds.values():  # nonsense is refused before the first round is played
            world.changes(self.horizon, self.seed)
            problem = world.problem(self.horizon)
            for label, policy in self.policies.items():
                try:
                    _check_player(policy, problem)
                except ParameterError as error:
                    raise ParameterError(f"{label}: {error}") from None

    def sweep(self, **parameters: Sequence[object]) -> "Sweep":
        """The same study with a grid of parameters: policies that have them in every combination, the others as is.

        >>> from driftwise.families import Abrupt, SlidingThompson, Thompson
        >>> worlds, policies = {"abrupt": Abrupt()}, {"sliding": SlidingThompson(), "thompson": Thompson()}
        >>> study = Study(name="windows", worlds=worlds, policies=policies, horizon=1000, runs=5)
        >>> list(study.sweep(window=[100, 300]).policies)
        ['sliding window=100', 'sliding window=300', 'thompson']
        """
        from driftwise.study.sweep import sweep_of

        return sweep_of(self, parameters)

    def parameters_of(self, policy: str) -> Mapping[str, object]:
        """The parameters that were swept, by name: what a policy has of each."""
        return {}

    def __repr__(self) -> str:
        from driftwise.study.display import describe_study

        return describe_study(self)

    def _repr_html_(self) -> str:
        from driftwise.study.display import study_html

        return study_html(self)

    def cautions(self) -> list[str]:
        """What policies will not learn in these worlds, a sentence each."""
        warnings = []
        for label in self.policies:
            for world, each in self.worlds.items():
                player, problem = self.player(world, label), each.problem(self.horizon)
                caution = "" if is_oracle(player) else caution_of(player, problem)
                warnings += [f"{label}: {caution}"] * bool(caution)
        return list(dict.fromkeys(warnings))

    def player(self, world: str, policy: str) -> Policy:
        """The policy that plays in a world under a label: where that is `auto`, the one of the world's family."""
        return resolve(self.policies[policy], self.worlds[world].problem(self.horizon).family)

    def cells(self) -> Iterator["Cell"]:
        """Every (world, policy, run) of the study."""
        for world in self.worlds:
            for policy in self.policies:
                yield from self.cells_of(world, policy)

    def cells_of(self, world: str, policy: str) -> list["Cell"]:
        """All runs of one policy in one world, each with the key its results are stored under."""
        facts = self._facts(world, policy)
        return [_cell(world, policy, run, facts | {"run": run}) for run in range(self.runs)]

    def cell(self, world: str, policy: str, run: int) -> "Cell":
        """One run of one policy in one world."""
        return _cell(world, policy, run, self._facts(world, policy) | {"run": run})

    def _facts(self, world: str, policy: str) -> dict[str, Any]:
        """All that every run of one policy in one world depends on."""
        a_world, a_policy = self.worlds[world], self.policies[policy]
        parts = [*inside(a_world), *inside(self.player(world, policy))]
        comparator = FAMILIES[a_world.problem(self.horizon).family].comparator
        return {
            "world": values(a_world),
            "policy": values(a_policy),
            "horizon": self.horizon,
            "seed": self.seed,
            "marks": list(self.marks),
            "tag": code_tag(play, enter, comparator, *map(type, parts)),
        }


def _check_player(policy: Policy, problem: Problem) -> None:
    """Refuse a policy that cannot begin in a problem."""
    player = resolve(policy, problem.family)
    with errors_about(policy, player):
        check_fit(player, problem)
        if not is_oracle(player):
            with_numbers(player, Foresight(problem, lambda measure: 1.0)).init(problem)


def is_oracle(policy: Policy) -> bool:
    """Whether a policy must be shown the world before it is played."""
    return hasattr(policy, "foresee")


def with_foresight(policy: Policy, world: World, horizon: int, seed: int) -> Policy:
    """The policy with a number for every word: those that stand for the drift of the world take that of this run."""

    def drift(measure: str) -> float:
        value = drift_of(world, horizon, seed).get(measure)
        if value is None:
            raise ParameterError(f"this world has no variation by the measure {measure!r}: give the policy a number")
        return value

    return with_numbers(policy, Foresight(world.problem(horizon), drift))


def state_of(policy: Policy, world: World, horizon: int, seed: int) -> Record:
    """A policy at the start of a run; one that knows the world in advance is shown it."""
    problem = world.problem(horizon)
    foresee = getattr(policy, "foresee", None)
    state: Record = foresee(problem, world, horizon, seed) if foresee else policy.init(problem)
    return state


def _check_kinds(name: str, things: object) -> None:
    if not isinstance(things, Mapping):
        raise ParameterError(f"{name} is a {type(things).__name__}: it maps labels to {name}, {{'label': ...}}")
    for label, thing in things.items():
        needs = "init" if name == "policies" else "tapes"
        if isinstance(thing, type) or not hasattr(thing, needs):
            raise ParameterError(f"{label!r} in {name} is {thing!r}: give an instance, not a class or a name")


class Cell(NamedTuple):
    """One run of one policy in one world. `facts` is all it depends on; `key` their hash."""

    key: str
    world: str
    policy: str
    run: int
    facts: dict[str, Any]


def _cell(world: str, policy: str, run: int, facts: dict[str, Any]) -> Cell:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]
    return Cell(digest, world, policy, run, facts)


def values(thing: object) -> dict[str, Any]:
    """A world's or policy's class and parameters, as plain data; those of what is inside, too."""
    plain = {name: values(value) if _is_thing(value) else value for name, value in _parameters(thing).items()}
    return {"class": type(thing).__name__, **plain}


def inside(thing: object) -> list[object]:
    """The worlds or policies a world or policy is made of, itself first."""
    return [thing, *(deeper for value in _parameters(thing).values() if _is_thing(value) for deeper in inside(value))]


def _parameters(thing: Any) -> dict[str, Any]:
    names = thing._fields if hasattr(thing, "_fields") else [field.name for field in fields(thing)]
    return {name: getattr(thing, name) for name in names}


def _is_thing(value: object) -> bool:
    return hasattr(value, "_fields") or (is_dataclass(value) and not isinstance(value, type))
