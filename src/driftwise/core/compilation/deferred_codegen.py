"""How kernels are compiled: each function once, to machine code only where Python calls it.

numba optimises every function it compiles, with all it calls, and makes machine code of it, before it is linked into
its callers, where the same is done again. A loop over a policy is five levels deep or more, so that most of the time
went into code that nobody runs. A *part* is a kernel that other kernels call: it is simplified and left as it is. All
of it is optimised once, in the *entry* that Python calls. The results are the same to the last bit.

More is left out that costs time and changes nothing:

* The garbage collector rests: what a compiler makes is used until it is done (a tenth of the time or more, measured).
* numba finds the code of `max` and the like by the flags of the function that is compiled, and compares all thirty
  of them each time; here only those that were set are compared.
* numba finds out for every function anew in which order its passes can run.
* numba imports scipy.linalg, a third of a second, only to see that it is there; what calls BLAS imports it anyway.
"""

import functools
import gc
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder, Flags, StateDict
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

from driftwise.core.compilation.pinned_type import PinnedType

_SAME = hash(Flags())  # numba hashes the names of the flags, which are always the same


class QuickFlags(Flags):  # type: ignore[misc]
    """The flags of a compilation, quick to compare."""

    def __hash__(self) -> int:
        return _SAME

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Flags) and self._values.keys() == other._values.keys():
            return bool(self._values == other._values)
        return bool(super().__eq__(other))


class EntryLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that Python calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Simplify the functions that are defined here, which numba does with those only declared, too."""
        ll_module.data_layout = self._codegen._data_layout
        manager, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                manager.run(function, builder)


class PartLibrary(EntryLibrary):
    """Code that is to be linked into other libraries, not run."""

    def _optimize_final_module(self) -> None:
        """Left to whoever links it in."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class KernelLower(Lower):  # type: ignore[misc]
    """As numba's own; says of an address how much can be read there, so that a loop may read it before it begins."""

    def setup_function(self, about: Any) -> None:
        """Declare the function."""
        super().setup_function(about)
        arguments, position = self.call_conv.get_arguments(self.function), 0
        for kind in about.argtypes:
            if isinstance(kind, PinnedType):
                size = self.context.get_abi_sizeof(self.context.get_value_type(kind.state))
                arguments[position].attributes.dereferenceable = size
            position += _n_leaves(self.context.get_argument_type(kind))


def _n_leaves(argument: Any) -> int:
    """How many arguments of LLVM an argument becomes."""
    return sum(map(_n_leaves, argument)) if isinstance(argument, tuple) else 1


class KernelLowering(NativeLowering):  # type: ignore[misc]
    """As numba's own, with ours for each function."""

    @property
    def lowering_class(self) -> type[KernelLower]:
        return KernelLower


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(KernelLowering):
    """As numba's own, into a library of ours."""

    _name = "entry_lowering"

    def run_pass(self, state: StateDict) -> bool:
        """Lower one function."""
        state.library = EntryLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(KernelLowering):
    """As numba's own, into a library of parts; what stands for it in Python cannot be called."""

    _name = "part_lowering"

    def run_pass(self, state: StateDict) -> bool:
        """Lower one function."""
        context = state.targetctx
        state.library = PartLibrary(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state.cr
        about = lowered.fndesc
        state.library.finalize()
        handle = _dynfunc.make_function(
            about.lookup_module(), about.qualname, "part of a kernel", 0, lowered.env, (state.library,)
        )
        context.insert_user_function(handle, about, [state.library])
        state.cr = lowered._replace(cfunc=handle)
        return True


class EntryCompiler(CompilerBase):  # type: ignore[misc]
    """numba's pipeline with the last step replaced."""

    lowering: Any = EntryLowering

    def __init__(self, *arguments: Any) -> None:
        _import_arraymath()
        *others, flags, variables = arguments
        super().__init__(*others, QuickFlags(flags), variables)

    def compile_extra(self, func: Callable[..., Any]) -> CompileResult:
        """Compile a function."""
        with _no_collections():
            return super().compile_extra(func)

    def define_pipelines(self) -> list[PassManager]:
        """The one pipeline."""
        return [_passes(self.lowering, self.state.flags.no_rewrites)]


class PartCompiler(EntryCompiler):
    """The pipeline of a part."""

    lowering = PartLowering


@functools.cache
def _passes(lowering: Any, no_rewrites: bool) -> PassManager:
    """The passes of a compiler, in order, the last step replaced."""
    flags = Flags()
    flags.no_rewrites = no_rewrites
    passes = DefaultPassBuilder.define_nopython_pipeline(StateDict(flags=flags, func_ir=None))
    passes.passes = [(lowering if each is NativeLowering else each, words) for each, words in passes.passes]
    passes.finalize()
    return passes


@functools.cache
def _import_arraymath() -> None:
    """Import what numba compiles sums and products of arrays with, and not scipy.linalg beside it."""
    from numba.np import linalg

    check = linalg.ensure_blas
    linalg.ensure_blas = lambda: None  # scipy is there: driftwise depends on it
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = check


@contextmanager
def _no_collections() -> Iterator[None]:
    """No garbage is collected in this block, which numba's lock lets one thread enter at a time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
