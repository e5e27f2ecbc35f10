"""Policies and worlds as text: `name` or `name:param=value,param=value`, the same in commands, files and HTTP.

A parameter that is itself a policy is a name, in parentheses where it has parameters of its own:
`bandit-over-bandit:policy=(sliding-ucb:xi=0.5),literal=1`.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

from driftwise.core.family import FAMILIES
from driftwise.core.foresight import is_named, names_of
from driftwise.errors import ParameterError

FEW = 12  # names that an error can list


def catalogue(package: ModuleType) -> dict[str, Any]:
    """The classes a package imports from its own files, by the name of the file: `sliding_ucb.py`, `sliding-ucb`."""
    return {
        thing.__module__.rpartition(".")[2].replace("_", "-"): thing
        for thing in vars(package).copy().values()  # in one step: another thread may import something
        if isinstance(thing, type) and thing.__module__.startswith(f"{package.__name__}.")
    }


def parameters(kind: type) -> dict[str, Any]:
    """The parameters of a policy or world class, with their defaults."""
    if is_dataclass(kind):
        return {field.name: field.default for field in fields(kind) if field.init}
    return {name: kind._field_defaults[name] for name in kind._fields}  # type: ignore[attr-defined]


def same_number(one: str, other: str) -> bool:
    """Whether two texts are one number, such as 5 and 5.0."""
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def lookup(name: str, table: Mapping[str, Any], what: str) -> Any:
    """The class called `name`; the error guesses what was meant, or lists what there is where that is short."""
    if name in table:
        return table[name]
    if what == "policy" and any(name in family.oracles for family in FAMILIES.values()):
        raise ParameterError(
            f"the policy {name} knows the world in advance: it works with `driftwise simulate` and in studies only"
        )
    close = [each for each in table if same_number(name, each)] or difflib.get_close_matches(name, table, n=3)
    close = close or [each for each in table if name and name in each][:3]
    if close:
        raise ParameterError(f"there is no {what} called {name!r}; did you mean {' or '.join(close)}?")
    if len(table) <= FEW:
        raise ParameterError(f"there is no {what} called {name!r}: there are {', '.join(table)}")
    lists = {"policy": "policies", "world": "worlds"}.get(what)
    where = f": `driftwise {lists}` lists all, yours are used in Python" if lists else f" among {len(table)}"
    raise ParameterError(f"there is no {what} called {name!r}{where}")


def parse(text: str, table: Mapping[str, Any], what: str) -> Any:
    """Build what `text` describes.

    >>> from driftwise.families import POLICIES
    >>> parse("sliding-ucb:window=500", POLICIES, "policy")
    SlidingUCB(window=500, xi=0.6)
    """
    name, _, rest = text.partition(":")
    kind = lookup(name.strip(), table, what)
    known = parameters(kind)
    arguments = {}
    for pair in filter(None, _split(rest)):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise ParameterError(f"{pair!r} in {text!r} is not param=value")
        if key not in known:
            options = f"it takes {', '.join(known)}" if known else "it takes none"
            raise ParameterError(f"{what} {name} has no parameter {key!r}: {options}")
        if hasattr(known[key], "_fields"):
            arguments[key] = parse(value.removeprefix("(").removesuffix(")"), table, what)
        else:
            arguments[key] = value if is_named(kind, key, value) else _value(kind, key, value, known[key])
    return kind(**arguments)


def _split(text: str) -> list[str]:
    """The parts between commas that no parentheses enclose."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    if depth:
        raise ParameterError(f"the parentheses in {text!r} do not match")
    return parts


def describe(thing: object, table: Mapping[str, Any], text: Callable[[object], str] = str) -> str:
    """The text that `parse` reads back; parameters at their defaults are left out. `text` writes a plain value."""
    names = [name for name, kind in table.items() if kind is type(thing)]
    name = names[0] if names else type(thing).__name__
    changed = [
        f"{key}={_plain(getattr(thing, key), table, text)}"
        for key, default in parameters(type(thing)).items()
        if getattr(thing, key) != default
    ]
    return name + (":" + ",".join(changed) if changed else "")


def _plain(value: object, table: Mapping[str, Any], text: Callable[[object], str]) -> str:
    if hasattr(value, "_fields"):
        inside = describe(value, table, text)
        return f"({inside})" if ":" in inside else inside
    return repr(value) if isinstance(value, float) else text(value)


def _value(kind: type, key: str, text: str, default: object) -> str | int | float:
    """Text as the type of the default; a whole number may be written 1e4."""
    if isinstance(default, str):
        return text
    try:
        number = float(text)
    except ValueError:
        words = names_of(kind, key)
        also = f", or one of {', '.join(words)}" if words else ""
        raise ParameterError(f"{key}={text} is not a number{also}") from None
    if isinstance(default, int):
        if number != number or number in (float("inf"), float("-inf")) or number != int(number):
            raise ParameterError(f"{key}={text} is not a whole number")
        return int(number)
    return number
