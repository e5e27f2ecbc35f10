"""Repair a store: damaged events are set aside, and each deployment goes on from its last good point.

In this order, whatever loses least:

1. A backup that has the damaged events: they are copied from it, and nothing is lost.
2. A snapshot newer than the damage: it becomes the origin of replays. No decision and no outcome is lost to the
   policy, but the damaged events are missing from the log. A policy that is newer than the snapshot begins there.
3. The event before the damage: the deployment goes on from there. What came after is set aside, and lost to the policy.

Of a malformed SQLite file all rows that can be read are copied to a new one first (`salvage`).

Where an origin is sound, but of a state that this code cannot restore, nothing is damaged: `begin_anew` is for that.

A gap in the journal says which numbers are not used again. Events set aside stay in the table `quarantine`.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from driftwise.display.text import counted
from driftwise.errors import ParameterError
from driftwise.service.deployments.catalogue import read_catalogue
from driftwise.service.deployments.check import (
    THE_CATALOGUE,
    StreamReport,
    check_stream,
    damaged_snapshots,
    deployments_of,
    file_problems,
)
from driftwise.service.deployments.fold import begin, fold, last_policy, restore, spec_of
from driftwise.service.deployments.spec import POLICY
from driftwise.service.store import chain
from driftwise.service.store.events import CHANGED, JournalGap, body_of, encode
from driftwise.service.store.journal import CATALOGUE, DamagedError, Event, JournalError, Origin, Snapshot
from driftwise.service.store.upkeep import SQLUpkeep

LAST = 2**62


class MalformedError(JournalError):
    """The tables of a database are malformed, so that only salvage helps."""


def repair_store(journal: SQLUpkeep, backup: SQLUpkeep | None, *, dry_run: bool) -> Iterator[str]:
    """Repair what is damaged; a line of text for each thing done, or to be done with `dry_run`."""
    if problems := file_problems(journal):
        if dry_run:
            yield f"the store: its indexes would be made anew, or all that can be read copied ({problems[0]})"
            return
        with suppress(JournalError):  # an index cannot be made anew from a malformed table
            journal.rebuild_indexes()
        if problems := file_problems(journal):
            raise MalformedError(f"{journal.path} is malformed: {problems[0]}")
        yield "the store: its indexes were made anew"
    if n_answers := journal.damaged_answers():
        yield f"the store: {n_answers} damaged answers are kept: those requests are refused until the answers expire"
    report = check_stream(journal, CATALOGUE, THE_CATALOGUE)
    if report.problems:
        yield from _repair_stream(journal, backup, report, dry_run)
    for name, stream in deployments_of(journal):
        report = check_stream(journal, stream, name)
        if report.problems:
            yield from _repair_stream(journal, backup, report, dry_run)


def begin_anew(journal: SQLUpkeep, name: str, now: int, *, dry_run: bool) -> str:
    """Let the policy of a deployment begin anew at its origin, whose state cannot be restored; says what was done.

    It is a change to the same policy, as one with `allow_partial_replay`: it learns from the events that are kept.
    """
    catalogue = read_catalogue(journal)
    if name not in catalogue.entries:
        raise ParameterError(f"there is no deployment {name!r} in this store: there are {', '.join(catalogue.entries)}")
    entry = catalogue.entries[name]
    origin = journal.origin(entry.stream)
    if origin is None:
        raise ParameterError(f"deployment {name} has all its events: a replay needs no state that was stored")
    policy = _policy_at(journal, origin)
    if policy is None:
        raise ParameterError(f"deployment {name} can be restored: nothing has to begin anew")
    live = fold(journal, entry.stream, entry.initial, cached=False, policy=policy)
    kept = live.number - 1 - origin.number
    if not dry_run:
        event = live.change(policy, now, policy=True, partial=True)
        journal.append([event], snapshots=[live.snapshot()])
    would = "would begin" if dry_run else "begins"
    learned = counted(kept, "event")
    return f"{name}: its policy {would} anew after event {origin.number}, and learns from the {learned} after it"


def _policy_at(journal: SQLUpkeep, origin: Origin) -> dict[str, Any] | None:
    """The policy of an origin that cannot be restored, as the fields of a change; None where nothing is wrong."""
    if last_policy(journal, origin.stream, origin.number):
        return None
    try:
        begin(origin)
    except DamagedError:
        plain = msgspec.to_builtins(spec_of(origin))
        return {field: plain[field] for field in POLICY}
    return None


def _repair_stream(journal: SQLUpkeep, backup: SQLUpkeep | None, report: StreamReport, dry_run: bool) -> Iterator[str]:
    """Mend one thing after another, until nothing is wrong with the stream."""
    before: list[str] = []
    while report.problems:
        if report.problems == before:
            yield f"{report.name}: it cannot be repaired ({report.problems[0]}) and stays quarantined"
            return
        before = report.problems
        done = _repair(journal, backup, report, dry_run)
        yield f"{report.name}: {report.problems[0]}: {done}"
        if dry_run:
            return
        report = check_stream(journal, report.stream, report.name)


def _repair(journal: SQLUpkeep, backup: SQLUpkeep | None, report: StreamReport, dry_run: bool) -> str:
    """Mend the first thing that is wrong; says what was done."""
    stream, first = report.stream, report.event
    would = "would be " if dry_run else ""
    if bad := damaged_snapshots(journal, stream):
        if not dry_run:
            journal.drop_snapshots(stream, bad)
        return f"{counted(len(bad), 'snapshot')} {would}dropped; snapshots are a cache"
    if journal.head(stream) is None and first is not None and first == _end(journal, stream):
        if not dry_run:
            journal.reset_head(stream)
        return f"the record {would}written anew"
    if backup is not None and first is not None and (rows := _rows_of(journal, backup, stream, first)):
        last = rows[-1][0].number
        if not dry_run:
            journal.replace(stream, first, last, rows)
        return f"events {first} to {last} {would}restored from the backup"
    if stream == CATALOGUE:
        raise ParameterError(f"{THE_CATALOGUE} is damaged ({report.problems[0]}): repair it with --from BACKUP")
    return _go_on(journal, stream, first, dry_run)


def _go_on(journal: SQLUpkeep, stream: int, first: int | None, dry_run: bool) -> str:
    """Go on from the newest snapshot, if all that follows it is sound; else from the event before the damage."""
    snapshot, would = _good_snapshot(journal, stream, first), "would be " if dry_run else ""
    if snapshot is not None:
        change = _policy_change(journal, snapshot)
        if not dry_run:
            _begin_at(journal, snapshot, first)
        loss = (
            "nothing is lost to the policy" if change is None else f"the policy since event {change} begins anew there"
        )
        return f"the snapshot after event {snapshot.number} {would}its origin; {loss}"
    if first is None:
        return "there is no snapshot to go on from"
    last = _last_known(journal, stream, first)
    if not dry_run:
        _leave_gap(journal, stream, first, last, LAST)
        journal.reset_head(stream)
    return f"events {first} to {last} {would}set aside; it goes on from event {first - 1}"


def _good_snapshot(journal: SQLUpkeep, stream: int, first: int | None) -> Snapshot | None:
    """The newest snapshot that this code can use, newer than the damage, if all events after it are sound."""
    snapshot = journal.latest(stream)
    if snapshot is None or (first is not None and snapshot.number < first) or restore(snapshot) is None:
        return None
    link = _link_of(journal, snapshot)
    for event, found in journal.rows(stream, snapshot.number):
        if link is None or chain.link(link, event) != found:
            return None
        link = found
    return snapshot if link is not None else None


def _policy_change(journal: SQLUpkeep, snapshot: Snapshot) -> int | None:
    """The last event after a snapshot that made the policy another one."""
    changes = (event for event, _ in journal.rows(snapshot.stream, snapshot.number) if event.kind == CHANGED)
    return max((event.number for event in changes if body_of(event).policy), default=None)


def _link_of(journal: SQLUpkeep, snapshot: Snapshot) -> int | None:
    """The link of the last event of a snapshot: of the event, or on record."""
    for event, link in journal.rows(snapshot.stream, snapshot.number - 1):
        if event.number == snapshot.number:
            return link
        break
    head = journal.head(snapshot.stream)
    return head[1] if head is not None and head[0] == snapshot.number else None


def _begin_at(journal: SQLUpkeep, snapshot: Snapshot, first: int | None) -> None:
    """Make a snapshot the origin. Sound events before the damage stay as history."""
    stream, number, link = snapshot.stream, snapshot.number, _link_of(journal, snapshot)
    assert link is not None
    try:
        origin = journal.origin(stream)
        start = (0, chain.START) if origin is None else (origin.first, origin.before)
    except DamagedError:
        start = number + 1, link
    journal.rebase(Origin(stream, number, *start, link, snapshot.body))
    if first is not None and first <= number and start[0] <= number:
        _leave_gap(journal, stream, first, number, number)


def _leave_gap(journal: SQLUpkeep, stream: int, first: int, upto: int, last: int) -> None:
    """Set events from `first` to `last` aside; the next one is that after `upto`."""
    at = next((event.at for event in journal.read(stream, first - 2, first - 1)), 0)
    gap = Event(stream, first, at, "gap", encode(JournalGap(upto)))
    journal.replace(stream, first, last, [(gap, chain.link(journal.link_at(stream, first - 1), gap))])


def _end(journal: SQLUpkeep, stream: int) -> int:
    """The number after the last event."""
    return max((event.number for event, _ in journal.rows(stream)), default=-1) + 1


def _last_known(journal: SQLUpkeep, stream: int, first: int) -> int:
    """The last number that was used, by all that is sound: no id may be given out twice."""
    last, before = first, None
    for event, link in journal.rows(stream, first - 1):
        if before is not None and event.number == before[0].number + 1 and chain.link(before[1], event) == link:
            last = event.number
        before = event, link
    head = journal.head(stream)
    return last if head is None else max(last, head[0])


def _rows_of(journal: SQLUpkeep, backup: SQLUpkeep, stream: int, first: int) -> list[tuple[Event, int]]:
    """The events of a backup from `first` on, if it has the same events before; checked by reading them."""
    try:
        if first and backup.link_at(stream, first - 1) != journal.link_at(stream, first - 1):
            return []
        sound = [event.number for event in backup.read(stream, first - 1)]
    except DamagedError:
        return []
    return list(backup.rows(stream, first - 1))[: len(sound)]
