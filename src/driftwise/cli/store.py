"""`driftwise store`: check, verify, repair, compact, archive and upgrade a store that is not in use."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from driftwise.cli.command import main
from driftwise.core.extras import needed_for
from driftwise.display.text import agree, counted
from driftwise.errors import ParameterError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from driftwise.service.store.schema import MigrationMode
    from driftwise.service.store.upkeep import SQLUpkeep

FORMS = "STORE is sqlite:///FILE, FILE.db or postgresql://... , and no service may use it."
DAMAGED = 1  # the exit code of a check that finds damage


@main.group(short_help="Check, repair and upgrade the store of the service.", epilog=FORMS)
def store() -> None:
    """Check, repair, compact, archive and upgrade the store of the service."""


@store.command(epilog=FORMS, short_help="Report damage.")
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
        click.echo(f"damage was found: `driftwise store repair {shlex.quote(store)}` sets it aside", err=True)
        raise SystemExit(DAMAGED)


@store.command(epilog=FORMS, short_help="Replay deployments, and compare with snapshots.")
@click.argument("store")
@click.option("--deployment", metavar="NAME", help="Only this deployment.")
def verify(store: str, deployment: str | None) -> None:
    """Replay the deployments of STORE, and compare with their newest snapshots. Exit code 1 if one differs."""
    with opened(store) as journal:
        from driftwise.service.deployments.catalogue import read_catalogue
        from driftwise.service.deployments.check import verify_stream
        from driftwise.study.progress import terminal_bar

        entries = read_catalogue(journal).entries
        check_deployment(deployment, entries)
        problems = 0
        with terminal_bar() as bar:
            for name in entries if deployment is None else [deployment]:
                task = bar.add_task(name, total=journal.last(entries[name].stream) + 1)
                report = verify_stream(journal, entries[name], partial(_show, bar, task))
                bar.update(task, completed=report.n_events)
                click.echo(report.line)
                problems += len(report.problems)
    if problems:
        raise SystemExit(DAMAGED)


def _show(bar: "Progress", task: "TaskID", done: int) -> None:
    bar.update(task, completed=done)


def check_deployment(name: str | None, entries: Mapping[str, object]) -> None:
    """Refuse the name of a deployment that a store does not have."""
    if name is not None and name not in entries:
        there = ", ".join(entries) or "none"
        raise ParameterError(f"there is no deployment {name!r} in this store: there are {there}")


@store.command(epilog=FORMS, short_help="Set damaged events aside.")
@click.argument("store")
@click.option("--from", "backup", metavar="STORE", help="Backup to restore damaged events from.")
@click.option(
    "--begin-anew", metavar="NAME", help="Let the policy of this deployment forget what it has learned; see above."
)
@click.option("--dry-run", is_flag=True, help="Print what would be done, and change nothing.")
def repair(store: str, backup: str | None, begin_anew: str | None, dry_run: bool) -> None:
    """Set damaged events of STORE aside, and let each deployment go on from its last good point.

    That is the backup, if --from is given and has the events; else a snapshot newer than the damage; else the event
    before it. Only in the last case is anything lost to a policy.

    Where events were dropped and another version of driftwise cannot read what the policy had learned from them, the
    deployment cannot start. With --begin-anew NAME its policy begins anew there, and learns from the events that are
    kept; arms, budgets, units and pending decisions stay.
    """
    if begin_anew is not None:
        _begin_anew(store, begin_anew, dry_run)
        return
    with needed_for("the service"):
        from driftwise.service.deployments.repair import MalformedError
        from driftwise.service.store.salvage import salvage

    try:
        _repair(store, backup, dry_run)
    except MalformedError:
        count, path = salvage(Path(store.removeprefix("sqlite:///")))
        rows = f"{counted(count, 'row')} could be read and {agree(count, 'is', 'are')} in a new file"
        click.echo(f"the store: {rows}; the malformed one is {path}")
        _repair(store, backup, dry_run)


def _begin_anew(store: str, name: str, dry_run: bool) -> None:
    with opened(store) as journal:
        from driftwise.service.deployments import repair
        from driftwise.service.deployments.clock import now_us

        click.echo(repair.begin_anew(journal, name, now_us(), dry_run=dry_run))


def _repair(store: str, backup: str | None, dry_run: bool) -> None:
    from driftwise.service.deployments.repair import repair_store

    with ExitStack() as stack:
        journal = stack.enter_context(opened(store))
        other = None if backup is None else stack.enter_context(opened(backup))
        lines = 0
        for line in repair_store(journal, other, dry_run=dry_run):
            click.echo(line)
            lines += 1
    if not lines:
        click.echo("nothing is damaged")


@store.command(epilog=FORMS, short_help="Give free pages back to the disk.")
@click.argument("store")
@click.option("--dry-run", is_flag=True, help="Print what would be dropped, and change nothing.")
def compact(store: str, dry_run: bool) -> None:
    """Drop what is left of deleted deployments and dropped events, and give free pages of STORE back to the disk."""
    with opened(store) as journal:
        from driftwise.service.deployments.catalogue import read_catalogue

        catalogue = read_catalogue(journal)
        deleted = [stream for stream in catalogue.deleted if journal.last(stream) >= 0]
        before = journal.size()
        if dry_run:
            click.echo(
                f"{counted(len(deleted), 'deleted deployment')} would be dropped; the store has {before:,} bytes"
            )
            return
        for stream in deleted:
            while journal.drop(stream):
                pass
        for entry in catalogue.entries.values():
            while journal.trim(entry.stream):
                pass
        journal.compact()
        click.echo(f"the store had {before:,} bytes and has {journal.size():,}")


@store.command(epilog=FORMS, short_help="Drop or archive old events.")
@click.argument("store")
@click.option(
    "--to", "folder", metavar="FOLDER", help="Folder for the events, as Parquet files; without it they are lost."
)
@click.option("--events", type=click.IntRange(0), metavar="N", help="Keep the last N events of each deployment.")
@click.option("--seconds", type=click.FloatRange(0), metavar="S", help="Keep the events of the last S seconds.")
@click.option("--deployment", metavar="NAME", help="Only this deployment.")
@click.option("--dry-run", is_flag=True, help="Print what would be dropped, and change nothing.")
def archive(
    store: str,
    folder: str | None,
    events: int | None,
    seconds: float | None,
    deployment: str | None,
    dry_run: bool,
) -> None:
    """Drop old events from STORE, by the retention of each deployment, or by --events and --seconds.

    Decisions go on as before: the state of each deployment takes the place of its events. It can no longer change to
    another policy then. `driftwise store compact` gives the room back to the disk.
    """
    with opened(store) as journal:
        from driftwise.service.deployments.archive import check_folder
        from driftwise.service.deployments.catalogue import read_catalogue
        from driftwise.service.deployments.clock import now_us
        from driftwise.service.deployments.retention import as_retention, cut_offline, write_archive

        entries = read_catalogue(journal).entries
        check_deployment(deployment, entries)
        target = None if folder is None or dry_run else check_folder(Path(folder))
        retention = as_retention(events, seconds)
        for name in entries if deployment is None else [deployment]:
            origin = cut_offline(journal, entries[name], retention, now_us())
            if origin is None:
                click.echo(f"{name}: all events are kept")
                continue
            if dry_run:
                click.echo(f"{name}: events up to {origin.number} would be dropped")
                continue
            path = None if target is None else write_archive(journal, entries[name], origin, target)
            journal.rebase(origin)
            while journal.trim(origin.stream):
                pass
            click.echo(f"{name}: events up to {origin.number} were {'dropped' if path is None else f'moved to {path}'}")


@store.command(epilog=FORMS, short_help="Bring a store to the present format.")
@click.argument("store")
@click.option("--dry-run", is_flag=True, help="Try the upgrade and roll it back, so that nothing changes.")
def upgrade(store: str, dry_run: bool) -> None:
    """Bring STORE to the format of this version of driftwise. It cannot be undone: copy the store first."""
    from driftwise.service.store.schema import FORMAT

    with opened(store, "rehearse" if dry_run else "commit") as journal:
        done = journal.migration
        if done is not None and not dry_run:
            journal.compact()
    if done is None:
        click.echo(f"the store has format {FORMAT}: there is nothing to do")
        return
    result = "can be upgraded" if dry_run else "was upgraded"
    click.echo(f"the store {result} from format {done.before} to {done.after}: {counted(done.n_events, 'event')}")


@contextmanager
def opened(
    store: str, migration: "MigrationMode | None" = None, *, create: bool = False, instead: str = ""
) -> Iterator["SQLUpkeep"]:
    """A store that no other process uses; one that is missing is refused, unless it may be created.

    `instead` is what can be done while a service uses the store.
    """
    with needed_for("the service"):
        from driftwise.service.store.journal import InUseError, open_journal

    try:
        journal = open_journal(store, migration=migration, create=create)
    except InUseError as error:
        raise InUseError(f"{error}; stop the service{instead and f', or {instead}'}") from None
    try:
        yield journal
    finally:
        journal.close()
