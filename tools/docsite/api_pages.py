"""The reference: public names only, with signatures as they are written in the source."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from typing import NamedTuple, get_args

import driftwise
from driftwise.cli.docstrings import Parameter, sections_of, text_of
from driftwise.core.family import FAMILIES
from driftwise.core.kernel import Kernel
from driftwise.families import POLICIES, WORLDS
from tools.docsite.docstrings import cell, markdown, summary_of


class Module(NamedTuple):
    """One page of the reference: where names are imported from, and which."""

    title: str
    home: str
    intro: str
    names: list[str]


TOPICS = {
    "Agents": ("agents", ["Agent", "Decision", "ArmSummary", "OutcomeStatus"]),
    "Studies": ("studies", ["Study", "run", "Results"]),
    "Logs": ("logs", ["Log", "recommend", "Recommendation"]),
    "Domains and indices": ("domains", ["box", "ball", "simplex", "product", "whittle_index", "new_whittle_memory"]),
}
FORWARD = re.compile(r"(: |-> |\[)'([A-Z]\w*)'")
REGISTRIES = ("FAMILIES", "POLICIES", "WORLDS", "ORACLES")


def modules() -> dict[str, Module]:
    """The pages by their path. A public name that no topic mentions comes under Others, so that none is forgotten."""
    problems = [family.problem.__name__ for family in FAMILIES.values()]
    intro = "`import driftwise as dw`, then `dw.NAME`."
    pages = {path: Module(title, "driftwise", intro, names) for title, (path, names) in TOPICS.items()}
    pages["problems"] = Module("Problems", "driftwise", "What there is to choose from: " + intro, problems)
    policies = {kind.__name__ for kind in POLICIES.values()}
    known = {
        *policies,
        *REGISTRIES,
        "extend",
        "worlds",
        "DriftwiseError",
        *(n for page in pages.values() for n in page.names),
    }
    if rest := [name for name in dir(driftwise) if name not in known]:
        pages["others"] = Module("Others", "driftwise", intro, rest)
    pages["errors"] = _whole("Errors", "driftwise.errors", "What driftwise raises on purpose.")
    pages["client"] = _whole("Client of the service", "driftwise.service.client.client", "Needs the extra `client`.")
    pages["extend"] = _whole("Write policies and worlds", "driftwise.extend", "`import driftwise.extend as dx`.")
    checks = ["check_policy", "check_world", "check_family", "check_journal"]
    pages["checks"] = Module(
        "Checks of your own code", "driftwise.checks", "`from driftwise.checks import NAME`.", checks
    )
    return pages


def _whole(title: str, home: str, intro: str) -> Module:
    """All public names of a module: those of `__all__`, or else those it has."""
    module = import_module(home)
    public = [name for name in vars(module) if not name.startswith("_")]
    return Module(title, home, intro, list(getattr(module, "__all__", public)))


def api_pages() -> dict[str, str]:
    """Every page of the reference, and the list of all names."""
    pages = {f"reference/{path}.md": _page(module) for path, module in modules().items()}
    return {"reference/index.md": _index(), **pages}


def _index() -> str:
    lines = ["# Reference", "Every public name. All else is internal and may change without notice."]
    for path, module in modules().items():
        rows = [
            f"| [`{name}`]({path}.md#{name.lower()}) | {cell(summary_of(_text(thing)))} |"
            for name, thing in _things(module)
        ]
        lines.append("\n".join([f"## {module.title}\n", f"From `{module.home}`.\n", "| name | |", "|---|---|", *rows]))
    policies = ", ".join(f"[`{kind.__name__}`](../policies/{name}.md)" for name, kind in POLICIES.items())
    worlds = ", ".join(f"[`{kind.__name__}`](../worlds/{name}.md)" for name, kind in WORLDS.items())
    lines.append(f"## Policies\n\nFrom `driftwise`: {policies}.")
    lines.append(
        f"## Worlds\n\nFrom `driftwise.worlds`: {worlds}, and `Delayed`, which makes the rewards of any of them late."
    )
    lines.append("## Tables\n\n`dw.POLICIES`, `dw.WORLDS`, `dw.ORACLES` and `dw.FAMILIES` have all of these by name.")
    return "\n\n".join(lines)


def _things(module: Module) -> Iterator[tuple[str, object]]:
    home = import_module(module.home)
    return ((name, getattr(home, name)) for name in module.names)


def _page(module: Module) -> str:
    entries = [f"# {module.title}", module.intro]
    if module.home != "driftwise":
        entries.append(markdown(text_of(import_module(module.home)), 1))
    for name, thing in _things(module):
        entries.append(f"## {name} {{#{name.lower()}}}\n\n{_entry(name, thing)}")
    return "\n\n".join(entries)


def _text(thing: object) -> str:
    """The docstring of a thing; of a type with a note, the note."""
    notes = getattr(thing, "__metadata__", ())
    if notes:
        return f"An array in a state: {notes[0]}."
    return (
        text_of(_function(thing))
        if not get_args(thing)
        else "An array: `" + str(thing).rpartition("[")[2].rstrip("]") + "`."
    )


def _function(thing: object) -> object:
    return thing.function if isinstance(thing, Kernel) else thing


def _entry(name: str, thing: object) -> str:
    thing = _function(thing)
    if isinstance(thing, type):
        return "\n\n".join(
            filter(None, [_code(_class_signature(name, thing)), _documented(_text(thing)), *_members(thing)])
        )
    if inspect.isfunction(thing):
        return "\n\n".join(filter(None, [_code(_signature(name, thing)), _documented(_text(thing))]))
    return _text(thing) if hasattr(thing, "__metadata__") or get_args(thing) else ""


def _code(text: str) -> str:
    """A block of code; types that the source has to quote need no quotes here."""
    plain = FORWARD.sub(r"\1\2", text)
    return f"```python\n{plain}\n```"


def _documented(text: str) -> str:
    prose, sections = sections_of(text)
    parts = [markdown(prose, 1), *(_section(name, entries) for name, entries in sections.items())]
    return "\n\n".join(filter(None, parts))


def _section(title: str, entries: list[Parameter]) -> str:
    """A table; without a column of types where the docstring has none, for the signature shows them."""
    if not any(entry.kind for entry in entries):
        return "\n".join([f"| {title.lower()} | |", "|---|---|", *(_row(entry.names, entry.text) for entry in entries)])
    rows = [_row(entry.names, entry.kind, entry.text) for entry in entries]
    return "\n".join([f"| {title.lower()} | type | |", "|---|---|---|", *rows])


def _row(names: str, *cells: str) -> str:
    return f"| `{names}` | {' | '.join(map(cell, cells))} |"


def _definition(thing: object) -> ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]  # type: ignore[arg-type]
    assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return node


def _signature(name: str, function: object) -> str:
    """A function's signature with annotations as they are written, without `self`."""
    node = _definition(inspect.unwrap(function))  # type: ignore[arg-type]
    assert not isinstance(node, ast.ClassDef)
    arguments = node.args
    for group in (arguments.posonlyargs, arguments.args):
        group[:] = [each for each in group if each.arg not in ("self", "cls")]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    return _wrapped(name, _arguments(arguments), returns)


