"""What docstrings say of policies and worlds: prose, and the sections of numpy's convention."""

import inspect
import re
from typing import NamedTuple

from driftwise.core.spec import describe, parameters
from driftwise.families import POLICIES

SECTION = re.compile(r"^(?P<name>[A-Z]\w+)\n-{3,}\n", re.MULTILINE)


class Parameter(NamedTuple):
    """One entry of a section such as Parameters: names, type, what it says."""

    names: str
    kind: str
    text: str


class ParameterRow(NamedTuple):
    """One parameter of a policy or world: its name, its default, and what it is."""

    name: str
    default: str
    text: str


def text_of(thing: object) -> str:
    """A docstring of its own, without indentation; nothing for one that is inherited or made by Python."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    return "" if re.match(r"\w+\(.*\)( -> .*)?$", text) else text


def sections_of(text: str) -> tuple[str, dict[str, list[Parameter]]]:
    """The prose of a docstring, and the entries of its sections by name."""
    parts = SECTION.split(text)
    prose, sections = parts[0], {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        entries, _, rest = body.partition("\n\n>>> ")
        sections[name] = _entries(entries)
        prose = f"{prose.rstrip()}\n\n>>> {rest}" if rest else prose
    return prose.strip(), sections


def _entries(body: str) -> list[Parameter]:
    entries = re.split(r"^(?=\S)", body.strip("\n"), flags=re.MULTILINE)
    found = []
    for entry in filter(None, entries):
        head, _, text = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        found.append(Parameter(names.strip(), kind.strip(), " ".join(text.split())))
    return found


def parameter_rows(kind: type) -> list[ParameterRow]:
    """The parameters of a policy or world in their order, those of the classes above too."""
    texts = {
        name: entry.text
        for base in reversed(kind.__mro__)  # what a class says comes after what those above it say
        if base.__module__.partition(".")[0] == kind.__module__.partition(".")[0]
        for entry in sections_of(text_of(base))[1].get("Parameters", [])
        for name in entry.names.split(", ")
    }
    return [ParameterRow(name, _default(value), texts.get(name, "")) for name, value in parameters(kind).items()]


def _default(value: object) -> str:
    return describe(value, POLICIES) if hasattr(value, "_fields") else str(value)
