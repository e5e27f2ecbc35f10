"""Where compiled kernels are kept: a file per entry point, in the first layer that has it.

Layers are folders, looked through in this order:

1. those of `$DRIFTWISE_CACHE_PATH`, separated as in `$PATH`: a container image, a folder that a team shares;
2. `share/driftwise/kernels` of the Python environment;
3. the user's own: `$DRIFTWISE_CACHE_DIR`, else `driftwise` in `$XDG_CACHE_HOME` or `~/.cache`.

Only the last is written. Where it cannot be, what is compiled stays in memory. `driftwise compile` fills a layer.

The name of a file is a hash of all that the code in it depends on: the sources and constants (`core/fingerprint.py`),
the versions of Python, numba, LLVM and NumPy, numba's flags, the types of the arguments, and the CPU. It depends
neither on who compiled nor on where driftwise is installed, so that a layer can be copied. numba's own cache has an
index, which names the path and the stamp of the source file, and which two processes that write at a time can spoil.

So that code moves between machines it is compiled for a level of CPUs and not for one of them: x86-64-v3, all that
AVX2 has, or the baseline of the architecture. The bits are the same, and speed within a few per cent (measured).
`$NUMBA_CPU_NAME` chooses another.

Loading runs what a file says, as importing a module does: only who may install software may write to a layer.
"""

import functools
import hashlib
import os
import pickle
import re
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.compiler import CompileResult

UNUSED_DAYS = 30
SUFFIX = ".kernel"
FILE = re.compile(rf".+-[0-9a-f]{{32}}\{SUFFIX}(\.[0-9a-f]{{32}}\.part)?")  # what is written here, and parts of it
LEVEL_3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")  # what x86-64-v3 has and earlier levels do not
HARMLESS = ("CACHE_DIR", "CPU_FEATURES", "CPU_NAME", "DEBUG_CACHE", "NUM_THREADS", "THREADING_LAYER")
COMPILER = ("deferred_codegen", "pinned_type")  # modules that say what compiled code looks like
_FILLING: list["Fill"] = []


class Fill:
    """Counts the entry points that are compiled or loaded, and puts them into a folder, if there is one."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.sizes: dict[str, int] = {}  # bytes of each file
        self.new: set[str] = set()  # files that were in no layer, or not in the folder

    def take(self, file: str, data: bytes, *, compiled: bool) -> None:
        """Count a file, and put it into the folder unless it is there."""
        self.sizes[file] = len(data)
        if self.folder is not None and not (self.folder / file).exists():
            _write(self.folder / file, data)
            self.new.add(file)
        elif compiled:
            self.new.add(file)


@contextmanager
def fill(folder: Path | None) -> Iterator[Fill]:
    """Within this block, what is compiled or loaded for the first time in this process is counted and kept."""
    filling = Fill(folder)
    _FILLING.append(filling)
    try:
        yield filling
    finally:
        _FILLING.remove(filling)


class KernelCache:
    """What numba asks for the compiled code of one function: `tag` stands for its sources and options."""

    def __init__(self, name: str, tag: str) -> None:
        self.name, self._tag = name, tag
        self.cache_path = str(own_folder())  # numba shows it

    def load_overload(self, signature: object, context: "BaseContext") -> "CompileResult | None":
        """The code for a signature from the first layer that has it; None where none has, or where it is damaged."""
        from numba.core.compiler import CompileResult

        file = self._file(signature, context.codegen().magic_tuple())
        for folder in layers():
            data = _read(folder / file)
            if data is None:
                continue
            try:
                _prepare(context, data)
                code = CompileResult._rebuild(context, *pickle.loads(data))
            except Exception:  # a copy that was cut off: compile anew
                continue
            for each in _FILLING:
                each.take(file, data, compiled=False)
            if folder == own_folder():
                with suppress(OSError):
                    os.utime(folder / file)
            return code
        return None

    def save_overload(self, signature: object, code: "CompileResult") -> None:
        """Keep the code for a signature, where that is possible."""
        from numba.core.serialize import dumps

        if code.lifted or code.library.has_dynamic_globals:
            return
        file, data = self._file(signature, code.codegen.magic_tuple()), dumps(code._reduce())
        for each in _FILLING:
            each.take(file, data, compiled=True)
        if any(each.folder for each in _FILLING):
            return
        with suppress(OSError):  # a folder that may not be written, or a full disk: the code stays in memory
            _write(own_folder() / file, data)
            sweep(own_folder())

    def _file(self, signature: object, cpu: tuple[str, ...]) -> str:
        digest = hashlib.sha256(f"{self._tag} {_build()} {cpu} {signature}".encode()).hexdigest()
        return f"{self.name}-{digest[:32]}{SUFFIX}"


def _prepare(context: "BaseContext", data: bytes) -> None:
    """Give names to the functions that compiled code calls.

    numba prepares itself for compiling before it loads anything, which takes a third of a short process. Code that is
    loaded calls nothing of that but the runtime and, where it hashes, the secrets of this process.
    """
    from numba.core.runtime import rtsys

    rtsys.initialize(context)
    if b"numba_hashsecret" in data:
        context.refresh()


# ---- folders ----


def layers() -> list[Path]:
    """The folders to look through."""
    shared = [Path(each) for each in os.environ.get("DRIFTWISE_CACHE_PATH", "").split(os.pathsep) if each]
    filling = [each.folder for each in _FILLING if each.folder is not None]
    return [*filling, *shared, environment_folder(), own_folder()]


def environment_folder() -> Path:
    """The layer of this Python environment."""
    return Path(sys.prefix) / "share" / "driftwise" / "kernels"


def own_folder() -> Path:
    """The user's folder; that of the environment for a user without a home."""
    if folder := os.environ.get("DRIFTWISE_CACHE_DIR"):
        return Path(folder)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "driftwise"
    except RuntimeError:
        return environment_folder()


