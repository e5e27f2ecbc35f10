"""Which code is this? A tag that changes when any source a class depends on changes; it names caches and keys results.

The sources of a class are its module, the modules of the kernels registered for it, and all that those modules
mention, as far as it is driftwise's own or the user's, not the standard library or an installed package. What a name
stands for counts beside the text, for a module may choose when it is imported: constants by their values, kernels,
functions and classes by where they were written and what is in their closures. What was written in a notebook has no
file: there it is the class, its kernels, and what they name, so that a cell that they do not need changes nothing.
"""

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from driftwise.core.code_references import (
    PLAIN,
    Reads,
    closure_of,
    frozen,
    functions_of,
    home_of,
    matters,
    places_of,
    values_of,
)
from driftwise.core.kernel import Kernel, generation
from driftwise.core.verbs import VERBS

CODE = (Kernel, type, FunctionType)
CONSTANTS = (int, float, str, tuple, np.ndarray, *CODE)
Tagged = tuple[int, Reads, str]  # the generation of kernels it belongs to, what was read of notebooks, and the tag
_KNOWN: dict[tuple[Any, ...], Tagged] = {}
_TEXTS: dict[str, tuple[Any, str]] = {}  # of each module: the spec it was loaded by, and the hash of its file


def code_tag(*objects: object) -> str:
    """Sixteen hex digits that change with any source `objects` depend on, and with the versions of numba and NumPy."""
    entry = _KNOWN.get(objects)
    if entry is None or entry[0] != generation() or entry[1].changed():
        entry = _KNOWN[objects] = _tag_of(objects)
    return entry[2]


def _tag_of(objects: tuple[Any, ...]) -> Tagged:
    now = generation()
    texts, loose = _sources(objects)
    digest = hashlib.sha256(f"{version('numba')} {version('numpy')}".encode())
    for text in sorted(texts):
        digest.update(text.encode())
    reads = Reads(function for thing in loose for function in functions_of(thing))
    return now, reads, digest.hexdigest()[:16]


def importable(kind: type) -> bool:
    """Whether another process could find this class: one of a script or prompt is compiled for this process only."""
    if kind.__module__ == "__main__":
        return False
    try:
        return importlib.util.find_spec(kind.__module__) is not None
    except (ImportError, ValueError):
        return False


def _sources(objects: tuple[Any, ...]) -> tuple[list[str], list[Any]]:
    """The texts that `objects` depend on, and those of them that have no file."""
    texts: list[str] = []
    loose: list[Any] = []
    visited: set[Any] = set()
    queue = list(objects)
    while queue:
        item = queue.pop()
        if isinstance(item, type):  # a class brings its kernels, wherever they were written
            answers = {verb.__name__: verb.kernels[item] for verb in VERBS.values() if item in verb.kernels}
            texts.append(f"{item.__qualname__} {_values(answers)}")
            queue.extend(answers.values())
        if isinstance(item, Kernel) and item.function.__closure__:  # no text tells what is in there
            around = closure_of(item.function)
            texts.append(f"{item.function.__qualname__} {_values(around)}")
            queue.extend(_things(around.values()))
        home = home_of(item)
        where = id(item) if home is None else home.__name__
        if where in visited or not (home is None or matters(home)):
            continue
        visited.add(where)
        if home is not None:
            named = _named_in(home)
            texts.append(f"{home.__name__} {_file_of(home)} {_values(named)}")
            queue.extend(_things(each for each in named.values() if isinstance(each, (*CODE, ModuleType, tuple))))
            continue
        loose.append(item)
        named = {name: value for function in functions_of(item) for name, value in values_of(function).items()}
        own = vars(item).copy() if isinstance(item, type) else {}
        constants = [_values(each, (*CONSTANTS, list, dict, set, frozenset)) for each in (named, own)]
        texts.append(f"{item.__qualname__} {_source_of(item)} {constants}")
        queue.extend([*getattr(item, "__mro__", ())[1:-1], *_things([*named.values(), *own.values()])])
    return texts, loose


def _things(values: Iterable[object], depth: int = 8) -> list[Any]:
    """The kernels, classes and functions among values, and in collections of them; of others, their class."""
    things = []
    for value in values if depth else ():
        if isinstance(value, Kernel | type | FunctionType | ModuleType):
            things.append(value)
        elif isinstance(value, tuple | list | set | frozenset):
            things += [type(value), *_things(value, depth - 1)]
        elif isinstance(value, dict):
            things += _things(value.values(), depth - 1)
        elif isinstance(function := getattr(value, "py_func", None), FunctionType):  # by numba's own decorators
            things.append(function)
        elif not isinstance(value, PLAIN):
            things.append(type(value))
    return things


def _named_in(module: ModuleType) -> dict[str, Any]:
    """What a module names. Which of its own modules a package names depends on what was loaded: those do not count.

    The names of driftwise itself load on first use: of them, those count that the code of the module reads.
    """
    root = sys.modules["driftwise"]
    if module is root:
        return {}
    own = f"{module.__name__}." if module.__name__.split(".")[0] == "driftwise" else "/"
    named = {
        name: value
        for name, value in vars(module).copy().items()  # in one step: another thread may import something
        if not (isinstance(value, ModuleType) and value.__name__.startswith(own))
    }
    if any(value is root for value in named.values()):
        code = [value for value in named.values() if isinstance(value, CODE) and home_of(value) is module]
        places = [place for each in code for function in functions_of(each) for place in places_of(function)]
        named |= {f"driftwise.{name}": space[name] for space, name in places if space is vars(root)}
    return named


def _values(named: dict[str, Any], kinds: tuple[type, ...] = CONSTANTS) -> list[str]:
    """What names stand for, in words: numbers, texts, arrays and collections by value, code by its place."""
    now = named.copy()  # in one step: another thread may import something
    plain = {name: value for name, value in now.items() if not name.startswith("__") and isinstance(value, kinds)}
    return sorted(f"{name}={frozen(value)!r}" for name, value in plain.items())


def _file_of(module: ModuleType) -> str:
    """The hash of a module's file as it was when it was first asked for: an edit counts once the module is reloaded."""
    spec, path = getattr(module, "__spec__", None), Path(getattr(module, "__file__", None) or "")
    if module.__name__ not in _TEXTS or _TEXTS[module.__name__][0] is not spec:
        _TEXTS[module.__name__] = spec, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return _TEXTS[module.__name__][1]


def _source_of(thing: object) -> str:
    """The text of a kernel, class or function; without text, what it was compiled to."""
    try:
        return inspect.getsource(thing.function if isinstance(thing, Kernel) else thing)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return "".join(f"{function.__defaults__!r} {_compiled(function.__code__)}" for function in functions_of(thing))


def _compiled(code: CodeType) -> str:
    consts = [_compiled(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_name} {code.co_code.hex()} {code.co_names} {code.co_varnames} {consts}"
