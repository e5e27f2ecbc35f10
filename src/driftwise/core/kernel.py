"""The one decorator. A kernel is a plain Python function that numba compiles when it is first needed.

Two things are added to `numba.njit`:

* **Laziness.** Decorating imports nothing, so the command line can list policies in a blink. A kernel that
  calls another finds it by its global name, as always.
* **A cache that cannot go stale.** numba keys its disk cache by the file of the outermost function only: edit
  a policy, and the cached loop in another file goes on giving old results. Here the cache directory is named by
  a hash of every source file the compiled classes depend on, numba's version and its flags (`code_tag`).

Kernels are compiled with `nogil` (runs go in parallel on threads), `error_model="numpy"` (no zero checks), and
without reference counts: counting the arrays of a state in and out made the loop forty times slower (measured).
A kernel that makes an array of its own says so: `@kernel(allocates=True)`, and returns plain numbers only.
`fastmath` stays off: fused operations flip near-tied choices between builds.
"""

import functools
import hashlib
import importlib.util
import inspect
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

P = ParamSpec("P")
R = TypeVar("R")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_LOCK = threading.RLock()


class Kernel(Generic[P, R]):
    """A function that compiles on demand. Called from Python it runs compiled too."""

    def __init__(self, function: Callable[P, R], *, inline: bool = True, allocates: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.inline = inline and not allocates
        self.options = OPTIONS | {"_nrt": allocates}
        self._entries: dict[tuple[type, ...], Any] = {}

    @functools.cached_property
    def compiled(self) -> Any:
        """The dispatcher that other kernels link against; kept in memory only."""
        return load_numba().njit(self.function, forceinline=self.inline, **self.options)

    def entry(self, *classes: type) -> Any:
        """The dispatcher that Python calls, cached on disk under the tag of all that `classes` depend on."""
        with _LOCK:
            if classes not in self._entries:
                numba, folder = load_numba(), cache_root() / code_tag(self, *classes)
                kept, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
                cache = all(map(_importable, classes))
                try:
                    self._entries[classes] = numba.njit(self.function, cache=cache, **self.options)
                finally:
                    numba.config.CACHE_DIR = kept
            return self._entries[classes]

    def bind(self, *examples: object) -> Callable[..., Any]:
        """Compile for the types of `examples` and return the bare entry point: no dispatch, 0.2 us a call."""
        numba = load_numba()
        signature = tuple(numba.typeof(example) for example in examples)
        with _LOCK:
            compiled: Callable[..., Any] = self.entry(*map(type, examples)).compile(signature)
        return compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast(R, self.entry(*(type(arg) for arg in args))(*args, **kwargs))


@overload
def kernel(function: Callable[P, R]) -> Kernel[P, R]: ...
@overload
def kernel(*, inline: bool = True, allocates: bool = False) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(function: Any = None, *, inline: bool = True, allocates: bool = False) -> Any:
    """Mark a function as compiled. Calls between kernels are inlined: passing a state of a dozen arrays by
    value would cost more than most policies do. `inline=False` is for long code that runs seldom.
    """
    if function is None:
        return functools.partial(Kernel, inline=inline, allocates=allocates)
    return Kernel(function)


@functools.cache
def load_numba() -> Any:
    """Import numba once, and teach it what a `Kernel` and a verb are."""
    with _LOCK:
        import numba
        from numba.extending import typeof_impl

        from driftwise.core import verbs

        @typeof_impl.register(Kernel)
        def _(value: Kernel[Any, Any], context: Any) -> Any:
            return typeof_impl(value.compiled, context)

        verbs.teach(numba)
        return numba


def code_tag(*objects: Any) -> str:
    """Sixteen hex digits that change when any source `objects` depend on, numba, or its flags change."""
    digest = hashlib.sha256(_build().encode())
    for text in sorted(set(_sources(objects))):
        digest.update(text.encode())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Where compiled kernels are kept: $DRIFTWISE_CACHE_DIR, else the user's cache, else a temporary folder."""
    chosen = os.environ.get("DRIFTWISE_CACHE_DIR")
    home = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    root = Path(chosen) if chosen else home / "driftwise"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir()) / f"driftwise-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    return root if os.access(root, os.W_OK) else Path(tempfile.gettempdir()) / "driftwise"


def _importable(kind: type) -> bool:
    """Whether another process could find this class: one of a script or prompt is compiled for this process only."""
    if kind.__module__ == "__main__":
        return False
    try:
        return importlib.util.find_spec(kind.__module__) is not None
    except (ImportError, ValueError):
        return False


@functools.cache
def _build() -> str:
    from importlib.metadata import version

    flags = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("NUMBA_"))
    return f"{version('numba')} {version('llvmlite')} {version('numpy')} {sys.version} {flags} {OPTIONS}"


def _sources(objects: tuple[Any, ...]) -> Iterator[str]:
    """The texts of all modules reachable from `objects` through the names their modules import."""
    seen: set[str] = set()
    queue = list(objects)
    while queue:
        for name in (getattr(item, "__module__", None) for item in _with_kernels(queue.pop())):
            module = sys.modules.get(name or "")
            if module is None or name in seen or not _matters(module):
                continue
            seen.add(str(name))
            yield _text(module)
            queue.extend(_mentioned(module))


def _with_kernels(item: Any) -> list[Any]:
    """A class brings the kernels registered for it, wherever they were written."""
    from driftwise.core import verbs

    return [item, *verbs.kernels_of(item)] if isinstance(item, type) else [item]


def _mentioned(module: ModuleType) -> list[Any]:
    return [value for value in vars(module).values() if isinstance(value, Kernel | type) or inspect.isfunction(value)]


def _matters(module: ModuleType) -> bool:
    """Driftwise's own modules, and any module of a user's that defines a kernel."""
    if module.__name__.split(".")[0] == "driftwise":
        return not module.__name__.startswith("driftwise.core.kernel")
    return any(isinstance(value, Kernel) for value in vars(module).values())


@functools.cache
def _text_of_file(path: Path, stamp: int) -> str:
    return path.read_text(encoding="utf-8")


def _text(module: ModuleType) -> str:
    """A module's source; for a notebook or a prompt, the sources of its kernels."""
    path = Path(getattr(module, "__file__", None) or "")
    if path.is_file():
        return _text_of_file(path, path.stat().st_mtime_ns)
    kernels = [value for value in vars(module).values() if isinstance(value, Kernel)]
    return "".join(_source_of(each) for each in kernels)


def _source_of(each: Kernel[Any, Any]) -> str:
    try:
        return inspect.getsource(each.function)
    except OSError:
        code = each.function.__code__
        return f"{code.co_name} {code.co_code.hex()} {code.co_consts!r}"
