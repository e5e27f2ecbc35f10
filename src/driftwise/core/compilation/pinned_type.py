"""numba's side of `core/pinned.py`: the type of an address that stands for a tuple of arrays.

In kernels it is a NamedTuple like any other. A field that is such a tuple is an address again, inside the first.

The memory is written before a kernel is called and never again, and the loads say so (`invariant.load`): the compiler
need not read the place of an array anew after a number was written into another.
"""

import functools
import hashlib
from array import array
from collections.abc import Iterable
from ctypes import addressof, c_char
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba._dispatcher import compute_fingerprint
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.extending import NativeValue, lower_builtin, models, register_model, typeof_impl, unbox
from numba.np.numpy_support import as_dtype

from driftwise.core.kernel import load_numba
from driftwise.core.pinned import PinnedState
from driftwise.core.types import Array, State

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Signature
    from numba.types import Type as NumbaType

_INDEX = ir.IntType(32)


class PinnedType(types.NamedTuple):  # type: ignore[misc]
    """The address of a NamedTuple of some type. Its name is short: it is part of the name of every function."""

    def __init__(self, state: "NumbaType") -> None:
        self.state = state
        super().__init__([in_memory(each) for each in state], state.instance_class)
        self.name = f"{state.instance_class.__name__}@{hashlib.sha256(_text(state).encode()).hexdigest()[:12]}"

    @property
    def key(self) -> tuple[type, tuple["NumbaType", ...]]:
        return self.instance_class, self.types


register_model(PinnedType)(models.OpaqueModel)


@functools.cache
def in_memory(kind: "NumbaType") -> "NumbaType":
    """What a field of this type is read as."""
    return PinnedType(kind) if isinstance(kind, types.BaseNamedTuple) and _has_arrays(kind) else kind


def _text(kind: "NumbaType") -> str:
    """All that tells a type from another but the identity of classes: the fields of tuples inside it too."""
    if not isinstance(kind, types.BaseTuple):
        return str(kind)
    return f"{getattr(kind, 'fields', '')} {kind} {[*map(_text, kind)]}"


def _has_arrays(kind: "NumbaType") -> bool:
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_has_arrays, kind)))


# ---- from Python ----


@typeof_impl.register(PinnedState)  # type: ignore[untyped-decorator]
def _type_of(value: PinnedState, context: object) -> object:
    return value.kind


@unbox(PinnedType)  # type: ignore[untyped-decorator]
def _read_address(kind: PinnedType, value: ir.Value, at: Any) -> NativeValue:
    address = at.pyapi.number_as_ssize_t(value)
    return NativeValue(at.builder.inttoptr(address, at.pyapi.voidptr), is_error=at.pyapi.c_api_error())


@functools.cache
def _layout(kind: "NumbaType") -> np.dtype[Any]:
    """How compiled code lays a state out in memory, or an array or number of it."""
    if isinstance(kind, types.Array):  # owner of memory, Python object, size, item size, data, shape, strides
        return np.dtype((np.intp, 5 + 2 * kind.ndim))
    if isinstance(kind, types.BaseTuple):
        return np.dtype([(f"f{i}", _layout(each)) for i, each in enumerate(kind)], align=True)
    return as_dtype(kind)


_KNOWN: dict[bytes, PinnedType] = {}  # by numba's fingerprint, which takes a fiftieth of the time to find a type


def describe(state: State) -> "tuple[array[int] | Array, int, PinnedType]":
    """Memory in which compiled code finds the arrays of a state, its address, and the type of what it describes."""
    kind, words = _kind(state), array("q")
    if _add_words(state, words):
        return words, words.buffer_info()[0], kind
    memory = np.array(_description(kind.state, state), _layout(kind.state))
    return memory, memory.ctypes.data, kind


def _kind(state: State) -> PinnedType:
    load_numba()  # all of it, before it is asked for a type
    try:
        fingerprint: bytes = compute_fingerprint(state)  # type: ignore[arg-type]
    except NotImplementedError:  # an array that numba has no type for: its `typeof` says so
        return PinnedType(numba.typeof(state))
    if fingerprint not in _KNOWN:
        _KNOWN[fingerprint] = PinnedType(numba.typeof(state))
    return _KNOWN[fingerprint]


def _add_words(state: Iterable[Any], words: "array[int]") -> bool:
    """Write down arrays and whole numbers, all of which are words of memory; False where anything else is found."""
    for each in state:
        if isinstance(each, np.ndarray):
            words.extend(_words(each))
        elif type(each) is int:
            words.append(each)
        elif not isinstance(each, tuple) or not _add_words(each, words):
            return False
    return True


def _words(values: Array) -> tuple[int, ...]:
    try:  # the quick way to where its numbers begin, for arrays that are not empty and can be written
        place = addressof(c_char.from_buffer(values))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        place = values.ctypes.data
    return 0, id(values), values.size, values.itemsize, place, *values.shape, *values.strides


def _description(kind: "NumbaType", value: Any) -> Any:
    """What is written where a state holds other numbers too."""
    if isinstance(kind, types.Array):
        return _words(value)
    if isinstance(kind, types.BaseTuple):
        return tuple(map(_description, kind, value))
    return value


# ---- in kernels ----


@lower_getattr_generic(PinnedType)  # type: ignore[untyped-decorator]
def _field(context: "BaseContext", builder: ir.IRBuilder, kind: PinnedType, address: ir.Value, name: str) -> ir.Value:
    return _read(context, builder, kind, address, kind.fields.index(name))


@lower_builtin("static_getitem", PinnedType, types.IntegerLiteral)  # type: ignore[untyped-decorator]
def _item(context: "BaseContext", builder: ir.IRBuilder, signature: "Signature", args: list[Any]) -> ir.Value:
    (address, index), kind = args, signature.args[0]
    return _read(context, builder, kind, address, index % len(kind))


def _read(context: "BaseContext", builder: ir.IRBuilder, kind: PinnedType, address: ir.Value, index: int) -> ir.Value:
    """A field: the address of what is pinned too, and all else as it stands in memory."""
    whole = builder.bitcast(address, context.get_value_type(kind.state).as_pointer())
    place, read = _inner(builder, whole, index), kind[index]
    value = builder.bitcast(place, address.type) if isinstance(read, PinnedType) else _load(builder, place)
    return impl_ret_borrowed(context, builder, read, value)


def _load(builder: ir.IRBuilder, place: ir.Value) -> ir.Value:
    """A number, or a struct piece by piece: a struct that is loaded as a whole takes long to compile."""
    kind = place.type.pointee
    if not isinstance(kind, ir.Aggregate):
        loaded = builder.load(place)
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded
    value = ir.Constant(kind, ir.Undefined)
    for i in range(len(kind)):
        value = builder.insert_value(value, _load(builder, _inner(builder, place, i)), i)
    return value


def _inner(builder: ir.IRBuilder, place: ir.Value, index: int) -> ir.Value:
    return builder.gep(place, [ir.Constant(_INDEX, 0), ir.Constant(_INDEX, index)], inbounds=True)
