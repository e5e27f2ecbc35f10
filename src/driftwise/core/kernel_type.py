"""numba's type of a kernel: that of a compiled function, which is not compiled again for constants.

`settle(state, -1)` and `settle(state, arm)` are the same code: where a whole number is written out, numba's type is
that of this one number, and all that is called with it would be compiled for it anew.
"""

from typing import TYPE_CHECKING, Any

from numba import types
from numba.extending import models, register_model

if TYPE_CHECKING:
    from numba.core.typing import BaseContext, Signature


class KernelType(types.Dispatcher):  # type: ignore[misc]
    """The type of a compiled function that takes any whole number as one of 64 bits."""

    def get_call_type(self, context: "BaseContext", args: Any, kws: Any) -> "Signature":
        """The signature of a call."""
        return super().get_call_type(context, tuple(map(_any_number, args)), kws)


def _any_number(kind: Any) -> Any:
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral) else kind


register_model(KernelType)(models.OpaqueModel)
