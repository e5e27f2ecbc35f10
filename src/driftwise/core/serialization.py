"""A state as bytes, and back: exact, versioned, never pickle. And the surgery for arms that come and go.

The bytes are one msgpack map: a magic word, the format version, and for every array its path, type, shape and
raw little-endian data, with a checksum over all of it. Loading fills a fresh `init(problem)` state, so bytes can
never choose what is built; they must fit what the policy declares.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, get_type_hints

import msgspec
import numpy as np

from driftwise.core.types import (
    ArmIds,
    Array,
    Cache,
    Derived,
    Ints,
    PerArm,
    PerClass,
    PerFeature,
    PerFeaturePair,
    PerRound,
    RecordT,
    Scratch,
    Shared,
    State,
)
from driftwise.errors import KernelError, StateError

FORMAT = 2  # 2: agents keep what only their family has apart from what all have
MAGIC = "driftwise"


class Packed(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """One array, ready to travel."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes


class Envelope(msgspec.Struct, forbid_unknown_fields=True):
    """What every saved blob looks like from outside."""

    magic: str
    format: int
    checksum: int
    body: bytes


# Decoders are made when modules are imported: two threads that use a type for the first time would crash msgspec.
_ENVELOPE = msgspec.msgpack.Decoder(Envelope)
_STATE = msgspec.msgpack.Decoder(list[Packed])


def seal(body: bytes) -> bytes:
    """Wrap bytes so that truncation, damage and foreign origin are noticed."""
    return msgspec.msgpack.encode(Envelope(MAGIC, FORMAT, zlib.crc32(body), body))


