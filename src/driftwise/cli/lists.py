"""`driftwise policies` and `driftwise worlds`: lists, and one entry in detail."""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import click

from driftwise.cli.command import KINDS, main
from driftwise.errors import ParameterError

N_WORDS = 16  # words of `needs` that an error can list
FILLERS = """a an and anything are by can fit for happen how if in is itself large of or per possible the their there
to where which"""  # words of `needs` that say nothing alone


def _list_options(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and options of both lists."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead."),
        click.option("--long", is_flag=True, help="Show all facts of each, such as its parameters."),
        click.option("--family", metavar="F", help=f"Only those for this family of problems: {KINDS}."),
        click.argument("name", required=False),
    ):
        command = option(command)
    return command


@main.command(short_help="List policies, or show one in detail.")
@_list_options
@click.option(
    "--needs",
    metavar="WORD",
    help="Only policies that must know something with this word, such as window or horizon; `nothing`: those that need "
    "to know nothing.",
)
def policies(name: str | None, family: str | None, needs: str | None, long: bool, as_json: bool) -> None:
    """List policies by family; with NAME, show one in detail, or those with that word in their name.

    --long shows parameters, what each policy must know, its guarantee and its source. Oracles know the world itself:
    they are for comparison only.
    """
    from driftwise.families import ORACLES, POLICIES

    _catalogue(POLICIES | ORACLES, "policy", name, family, needs, long, as_json)


@main.command(short_help="List worlds, or show one in detail.")
@_list_options
def worlds(name: str | None, family: str | None, long: bool, as_json: bool) -> None:
    """List worlds by family; with NAME, show one in detail, or those with that word in their name."""
    from driftwise.families import WORLDS

    _catalogue(WORLDS, "world", name, family, None, long, as_json)


def _catalogue(
    table: Mapping[str, type],
    what: str,
    name: str | None,
    family: str | None,
    needs: str | None,
    long: bool,
    as_json: bool,
) -> None:
    """List the entries of a table, or show one in detail."""
    from driftwise.cli.docstrings import parameter_rows, sections_of, text_of
    from driftwise.cli.terminal import show_families, show_list, show_parameters, signature
    from driftwise.core.spec import lookup

    if name is not None and name in table and not (family or needs):
        entry = _entry(name, table[name])
        if as_json:
            click.echo(json.dumps(entry))
        else:
            kind = table[name]
            click.echo((sys.modules[kind.__module__].__doc__ or "").strip())
            click.echo(f"\n{kind.__name__}({signature(entry)})\n\n{sections_of(text_of(kind))[0]}")
            show_parameters(parameter_rows(kind))
        return
    entries = [_entry(each, kind) for each, kind in table.items()]
    if family is not None:
        lookup(family, dict.fromkeys(entry["family"] for entry in entries), "family of problems")
        entries = [entry for entry in entries if entry["family"] == family]
    if name is not None:
        entries = [entry for entry in entries if name in entry["name"]]
        if not entries:
            lookup(name, table, what)
    if needs is not None:
        entries = _by_needs(needs, entries, "" if family is None else f" of the family {family}")
    if as_json:
        click.echo(json.dumps(entries))
    else:
        (show_list if long else show_families)(entries)
        command = "policies" if what == "policy" else "worlds"
        click.echo(f"\nOne in detail: driftwise {command} NAME. All facts: --long", err=True)


def _by_needs(word: str, entries: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    """The policies that must know something with this word; without any, the error has the words they use most."""
    matches = [entry for entry in entries if word.lower() in entry["needs"].lower()]
    if not matches:
        counts = Counter(
            each for entry in entries for each in re.findall(r"\w+", entry["needs"]) if each not in FILLERS.split()
        )
        words = ", ".join(each for each, _ in counts.most_common(N_WORDS))
        raise ParameterError(f"no policy{where} must know {word!r}; words in use: {words}")
    return matches


def _entry(name: str, kind: type) -> dict[str, Any]:
    """One policy or world as data; a policy inside another is written as text."""
    from driftwise.core.spec import describe, parameters
    from driftwise.core.verbs import ABOUT
    from driftwise.families import POLICIES

    summary = (kind.__doc__ or "").strip().splitlines()[0]
    about = ABOUT[kind]._asdict() if kind in ABOUT else {"family": kind().problem().family}
    takes = {key: describe(of, POLICIES) if hasattr(of, "_fields") else of for key, of in parameters(kind).items()}
    return {"name": name, "class": kind.__name__, "summary": summary, "parameters": takes, **about}
