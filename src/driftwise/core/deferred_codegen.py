"""Compiling kernels that only other kernels call: to code that is linked into its callers, and no further.

numba optimises every function it compiles, with all it calls, and makes machine code of it, before it is linked into
its callers, where the same is done again. A loop over a policy is five levels deep or more, so that most of the time
went into code that nobody runs. A *part* is left as it is; all of it is optimised once, in the function that Python
calls.
"""

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, StateDict
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is to be linked into other libraries, not run."""

    def _optimize_final_module(self) -> None:
        """Left to whoever links it in."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):  # type: ignore[misc]
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


class PartCompiler(CompilerBase):  # type: ignore[misc]
    """numba's pipeline with the last step replaced."""

    def define_pipelines(self) -> list[Any]:
        """The one pipeline."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(PartLowering if each is NativeLowering else each, words) for each, words in passes.passes]
        passes.finalize()
        return [passes]
