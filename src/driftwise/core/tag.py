"""Which code is this? A tag that changes when any source a class depends on changes; it names caches and keys results.

The sources of a class are its module, the modules of the kernels registered for it, and all that those modules
mention, as far as it is driftwise's own or the user's, not the standard library or an installed package. Constants are
told by their values, so one imported from a settings file counts as well.
"""

import functools
import hashlib
import importlib.util
import inspect
import os
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from driftwise.core.kernel import OPTIONS, Kernel
from driftwise.core.verbs import kernels_of

UNUSED_DAYS = 30


def code_tag(*objects: Any) -> str:
    """Sixteen hex digits that change with any source `objects` depend on, and with the versions of numba and NumPy."""
    return _tag_of(objects)


@functools.cache
def _tag_of(objects: tuple[Any, ...]) -> str:
    digest = hashlib.sha256(f"{version('numba')} {version('numpy')}".encode())
    for text in sorted(_sources(objects)):
        digest.update(text.encode())
    return digest.hexdigest()[:16]


def cache_folder(*objects: Any) -> Path:
    """Where what is compiled from `objects` is kept. Folders unused for a month are swept away."""
    root = cache_root()
    folder = root / hashlib.sha256(f"{code_tag(*objects)} {_build()}".encode()).hexdigest()[:16]
    if not folder.exists():
        long_ago = time.time() - UNUSED_DAYS * 86_400
        for other in root.iterdir():
            if other.is_dir() and other.stat().st_mtime < long_ago:
                shutil.rmtree(other, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    return folder


@functools.cache
def cache_root() -> Path:
    """$DRIFTWISE_CACHE_DIR, else the user's cache, else a folder for this process alone."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    root = Path(os.environ.get("DRIFTWISE_CACHE_DIR") or home / "driftwise")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="driftwise-"))
    return root if os.access(root, os.W_OK) else Path(tempfile.mkdtemp(prefix="driftwise-"))


def importable(kind: type) -> bool:
    """Whether another process could find this class: one of a script or prompt is compiled for this process only."""
    if kind.__module__ == "__main__":
        return False
    try:
        return importlib.util.find_spec(kind.__module__) is not None
    except (ImportError, ValueError):
        return False


@functools.cache
def _build() -> str:
    flags = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("NUMBA_"))
    return f"{version('llvmlite')} {sys.version} {flags} {OPTIONS}"


def _sources(objects: tuple[Any, ...]) -> Iterator[str]:
    seen: set[str] = set()
    queue = list(objects)
    while queue:
        item = queue.pop()
        if isinstance(item, type):  # a class brings its kernels, wherever they were written
            queue.extend(kernels_of(item))
        module = item if isinstance(item, ModuleType) else sys.modules.get(getattr(item, "__module__", None) or "")
        if module is None or module.__name__ in seen or not _matters(module):
            continue
        seen.add(module.__name__)
        yield f"{module.__name__} {_text(module)} {_constants(module)}"
        queue.extend(_mentioned(module))


def _mentioned(module: ModuleType) -> list[Any]:
    """What a module names. Which of its own modules a package names depends on what was loaded: those do not count."""
    own = f"{module.__name__}." if module.__name__.split(".")[0] == "driftwise" else "/"
    named = [value for value in vars(module).values() if isinstance(value, Kernel | type | FunctionType | ModuleType)]
    return [value for value in named if not (isinstance(value, ModuleType) and value.__name__.startswith(own))]


@functools.cache
def _installed() -> tuple[str, ...]:
    """Where the standard library and installed packages live."""
    return tuple(str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "purelib", "platlib"))


def _matters(module: ModuleType) -> bool:
    """Driftwise's own modules and the user's."""
    if module.__name__.split(".")[0] == "driftwise":
        return True
    path = getattr(module, "__file__", None)
    if path is None:
        return module.__name__ == "__main__"
    return not str(Path(path).resolve()).startswith(_installed())


def _constants(module: ModuleType) -> list[str]:
    """The numbers, texts and arrays a module holds, by value."""
    plain = {name: value for name, value in vars(module).items() if not name.startswith("__")}
    found = [f"{name}={value!r}" for name, value in plain.items() if isinstance(value, int | float | str | tuple)]
    found += [f"{name}={value.tobytes().hex()}" for name, value in plain.items() if isinstance(value, np.ndarray)]
    return sorted(found)


def _text(module: ModuleType) -> str:
    """A module's source; for a notebook or a prompt, the sources of what is defined there."""
    path = Path(getattr(module, "__file__", None) or "")
    if path.is_file():
        return path.read_text(encoding="utf-8")
    return "".join(
        _source_of(value) for value in _mentioned(module) if getattr(value, "__module__", "") == module.__name__
    )


def _source_of(thing: Any) -> str:
    """The text of a kernel, class or function; without text, what it was compiled to."""
    thing = thing.function if isinstance(thing, Kernel) else thing
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        members = vars(thing).values() if isinstance(thing, type) else [thing]
        codes = [member.__code__ for member in members if isinstance(member, FunctionType)]
        return "".join(f"{code.co_name} {code.co_code.hex()} {code.co_consts!r}" for code in codes)
