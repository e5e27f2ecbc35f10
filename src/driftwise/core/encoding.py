"""An agent on paper, and its policy: names and numbers, from which loading builds what it knows already."""

import math
from collections.abc import Iterator
from typing import Any, Union

import msgspec
import numpy as np

from driftwise.core import verbs
from driftwise.core.validation import cast
from driftwise.core.serialization import Packed, arrays, roles
from driftwise.core.types import SETTINGS
from driftwise.errors import StateError
from driftwise.families import POLICIES

Arm = str | int
Value = Union[bool, int, float, str, "SavedPolicy"]
Facts = dict[str, bool | int | float | str | list[str]]


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
    setting: list[Packed]
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


def packed(name: str, array: Any) -> Packed:
    """Numbers, ready to travel."""
    kind = array.dtype.newbyteorder("<")
    return Packed(name, kind.str, array.shape, array.astype(kind).tobytes())


KINDS = {"<f8": 8, "<i8": 8, "|b1": 1}  # what may travel, and its bytes


def unpacked(saved: Packed, shape: tuple[int | None, ...], kind: str = "<f8") -> Any:
    """Numbers that have travelled; they must have the shape expected, where None is any length."""
    fits = len(saved.shape) == len(shape) and all(b is None or a == b for a, b in zip(saved.shape, shape, strict=False))
    if saved.dtype != kind or not fits or len(saved.data) != KINDS[kind] * math.prod(saved.shape):
        raise StateError(f"{saved.path} is {saved.dtype}{saved.shape} in {len(saved.data)} bytes: it does not fit")
    array = np.frombuffer(saved.data, kind).reshape(saved.shape)
    return array.astype(array.dtype.newbyteorder("="))


def setting_on_paper(setting: Any) -> list[Packed]:
    """The setting of a problem: a tuple of arrays and such tuples, or nothing."""
    return [packed(f"{setting.family}.{path}", each) for path, each in arrays(setting, but=())] if setting else []


def setting_from_paper(saved: list[Packed]) -> Any:
    """A setting that was written down."""
    if not saved:
        return ()
    family = saved[0].path.partition(".")[0]
    kind = SETTINGS.get(family)
    if kind is None or [each.path for each in saved] != [f"{family}.{path}" for path in _paths(kind)]:
        raise StateError(f"the saved setting {family!r} is not one this version of driftwise knows")
    for each in saved:
        if each.dtype not in KINDS:
            raise StateError(f"{each.path} is of the type {each.dtype}, which no setting holds")
    values = iter([unpacked(each, each.shape, each.dtype) for each in saved])
    return _filled(kind, values)


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
