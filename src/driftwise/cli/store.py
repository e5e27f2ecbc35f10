"""`driftwise store`: check, repair, compact, archive and upgrade a store that is not in use."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from driftwise.cli.command import main
from driftwise.core.extras import needed_for
from driftwise.errors import ParameterError

if TYPE_CHECKING:
    from driftwise.service.store.schema import MigrationMode
    from driftwise.service.store.upkeep import SQLUpkeep

DAMAGED = 1  # the exit code of a check that finds damage


@main.group(short_help="Check, repair and upgrade the store of the service.")
def store() -> None:
    """Check, repair, compact, archive and upgrade a store, while no service uses it.

    STORE is sqlite:///FILE, FILE.db or postgresql://... .
    """


@store.command()
@click.argument("store")
def check(store: str) -> None:
    """Read everything in STORE, and report damage, a line for each deployment. Exit code 1 if there is any."""
    with opened(store) as journal:
        from driftwise.service.deployments.check import check_store

        problems = 0
        for report in check_store(journal):
            click.echo(report.line)
            problems += len(report.problems)
    if problems:
        click.echo(f"damage was found: `driftwise store repair {store}` sets it aside", err=True)
        raise SystemExit(DAMAGED)


@store.command()
@click.argument("store")
@click.option("--from", "backup", metavar="STORE", help="A backup, to restore damaged events from.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
def repair(store: str, backup: str | None, dry_run: bool) -> None:
    """Set damaged events of STORE aside, and let each deployment go on from its last good point.

    That is the backup, if --from is given and has the events; else a snapshot newer than the damage; else the event
    before it. Only in the last case is anything lost to a policy.
    """
    with opened(store) as journal:
        from driftwise.service.deployments.repair import repair_store

        lines = 0
        if backup is None:
            for line in repair_store(journal, None, dry_run=dry_run):
                click.echo(line)
                lines += 1
        else:
            with opened(backup) as other:
                for line in repair_store(journal, other, dry_run=dry_run):
                    click.echo(line)
                    lines += 1
    if not lines:
        click.echo("nothing is damaged")


@store.command()
@click.argument("store")
@click.option("--dry-run", is_flag=True, help="Do all of it and undo it, so that nothing changes.")
def upgrade(store: str, dry_run: bool) -> None:
    """Bring STORE to the format of this version of driftwise. It cannot be undone: copy the store first."""
    from driftwise.service.store.schema import FORMAT

    with opened(store, "rehearse" if dry_run else "commit") as journal:
        done = journal.migration
    if done is None:
        click.echo(f"the store has format {FORMAT}: there is nothing to do")
        return
    result = "can be upgraded" if dry_run else "was upgraded"
    click.echo(f"the store {result} from format {done.before} to {done.after}: {done.n_events} events")


@contextmanager
def opened(store: str, migration: "MigrationMode | None" = None) -> Iterator["SQLUpkeep"]:
    """An existing store, in no other process's use."""
    with needed_for("the service"):
        from driftwise.service.store.journal import open_journal
    path = store.removeprefix("sqlite:///")
    if "://" not in path and not Path(path).exists():
        raise ParameterError(f"there is no store {path}")
    journal = open_journal(store, migration=migration)
    try:
        yield journal
    finally:
        journal.close()
