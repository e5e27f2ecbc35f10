"""Serialised form of an agent: plain names and numbers; loading rebuilds objects from the registry only."""

from collections.abc import Iterator
from typing import Any, Union

import msgspec

from driftwise.core import verbs
from driftwise.core.encoding import KINDS, Arm, Facts, packed, unpacked
from driftwise.core.family import FAMILIES
from driftwise.core.serialization import Packed, arrays, roles
from driftwise.core.types import Problem
from driftwise.core.validation import cast
from driftwise.errors import StateError
from driftwise.families import POLICIES

Value = Union[bool, int, float, str, "SavedPolicy"]


class SavedPolicy(msgspec.Struct, forbid_unknown_fields=True):
    """A policy inside another."""

    policy: str
    parameters: dict[str, Value]


class Saved(msgspec.Struct, forbid_unknown_fields=True):
    """Everything an agent is. `facts` and `arrays` are its manner's, `rows` what pending decisions keep of features."""

    policy: str
    parameters: dict[str, Value]
    tag: str
    problem: list[float | int]
    family: str
    structure: list[Packed]
    arms: list[Arm]
    numbers: list[int]
    next_number: int
    seed: int
    t: int
    pending: list[tuple[int, int | list[int], float]]
    max_pending: int
    counters: dict[str, int]
    state: list[Packed]
    facts: Facts
    arrays: list[Packed]
    rows: list[Packed]
    draws: int = 0


def structure_on_paper(problem: Problem) -> list[Packed]:
    """The structure of a problem: a tuple of arrays and such tuples, or nothing."""
    return [packed(path, each) for path, each in arrays(problem.structure, but=())] if problem.structure else []


def structure_from_paper(family: str, saved: list[Packed]) -> Any:
    """A structure that was written down."""
    if family not in FAMILIES:
        raise StateError(f"the saved family {family!r} is not one this version of driftwise has")
    kind = FAMILIES[family].structure
    if [each.path for each in saved] != ([] if kind is None else list(_paths(kind))):
        raise StateError(f"the saved structure is not that of the family {family!r}")
    for each in saved:
        if each.dtype not in KINDS:
            raise StateError(f"{each.path} is of the type {each.dtype}, which no structure holds")
    values = iter([unpacked(each, each.shape, each.dtype) for each in saved])
    return () if kind is None else _filled(kind, values)


def _paths(kind: Any) -> Iterator[str]:
    """Where the arrays of a tuple, and of the tuples inside, are found."""
    for name, inner in roles(kind).items():
        yield from (f"{name}.{path}" for path in _paths(inner)) if hasattr(inner, "_fields") else (name,)


def _filled(kind: Any, values: Iterator[Any]) -> Any:
    """A tuple, and the tuples inside, with these arrays."""
    return kind(*(_filled(each, values) if hasattr(each, "_fields") else next(values) for each in roles(kind).values()))


def name_of(policy: type) -> str:
    """The name in the table, or for a class from elsewhere its own."""
    return next((name for name, kind in POLICIES.items() if kind is policy), policy.__name__)


def on_paper(policy: Any) -> SavedPolicy:
    """A policy, with those inside it, as names and numbers."""
    values = {name: on_paper(value) if hasattr(value, "_fields") else value for name, value in policy._asdict().items()}
    return SavedPolicy(name_of(type(policy)), values)


def from_paper(saved: SavedPolicy | Saved, kind: type | None = None) -> Any:
    """The policy that was written down; `kind` is its class, where the table does not have it."""
    if kind is not None and not isinstance(kind, type):
        raise StateError(f"policy={kind!r} is not a class: pass the policy's class")
    kind = kind or POLICIES.get(saved.policy)
    if kind is None:
        raise StateError(f"this agent was saved with the policy {saved.policy}: pass it, policy={saved.policy}")
    if saved.policy != name_of(kind):
        raise StateError(f"this agent was saved with the policy {saved.policy}, not {name_of(kind)}")
    values = {
        name: from_paper(value, _registered(value.policy)) if isinstance(value, SavedPolicy) else value
        for name, value in saved.parameters.items()
    }
    try:
        return cast(kind(**values))
    except TypeError as error:
        raise StateError(f"the saved parameters do not fit {saved.policy}: {error}") from None


def _registered(name: str) -> type:
    """The class of a policy inside another: one of the table's, or of those that registered themselves."""
    kind = POLICIES.get(name) or {kind.__name__: kind for kind in verbs.select.kernels}.get(name)
    if kind is None:
        raise StateError(f"this agent was saved with the policy {name} inside: import the file that defines it first")
    return kind
