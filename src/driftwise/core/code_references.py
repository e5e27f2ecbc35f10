"""What code depends on besides its own text: the globals, the attributes of modules and the closures that it names.

numba reads them once, when it compiles, and a tag once, when it is made. `Reads` remembers what was there, so that both
can be made anew after a cell of a notebook has given a name another value.
"""

import dis
import functools
import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from driftwise.core.kernel import Kernel

PLAIN = (int, float, complex, str, bytes, type(None))
FIXED = (*PLAIN, type, FunctionType, BuiltinFunctionType, Kernel)  # an object of these is what it is for ever
_ABSENT = object()


class Reads:
    """What some functions read of their surroundings, as it was when this was made."""

    def __init__(self, functions: Iterable[FunctionType]) -> None:
        places = {(id(space), name): (space, name) for each in functions for space, name in places_of(each)}
        self._seen = [(space, name, space[name], frozen(space[name])) for space, name in places.values()]

    def changed(self) -> bool:
        """Whether any of it is another now."""
        for space, name, value, before in self._seen:
            now = space.get(name, _ABSENT)
            if (now is not value or not isinstance(now, FIXED)) and frozen(now) != before:
                return True
        return False


def places_of(function: FunctionType) -> Iterator[tuple[dict[str, Any], str]]:
    """The namespaces and names that a function reads: globals, and attributes of modules that are not installed."""
    names, attributes = _names(function.__code__)
    space = function.__globals__
    for name in names & space.keys():
        value = space[name]
        if not isinstance(value, ModuleType):
            yield space, name
        elif matters(value):
            yield from ((vars(value), each) for each in attributes & vars(value).keys())


def values_of(function: FunctionType) -> dict[str, Any]:
    """What a function reads, by name: `places_of`, and the variables of functions around it."""
    return {name: space[name] for space, name in places_of(function)} | closure_of(function)


def closure_of(function: FunctionType) -> dict[str, Any]:
    """The variables of the functions around a function that it reads; without those that are not assigned yet."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            values[name] = cell.cell_contents
    return values


def frozen(value: object, depth: int = 8) -> object:
    """A value that can be compared with a later one: numbers, texts, arrays and collections of them by content.

    Collections inside `depth` others are compared as objects: one that holds itself would have no end.
    """
    if depth == 0:
        return _Itself(value, 0)
    inner = functools.partial(frozen, depth=depth - 1)
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, PLAIN):
        return type(value).__name__, repr(value)
    if isinstance(value, tuple | list):
        return type(value).__name__, *map(inner, value)
    if isinstance(value, dict):
        return "dict", *((inner(name), inner(each)) for name, each in value.items())
    if isinstance(value, set | frozenset):
        return "set", *sorted(map(inner, value), key=repr)
    return _Itself(value, depth)


class _Itself:
    """An object that is equal to itself only; kept, so that nothing else can take its place in memory."""

    def __init__(self, value: object, depth: int) -> None:
        self.value, self._depth = value, depth  # how much of what is inside is written down

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:  # the same in every process
        return _place(self.value, self._depth)


def _place(thing: object, depth: int) -> str:
    """Where code was written, and what is in its closure, which tells apart what one factory made; else a class."""
    function = thing.function if isinstance(thing, Kernel) else thing
    if isinstance(thing, type):
        return f"{thing.__module__}.{thing.__qualname__}"
    if not isinstance(function, FunctionType):  # a verb has a name, and a module
        return f"{type(thing).__qualname__} {getattr(thing, '__name__', '')}"
    place, code = f"{function.__module__}.{function.__qualname__}", function.__code__
    if not _is_standard(code.co_filename):  # its lines change with each release of Python
        place = f"{place}:{code.co_firstlineno}"
    inside = dict(enumerate(function.__defaults__ or ())) | closure_of(function) if depth else {}
    return f"{place} {frozen(inside, depth // 2)!r}" if inside else place


def functions_of(thing: object) -> list[FunctionType]:
    """The Python functions of a kernel, a function or a class."""
    if isinstance(thing, Kernel):
        return [thing.function]
    if not isinstance(thing, type):
        return [thing] if isinstance(thing, FunctionType) else []
    members = [getattr(each, "__func__", getattr(each, "func", each)) for each in vars(thing).copy().values()]
    members += [each.fget for each in members if isinstance(each, property)]
    return [each for each in members if isinstance(each, FunctionType)]


@functools.cache
def _names(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The globals that code and the functions inside it read, and the attributes."""
    named = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    attributes = frozenset(code.co_names).union(*(each[1] for each in inner))
    return frozenset(named).union(*(each[0] for each in inner)), attributes


# ---- whose code ----

# Where the standard library and installed packages live; found once, for `sysconfig` fails where two threads ask first.
INSTALLED = tuple(str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "purelib", "platlib"))


def matters(module: ModuleType) -> bool:
    """Driftwise's own modules and the user's, not the standard library or an installed package."""
    if module.__name__.split(".")[0] == "driftwise":
        return True
    path = getattr(module, "__file__", None)
    if path is None:  # a notebook, a prompt; what is built into Python has a spec
        return getattr(module, "__spec__", None) is None
    return not _is_installed(path)


@functools.cache
def _is_installed(path: str) -> bool:
    return str(Path(path).resolve()).startswith(INSTALLED)


@functools.cache
def _is_standard(path: str) -> bool:
    """Whether a file belongs to Python; packages may be installed in a folder inside its own."""
    return _is_installed(path) and not {"site-packages", "dist-packages"} & {*Path(path).parts}


def home_of(thing: object) -> ModuleType | None:
    """The module in whose file something was written; None for what was written in a notebook or at a prompt."""
    thing = thing.function if isinstance(thing, Kernel) else thing
    if isinstance(thing, ModuleType):
        return thing
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    if module is None or (getattr(module, "__file__", None) is None and matters(module)):
        return None
    file, code = getattr(module, "__file__", None), getattr(thing, "__code__", None)
    if file is not None and code is not None and _name(code.co_filename) != _name(file):
        return None
    return module


@functools.cache
def _name(path: str) -> str:
    return Path(path).name
