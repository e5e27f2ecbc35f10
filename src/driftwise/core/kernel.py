"""The one decorator. A kernel is a plain Python function that numba compiles when it is first needed.

Three things are added to `numba.njit`:

* **Laziness.** Decorating imports nothing, so the command line can list policies in a blink. A kernel that
  calls another finds it by its global name, as always.
* **A cache that cannot go stale.** numba keys its disk cache by the file of the outermost function only: edit
  a policy, and the cached loop in another file goes on giving old results. Here a file is named by a hash of every
  source file the compiled classes depend on, numba's version and its flags (`core/compilation/kernel_cache.py`). In a
  running process, what was compiled is forgotten when a kernel is registered anew or something it reads has changed.
* **Half the wait.** What only other kernels call is optimised where it is called from, not before
  (`core/compilation/deferred_codegen.py`), and states are passed by address (`core/pinned.py`).

Kernels are compiled with `nogil` (runs go in parallel on threads), `error_model="numpy"` (no zero checks), and
without reference counts: counting the arrays of a state in and out made the loop forty times slower (measured).
A kernel that makes an array of its own says so: `@kernel(allocates=True)`, and returns plain numbers only.
`fastmath` stays off: fused operations flip near-tied choices between builds.
"""

import functools
import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from driftwise.core.compilation.compile_errors import explained
from driftwise.core.pinned import kinds, pin_arrays

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

P = ParamSpec("P")
R = TypeVar("R")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
PARTS = [(0, minor) for minor in range(62, 69)]  # of numba, that `core/compilation/deferred_codegen.py` knows
_LOCK = threading.RLock()
_COMPILED: set["Kernel[Any, Any]"] = set()  # those that have compiled something
_READS: dict["Kernel[Any, Any]", Any] = {}  # what the user's among them read
_GENERATION = [0]
_BOUNDS_CHECKED = [False]
_NUMBA: list[ModuleType] = []  # once it is loaded


