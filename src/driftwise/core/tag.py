"""Which code is this? A tag that changes when any source a class depends on changes; it names caches and keys results.

The sources of a class are its module, the modules of the kernels registered for it, and of whatever those modules
mention, as far as they are driftwise's own or define kernels.
"""

import functools
import hashlib
import importlib.util
import inspect
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from driftwise.core.kernel import OPTIONS, Kernel
from driftwise.core.verbs import kernels_of

UNUSED_DAYS = 30


def code_tag(*objects: Any) -> str:
    """Sixteen hex digits that change with any source `objects` depend on, with numba, and with its flags."""
    return _tag_of(objects)


@functools.cache
def _tag_of(objects: tuple[Any, ...]) -> str:
    digest = hashlib.sha256(_build().encode())
    for text in sorted(set(_sources(objects))):
        digest.update(text.encode())
    return digest.hexdigest()[:16]


def cache_folder(*objects: Any) -> Path:
    """Where what is compiled from `objects` is kept. Folders unused for a month are swept away."""
    root = cache_root()
    folder = root / code_tag(*objects)
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
    versions = [version(package) for package in ("numba", "llvmlite", "numpy")]
    return f"{versions} {sys.version} {flags} {OPTIONS}"


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
        yield _text(module)
        queue.extend(_mentioned(module))


def _mentioned(module: ModuleType) -> list[Any]:
    return [value for value in vars(module).values() if isinstance(value, Kernel | type | FunctionType | ModuleType)]


def _matters(module: ModuleType) -> bool:
    """Driftwise's own modules, and any module of a user's that defines a kernel."""
    return module.__name__.startswith("driftwise.") or any(isinstance(value, Kernel) for value in vars(module).values())


def _text(module: ModuleType) -> str:
    """A module's source; for a notebook or a prompt, the sources of its kernels."""
    path = Path(getattr(module, "__file__", None) or "")
    if path.is_file():
        return path.read_text(encoding="utf-8")
    kernels = [value for value in vars(module).values() if isinstance(value, Kernel)]
    return "".join(_source_of(each) for each in kernels)


def _source_of(each: Kernel[Any, Any]) -> str:
    try:
        return inspect.getsource(each.function)
    except OSError:
        code = each.function.__code__
        return f"{code.co_name} {code.co_code.hex()} {code.co_consts!r}"
