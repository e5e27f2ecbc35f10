"""numba's side of `core/pinned.py`: the type of an address that stands for a state."""

import functools
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import NativeValue, lower_builtin, models, register_model, typeof_impl, unbox
from numba.np.numpy_support import as_dtype

from driftwise.core.pinned import PinnedState, unpin
from driftwise.core.types import Array, State

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Signature
    from numba.types import Type as NumbaType


class PinnedType(types.Type):  # type: ignore[misc]
    """The address of a state of some type."""

    def __init__(self, state: "NumbaType") -> None:
        self.state = state
        super().__init__(f"pinned({state})")


register_model(PinnedType)(models.OpaqueModel)


@typeof_impl.register(PinnedState)  # type: ignore[untyped-decorator]
def _type_of(value: PinnedState, context: object) -> PinnedType:
    return PinnedType(numba.typeof(value.state))


@unbox(PinnedType)  # type: ignore[untyped-decorator]
def _read_address(kind: PinnedType, address: ir.Value, at: Any) -> NativeValue:
    return NativeValue(at.pyapi.long_as_voidptr(address), is_error=at.pyapi.c_api_error())


@functools.cache
def _layout(kind: "NumbaType") -> np.dtype[Any]:
    """How compiled code lays a state out in memory, or an array or number of it."""
    if isinstance(kind, types.Array):  # owner of memory, Python object, size, item size, data, shape, strides
        return np.dtype((np.intp, 5 + 2 * kind.ndim))
    if isinstance(kind, types.BaseTuple):
        return np.dtype([(f"f{i}", _layout(each)) for i, each in enumerate(kind)], align=True)
    return as_dtype(kind)


def _description(kind: "NumbaType", value: Any) -> Any:
    """What is written there."""
    if isinstance(kind, types.Array):
        return 0, id(value), value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides
    if isinstance(kind, types.BaseTuple):
        return tuple(map(_description, kind, value))
    return value


def describe(state: State) -> Array:
    """The memory in which compiled code finds the arrays of a state."""
    kind = numba.typeof(state)
    return np.array(_description(kind, state), _layout(kind))


@infer_global(unpin)
class _Unpin(AbstractTemplate):  # type: ignore[misc]
    """What `unpin` returns. Unlike an `overload`, it is a load where it is called, not a function to be compiled."""

    def generic(self, args: "tuple[NumbaType, ...]", kws: "dict[str, NumbaType]") -> "Signature":
        (given,) = args
        return signature(given.state if isinstance(given, PinnedType) else given, given)


@lower_builtin(unpin, PinnedType)  # type: ignore[untyped-decorator]
def _load(context: "BaseContext", builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]) -> ir.Value:
    """The structs at an address; those that a kernel does not use are not read."""
    state = signature.return_type
    loaded = builder.load(builder.bitcast(args[0], context.get_value_type(state).as_pointer()))
    return impl_ret_borrowed(context, builder, state, loaded)


@lower_builtin(unpin, types.Any)  # type: ignore[untyped-decorator]
def _pass_on(context: "BaseContext", builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]) -> ir.Value:
    """A state that is not pinned, as it is."""
    return impl_ret_borrowed(context, builder, signature.return_type, args[0])
