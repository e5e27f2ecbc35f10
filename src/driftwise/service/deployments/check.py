"""Check a store: every event, snapshot and answer by its hash, and what the database says of its file.

`check_store` reads everything. `check_sample` reads a part, for the start of a service: the newest events of every
deployment, and a stretch of older ones that differs from start to start.
"""

import random
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from driftwise.display.text import agree, counted
from driftwise.service.deployments.catalogue import Catalogue, DeploymentEntry, read_catalogue
from driftwise.service.deployments.fold import fold, is_usable
from driftwise.service.deployments.replay_progress import OnReplayed
from driftwise.service.store.events import body_of
from driftwise.service.store.journal import CATALOGUE, DamagedError, Journal
from driftwise.service.store.upkeep import SQLUpkeep

SAMPLE = 500  # events read of the end of a stream, and of its middle
THE_CATALOGUE = "the catalogue"


class StreamReport(NamedTuple):
    """What was found in a stream: how many events it has, what is wrong, and the first damaged event if it is known."""

    name: str
    stream: int
    n_events: int
    n_quarantined: int
    problems: list[str]
    event: int | None

    @property
    def line(self) -> str:
        """The report as a line of text."""
        aside = f", {self.n_quarantined} set aside" if self.n_quarantined else ""
        return f"{self.name}: {counted(self.n_events, 'event')}{aside}: {'; '.join(self.problems) or 'sound'}"


def check_store(journal: SQLUpkeep) -> Iterator[StreamReport]:
    """A report on the store itself, on the catalogue and on every deployment."""
    problems = [f"the database reports: {line}" for line in file_problems(journal)]
    try:
        n_answers = journal.damaged_answers()
    except DamagedError as error:
        problems.append(f"answers to repeated requests cannot be read: {error}")
    else:
        are = agree(n_answers, "is", "are")
        problems += [f"{counted(n_answers, 'answer')} to repeated requests {are} damaged"] if n_answers else []
    if problems:
        yield StreamReport("the store", CATALOGUE, 0, 0, problems, None)
    yield check_stream(journal, CATALOGUE, THE_CATALOGUE)
    for name, stream in deployments_of(journal):
        yield check_stream(journal, stream, name)


def file_problems(journal: SQLUpkeep) -> list[str]:
    """What the database finds wrong with its file."""
    try:
        return journal.check_file()
    except DamagedError as error:
        return [str(error)]


def deployments_of(journal: Journal) -> list[tuple[str, int]]:
    """Names and streams of all deployments; of none where the catalogue is damaged."""
    try:
        catalogue: Catalogue = read_catalogue(journal)
    except DamagedError:
        return []
    return [(name, entry.stream) for name, entry in catalogue.entries.items()]


def check_stream(journal: SQLUpkeep, stream: int, name: str) -> StreamReport:
    """Read all events and snapshots of a stream."""
    problems: list[str] = []
    count, event = 0, None
    try:
        for each in journal.read(stream):
            body_of(each)
            count += 1
        journal.origin(stream)
    except DamagedError as error:
        problems, event = [str(error)], error.event
    try:
        bad = damaged_snapshots(journal, stream)
        last = journal.last(stream) if bad else 0
        problems += [
            f"the snapshot of event {number} is {'damaged' if number <= last else f'ahead of the last event, {last}'}"
            for number in bad
        ]
        n_quarantined = journal.n_quarantined(stream)
    except DamagedError as error:
        return StreamReport(name, stream, count, 0, [*problems, f"its snapshots cannot be read: {error}"], event)
    return StreamReport(name, stream, count, n_quarantined, problems, event)


def verify_stream(journal: Journal, entry: DeploymentEntry, progress: OnReplayed) -> StreamReport:
    """Replay a deployment from its origin, and compare with its newest snapshot, bit for bit."""
    stream, name = entry.stream, entry.initial.name
    snapshot = journal.latest(stream)
    if snapshot is None:
        return StreamReport(name, stream, journal.last(stream) + 1, 0, ["it has no snapshot to compare with"], None)
    if not is_usable(snapshot):
        return StreamReport(name, stream, snapshot.number + 1, 0, ["its newest snapshot was made by other code"], None)
    try:
        then = fold(journal, stream, entry.initial, upto=snapshot.number, cached=False, progress=progress)
    except DamagedError as error:
        return StreamReport(name, stream, snapshot.number + 1, 0, [str(error)], error.event)
    same = then.snapshot() == snapshot
    return StreamReport(name, stream, then.number, 0, [] if same else ["a replay leads to another state"], None)


def damaged_snapshots(journal: SQLUpkeep, stream: int) -> list[int]:
    """The numbers of snapshots that do not fit their hashes, or are ahead of the events."""
    damaged = []
    for number in journal.snapshot_numbers(stream):
        found = journal.latest(stream, number)
        if found is None or found.number != number:
            damaged.append(number)
    return damaged


def check_sample(journal: Journal, stream: int, luck: random.Random) -> int:
    """Read the last events of a stream, and a stretch from its middle; returns how many."""
    origin = journal.origin(stream)
    first = 0 if origin is None else origin.first
    last = journal.last(stream)
    count = sum(1 for _ in journal.read(stream, max(first - 1, last - SAMPLE)))
    if last - first > SAMPLE:
        start = luck.randrange(first, last - SAMPLE + 1)
        count += sum(1 for _ in islice(journal.read(stream, start - 1, start + SAMPLE - 1), SAMPLE))
    return count
