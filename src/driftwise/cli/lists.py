"""`driftwise policies` and `driftwise worlds`: lists, and one entry in detail."""

import inspect
import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from driftwise.cli.command import main


@main.command(short_help="List policies, or show one in detail.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def policies(name: str | None, as_json: bool) -> None:
    """List policies with what each must know, its guarantee and its source; with NAME, show one in detail.

    Oracles know the world itself: they are for comparison only.
    """
    from driftwise.families import ORACLES, POLICIES

    _catalogue(POLICIES | ORACLES, "policy", name, as_json)


@main.command(short_help="List worlds, or show one in detail.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def worlds(name: str | None, as_json: bool) -> None:
    """List worlds with their parameters; with NAME, show one in detail."""
    from driftwise.families import WORLDS

    _catalogue(WORLDS, "world", name, as_json)


def _catalogue(table: Mapping[str, type], what: str, name: str | None, as_json: bool) -> None:
    """List the entries of a table, or show one in detail."""
    from driftwise.cli.terminal import show_list, signature
    from driftwise.core.spec import lookup

    chosen = {name: lookup(name, table, what)} if name else table
    entries = [_entry(each, kind) for each, kind in chosen.items()]
    if as_json:
        click.echo(json.dumps(entries[0] if name else entries))
    elif name:
        click.echo((sys.modules[table[name].__module__].__doc__ or "").strip())
        click.echo(f"\n{table[name].__name__}({signature(entries[0])})\n\n{inspect.getdoc(table[name])}")
    else:
        show_list(entries)
        click.echo(f"\nOne in detail: driftwise {'policies' if what == 'policy' else 'worlds'} NAME", err=True)


def _entry(name: str, kind: type) -> dict[str, Any]:
    """One policy or world as data; a policy inside another is written as text."""
    from driftwise.core.spec import describe, parameters
    from driftwise.core.verbs import ABOUT
    from driftwise.families import POLICIES

    summary = (kind.__doc__ or "").strip().splitlines()[0]
    about = ABOUT[kind]._asdict() if kind in ABOUT else {"family": kind().problem().family}
    takes = {key: describe(of, POLICIES) if hasattr(of, "_fields") else of for key, of in parameters(kind).items()}
    return {"name": name, "class": kind.__name__, "summary": summary, "parameters": takes, **about}