def unseal(blob: bytes) -> bytes:
    """The body of a sealed blob; a `StateError` says what is wrong with it."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise StateError(f"a saved state is bytes, not {type(blob).__name__}")
    try:
        envelope = _ENVELOPE.decode(blob)
    except msgspec.DecodeError as error:
        raise StateError(f"these {len(blob)} bytes are not a whole driftwise state: {error}") from None
    if envelope.magic != MAGIC:
        raise StateError(f"these bytes were written by {envelope.magic!r}, not by {MAGIC}")
    if envelope.format != FORMAT:
        raise StateError(f"this state has format {envelope.format}; this version of driftwise reads format {FORMAT}")
    if zlib.crc32(envelope.body) != envelope.checksum:
        raise StateError("the state is damaged: its checksum does not fit its content")
    return envelope.body


def roles(kind: type) -> dict[str, Any]:
    """How each array of a state follows its arms, from its annotation."""
    if kind not in _ROLES:
        _ROLES[kind] = get_type_hints(kind, include_extras=True)
    return _ROLES[kind]


_ROLES: dict[type, dict[str, Any]] = {}


def arrays(state: State, *, but: tuple[Any, ...] = (Scratch,), path: str = "") -> Iterator[tuple[str, Any]]:
    """Every array of a (nested) state that holds something, with its dotted path; `but` names roles left out."""
    role = roles(type(state))
    for name, value in zip(state._fields, state, strict=True):
        here = f"{path}.{name}" if path else name
        if hasattr(value, "_fields"):
            yield from arrays(value, but=but, path=here)
        elif role[name] not in but:
            yield here, value


def check_state(state: Any, who: object) -> None:
    """Refuse what kernels and saved bytes have no place for: a state is a NamedTuple of arrays of numbers."""
    if not hasattr(state, "_fields"):
        raise KernelError(f"init of {who} returns {state!r}, not a NamedTuple of arrays")
    for path, value in arrays(state, but=()):
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
            raise KernelError(
                f"the state of {who} holds {path}={value!r}: it must be an array of numbers; "
                "a number that changes is an array of shape (1,)"
            )


def lasting(state: State) -> Iterator[tuple[str, Any]]:
    """Every array that could not be computed from the others, with its dotted path."""
    return arrays(state, but=(Scratch, Cache))


def pack(state: State) -> list[Packed]:
    """The arrays of a state, little-endian."""
    return [
        Packed(
            path, array.dtype.newbyteorder("<").str, array.shape, array.astype(array.dtype.newbyteorder("<")).tobytes()
        )
        for path, array in arrays(state)
    ]


def unpack(packed: Sequence[Packed], fresh: RecordT) -> RecordT:
    """Fill a fresh state with packed arrays that must fit it exactly."""
    expected = dict(arrays(fresh))
    paths = [each.path for each in packed]
    if paths != list(expected):
        raise StateError(f"the state holds {', '.join(paths) or 'nothing'}; this policy keeps {', '.join(expected)}")
    for each in packed:
        target = expected[each.path]
        dtype = target.dtype.newbyteorder("<").str
        if each.dtype != dtype or each.shape != target.shape or len(each.data) != target.nbytes:
            raise StateError(f"{each.path} is {each.dtype}{each.shape}; this policy keeps {dtype}{target.shape}")
        target[...] = np.frombuffer(each.data, each.dtype).reshape(each.shape)
    return fresh


def dump(state: State) -> bytes:
    """A state as sealed bytes."""
    return seal(msgspec.msgpack.encode(pack(state)))


def load(blob: bytes, fresh: RecordT) -> RecordT:
    """Fill `fresh`, a new `policy.init(problem)`, with what `dump` wrote."""
    try:
        packed = _STATE.decode(unseal(blob))
    except msgspec.DecodeError as error:
        raise StateError(f"these bytes hold something other than a bare state: {error}") from None
    return unpack(packed, fresh)


def equal(one: State, other: State) -> bool:
    """Whether two states are the same bit for bit."""
    return pack(one) == pack(other)


def clone(state: RecordT) -> RecordT:
    """A copy that shares nothing; a record may hold records, and the `()` of a part that keeps nothing."""
    return type(state)(*(value.copy() if hasattr(value, "copy") else clone(value) for value in state))


def regroup(
    state: RecordT, fresh: RecordT, old_indices: Sequence[int], columns: Sequence[int] | None = None
) -> RecordT:
    """Move a state to another set of arms, or to a problem that has changed: into `fresh`, which `init` made for it.

    `old_indices[new]` is the old index of arm `new`, or -1 for an arm that was not there. How each array follows is
    said by its annotation: `PerArm` rows move with their arm, `ArmIds` are renamed (those of arms that left become
    empty), `Shared` is copied, `PerRound` too, into a ring that may be longer or shorter. What is `Derived` from the
    problem stays as `init` made it, and a `Cache` starts over. Where arms bring features of their own, `columns` says
    the same of features as `old_indices` of arms: `PerFeature` and `PerFeaturePair` follow it. Where arms are classes
    of their own, it says so of classes, and `PerClass` rows follow.
    """
    places = np.asarray(old_indices, np.int64)
    move = Move(places, None if columns is None else np.asarray(columns, np.int64), getattr(state, "clock", None))
    for name, before, after in zip(state._fields, state, fresh, strict=True):
        role = roles(type(state)).get(name)
        if hasattr(before, "_fields"):
            regroup(before, after, old_indices, columns)
        elif role not in MOVES:
            raise StateError(f"{type(state).__name__}.{name} does not say how it follows its arms: annotate it")
        else:
            MOVES[role](before, after, move)
    return fresh


class Move(NamedTuple):
    """Where arms and features were before, and the round to be decided next where the state has a `clock`."""

    old_indices: Ints
    columns: Ints | None
    clock: Ints | None


def _start_over(before: Array, after: Array, move: Move) -> None:
    """What can be computed again, or follows from the problem, keeps nothing."""


def _copy(before: Array, after: Array, move: Move) -> None:
    after[...] = before


def _move_rows(before: Array, after: Array, move: Move) -> None:
    stays = move.old_indices >= 0
    after[np.flatnonzero(stays)] = before[move.old_indices[stays]]


def _move_classes(before: Array, after: Array, move: Move) -> None:
    old_indices = np.arange(len(before)) if move.columns is None else move.columns
    _move_rows(before, after, move._replace(old_indices=old_indices))


def _move_rounds(before: Array, after: Array, move: Move) -> None:
    """Rounds that both rings remember; those of one longer ring that the other never held stay empty."""
    if move.clock is None or len(before) == len(after):
        after[...] = before
        return
    clock = int(move.clock[0])
    rounds = np.arange(max(0, clock - min(len(before), len(after))), clock)
    after[rounds % len(after)] = before[rounds % len(before)]


def _rename(before: Array, after: Array, move: Move) -> None:
    stays, pending = move.old_indices >= 0, before < -1
    arms = np.where(pending, -2 - before, before)
    renamed = np.full(max(arms.max(initial=-1), move.old_indices.max(initial=-1)) + 2, -1, before.dtype)
    renamed[move.old_indices[stays]] = np.flatnonzero(stays)
    now = renamed[arms]  # the last entry answers for -1, empty
    _move_rounds(np.where(pending & (now >= 0), -2 - now, now), after, move)


def _move_columns(before: Array, after: Array, move: Move) -> None:
    old = np.arange(before.shape[-1]) if move.columns is None else move.columns
    new = np.flatnonzero(old >= 0)
    after[..., new] = before[..., old[new]]


def _move_pairs(before: Array, after: Array, move: Move) -> None:
    old = np.arange(before.shape[-1]) if move.columns is None else move.columns
    new = np.flatnonzero(old >= 0)
    after[..., new[:, None], new] = before[..., old[new][:, None], old[new]]


MOVES: dict[Any, Callable[[Any, Any, Move], None]] = {
    PerArm: _move_rows,
    ArmIds: _rename,
    Shared: _copy,
    Derived: _start_over,
    Cache: _start_over,
    Scratch: _start_over,
    PerRound: _move_rounds,
    PerClass: _move_classes,
    PerFeature: _move_columns,
    PerFeaturePair: _move_pairs,
}