def _arguments(arguments: ast.arguments) -> list[str]:
    """Each argument by itself, marks of positional and keyword arguments included."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    parts = [_argument(each, default) for each, default in zip(positional, defaults, strict=True)]
    if arguments.posonlyargs:
        parts.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg:
        parts.append(f"*{ast.unparse(arguments.vararg)}")
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [_argument(*pair) for pair in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return parts + ([f"**{ast.unparse(arguments.kwarg)}"] if arguments.kwarg else [])


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    equals = " = " if argument.annotation else "="
    return ast.unparse(argument) + (f"{equals}{ast.unparse(default)}" if default is not None else "")


def _wrapped(name: str, arguments: list[str], returns: str = "") -> str:
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) <= 76:
        return line
    return f"{name}(\n" + "".join(f"    {each},\n" for each in arguments) + f"){returns}"


def _class_signature(name: str, kind: type) -> str:
    """How to construct it: its fields, or the arguments of `__init__`."""
    if issubclass(kind, Exception) or getattr(kind, "_is_protocol", False):
        bases = ", ".join(base.__name__ for base in kind.__bases__ if base is not object)
        return f"class {name}({bases})"
    if hasattr(kind, "_fields") or is_dataclass(kind):
        bases_first = [base for base in reversed(kind.__mro__) if base.__module__.startswith("driftwise")]
        fields = {field: text for base in bases_first for field, text in _fields(base).items()}
        return _wrapped(name, [*fields.values()])
    initial = vars(kind).get("__init__")
    return _signature(name, initial) if inspect.isfunction(initial) else f"class {name}"


def _fields(kind: type) -> dict[str, str]:
    """The fields that a class declares, by name: one of a class above has the default that the class below gives it."""
    declared = [node for node in _definition(kind).body if isinstance(node, ast.AnnAssign)]
    return {ast.unparse(node.target): ast.unparse(node) for node in declared}


def _members(kind: type) -> list[str]:
    """Public methods and properties of a class, those of its bases in the package included."""
    found: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("driftwise") and not (issubclass(kind, Exception) and base is not kind):
            found |= {name: member for name, member in vars(base).items() if not name.startswith("_")}
    return [text for name, member in found.items() if (text := _member(kind, name, member))]


def _member(kind: type, name: str, member: object) -> str:
    heading = f"### {name} {{#{kind.__name__.lower()}.{name}}}"
    if isinstance(member, property):
        node = _definition(member.fget)
        assert not isinstance(node, ast.ClassDef)
        returns = f": {ast.unparse(node.returns)}" if node.returns else ""
        return "\n\n".join([heading, _code(f"{name}{returns}"), _documented(_text(member))])
    plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    if not inspect.isfunction(plain):
        return ""
    return "\n\n".join([heading, _code(_signature(name, plain)), _documented(_text(plain))])