@functools.cache
def sweep(folder: Path) -> None:
    """Once in a process, remove compiled code that was not used for a month: of earlier versions, for the most part.

    The folder may be one that the user keeps other things in: those stay.
    """
    long_ago = time.time() - UNUSED_DAYS * 86_400
    for each in folder.iterdir():
        with suppress(OSError):
            if FILE.fullmatch(each.name) and each.stat().st_mtime < long_ago:
                each.unlink()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _write(path: Path, data: bytes) -> None:
    """Write a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


# ---- what code depends on beside its sources ----


@functools.cache
def _build() -> str:
    """Versions and flags. The patch level of Python is none of it: compiled code fits all of 3.11."""
    from driftwise.core.kernel import OPTIONS

    flags = [(name, value) for name, value in os.environ.items() if name.startswith("NUMBA_")]
    flags = sorted(each for each in flags if each[0].removeprefix("NUMBA_") not in HARMLESS)
    compiler = b"".join(Path(__file__).with_name(f"{name}.py").read_bytes() for name in COMPILER)
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')} {sys.platform}"
    return (
        f"{version('llvmlite')} {python} {flags} {OPTIONS} {_vector_library()} {hashlib.sha256(compiler).hexdigest()}"
    )


def _vector_library() -> bool:
    """Whether numba calls Intel's vector library, which not every machine has."""
    from numba import config

    return bool(config.USING_SVML)


def choose_cpu(numba: ModuleType) -> None:
    """Compile for the level of this CPU, unless the user chose one, or numba has compiled something before."""
    from numba.core.registry import cpu_target

    config: Any = numba.config
    if config.CPU_NAME is None and config.CPU_FEATURES is None and "_toplevel_target_context" not in vars(cpu_target):
        config.CPU_NAME, config.CPU_FEATURES = cpu_level(avx=config.ENABLE_AVX), ""


def cpu_level(*, avx: bool) -> str:
    """The level of this CPU; the baseline where the system or the user does not allow AVX."""
    from llvmlite import binding

    try:
        has = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot tell on this machine
        has = {}
    return "x86-64-v3" if avx and all(has.get(name) for name in LEVEL_3) else "generic"
