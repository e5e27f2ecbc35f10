"""numba's side of `core/pinned.py`: the type of an address that stands for a state."""

from typing import TYPE_CHECKING, Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import NativeValue, intrinsic, models, overload, register_model, typeof_impl, unbox

from driftwise.core.kernel import kernel
from driftwise.core.pinned import Pinned, unpin

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


@typeof_impl.register(Pinned)  # type: ignore[untyped-decorator]
def _type_of(value: Pinned, context: object) -> PinnedType:
    return PinnedType(numba.typeof(value.state))


@unbox(PinnedType)  # type: ignore[untyped-decorator]
def _read_address(kind: PinnedType, address: ir.Value, at: Any) -> NativeValue:
    return NativeValue(at.pyapi.long_as_voidptr(address), is_error=at.pyapi.c_api_error())


@intrinsic  # type: ignore[untyped-decorator]
def _load(typing: Any, pinned: PinnedType) -> "tuple[Signature, Any]":
    """The structs at an address; those that a kernel does not use are not read."""

    def generate(context: "BaseContext", builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]) -> Any:
        where = builder.bitcast(args[0], context.get_value_type(pinned.state).as_pointer())
        return builder.load(where)

    return pinned.state(pinned), generate


@intrinsic  # type: ignore[untyped-decorator]
def _store(typing: Any, state: "NumbaType", address: "NumbaType") -> "tuple[Signature, Any]":
    """Write the structs of a state to an address."""

    def generate(context: "BaseContext", builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]) -> Any:
        builder.store(args[0], builder.inttoptr(args[1], args[0].type.as_pointer()))
        return context.get_dummy_value()

    return types.void(state, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def _size(typing: Any, state: "NumbaType") -> "tuple[Signature, Any]":
    """How many bytes the structs of a state take."""

    def generate(context: "BaseContext", builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]) -> Any:
        return context.get_constant(types.intp, context.get_abi_sizeof(args[0].type))

    return types.intp(state), generate


@kernel
def describe(state: Any, address: int) -> int:
    """Write the structs of a state to an address, if one is given; how many bytes they take."""
    if address != 0:
        _store(state, address)
    size: int = _size(state)
    return size


@overload(unpin, inline="always", strict=False)  # type: ignore[untyped-decorator]
def _unpin(state: "NumbaType") -> Any:
    return (lambda state: _load(state)) if isinstance(state, PinnedType) else (lambda state: state)