class Kernel(Generic[P, R]):
    """A function that compiles on demand. Called from Python it runs compiled too."""

    def __init__(self, function: Callable[P, R], *, inline: bool = True, allocates: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.function = cast(FunctionType, function)
        self.inline = inline and not allocates
        self.options = OPTIONS | {"_nrt": allocates}
        self._parts: dict[bool, Dispatcher] = {}
        self._entries: dict[tuple[object, ...], Any] = {}

    @property
    def compiled(self) -> "Dispatcher":
        """The dispatcher that other kernels link against; kept in memory only."""
        checked = _BOUNDS_CHECKED[0]
        if checked not in self._parts:
            numba = load_numba()
            self._remember()
            options = self.options | part_options(numba) | {"forceinline": self.inline, "boundscheck": checked or None}
            self._parts[checked] = numba.njit(self.function, **options)
        return self._parts[checked]

    def entry(self, *classes: type, holds: bool = False) -> "Dispatcher":
        """The dispatcher that Python calls, cached on disk under the tag of all that `classes` depend on."""
        with _LOCK:
            if _READS and any(each.changed() for each in _READS.values()):
                forget_compiled()
            key = holds, _BOUNDS_CHECKED[0], *classes
            if key not in self._entries:
                self._remember()
                self._entries[key] = self._cached(classes, holds)
            entry: Dispatcher = self._entries[key]
            return entry

    def _remember(self) -> None:
        """Note that something is compiled now, and what it reads. Driftwise's own modules do not change."""
        from driftwise.core.code_references import Reads

        _COMPILED.add(self)
        if self not in _READS and not self.function.__module__.startswith("driftwise."):
            _READS[self] = Reads([self.function])

    def _cached(self, classes: tuple[type, ...], holds: bool) -> "Dispatcher":
        from driftwise.core.compilation.kernel_cache import KernelCache
        from driftwise.core.fingerprint import code_tag, importable

        numba = load_numba()
        checked = _BOUNDS_CHECKED[0]
        options = self.options | {"nogil": not holds, "boundscheck": checked or None} | entry_options(numba)
        entry: Any = numba.njit(self.function, **options)
        if all(map(importable, classes)):
            module, name, line = self.__module__, self.function.__qualname__, self.function.__code__.co_firstlineno
            tag = f"{code_tag(self, *classes)} {module}.{name}:{line} {holds}{' checked' if checked else ''}"
            entry._cache = KernelCache(name.rpartition(".")[2], tag)
        return cast("Dispatcher", entry)

    def bind(self, *examples: object, holds: bool = False) -> Callable[..., Any]:
        """Compile for the types of `examples` and return the bare entry point: no dispatch, 0.2 us a call.

        With `holds` it keeps the interpreter to itself: where other threads want it too, letting go for a microsecond
        and asking for it back costs fifty.
        """
        numba = load_numba()
        signature = tuple(numba.typeof(example) for example in examples)
        with _LOCK, explained():
            compiled: Callable[..., Any] = self.entry(*kinds(examples), holds=holds).compile(signature)
        return compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        with explained():
            pinned = [*map(pin_arrays, args)]
            return cast(R, self.entry(*kinds(pinned))(*pinned, **kwargs))


@contextmanager
def bounds_checked() -> Iterator[None]:
    """What is called in this block raises an `IndexError` where it reads or writes outside of an array.

    Otherwise compiled code does not notice, and what else is in memory is overwritten. It takes compiling once more.
    """
    before, _BOUNDS_CHECKED[0] = _BOUNDS_CHECKED[0], True
    try:
        yield
    finally:
        _BOUNDS_CHECKED[0] = before


def generation() -> int:
    """How often what was compiled has been forgotten."""
    return _GENERATION[0]


def forget_compiled() -> None:
    """Compile everything anew when it is next needed; what is on disk under its tag is found there.

    Any kernel may have linked the one that changed, and numba keeps what it linked. What was bound before goes on as
    it is: an agent that lives keeps the code it was made with.
    """
    with _LOCK:
        for each in _COMPILED:
            each._entries.clear()
            each._parts.clear()
        _COMPILED.clear()
        _READS.clear()
        _GENERATION[0] += 1


@overload
def kernel(function: Callable[P, R]) -> Kernel[P, R]: ...
@overload
def kernel(*, inline: bool = True, allocates: bool = False) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(
    function: Callable[P, R] | None = None, *, inline: bool = True, allocates: bool = False
) -> Kernel[P, R] | Callable[[Callable[P, R]], Kernel[P, R]]:
    """Mark a function as compiled; one that makes an array of its own says that it `allocates`.

    Calls between kernels are inlined: left to the compiler, rounds of the smallest policies take a quarter longer
    (measured). `inline=False` is for long code that runs seldom.
    """
    if function is None:
        return functools.partial(Kernel, inline=inline, allocates=allocates)
    return Kernel(function)


def part_options(numba: ModuleType) -> dict[str, Any]:
    """How to compile what only kernels call, where the version of numba is one that is known."""
    if numba.version_info.short not in PARTS:
        return {}
    from driftwise.core.compilation.deferred_codegen import PartCompiler

    return {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": PartCompiler}


def entry_options(numba: ModuleType) -> dict[str, Any]:
    """How to compile what Python calls."""
    if numba.version_info.short not in PARTS:
        return {}
    from driftwise.core.compilation.deferred_codegen import EntryCompiler

    return {"no_cfunc_wrapper": True, "pipeline_class": EntryCompiler}


def load_numba() -> ModuleType:
    """Import numba once, and teach it what a `Kernel` and a verb are.

    Whoever comes while another thread does so waits: numba cannot find the type of a value while one is registered.
    """
    if not _NUMBA:
        with _LOCK:
            if not _NUMBA:
                _NUMBA.append(_load_and_teach())
    return _NUMBA[0]


def _load_and_teach() -> ModuleType:
    import numba

    from driftwise.core import dispatch as shapes
    from driftwise.core import verbs
    from driftwise.core.compilation.kernel_cache import choose_cpu

    choose_cpu(numba)
    verbs.teach(numba)
    shapes.teach(numba, part_options(numba))
    importlib.import_module("driftwise.core.compilation.pinned_type")  # it registers itself
    module: ModuleType = numba
    return module
