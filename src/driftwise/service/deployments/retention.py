"""Retention: a snapshot becomes the origin of replays, and events before it are dropped, or archived and dropped.

A running deployment is cut at a snapshot that is there already, the newest that keeps enough; so up to four times as
many events may be kept as asked for. Offline, a state is folded where the cut shall be.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from driftwise.service.deployments import archive, shadows
from driftwise.service.deployments.catalogue import DeploymentEntry
from driftwise.service.deployments.clock import SECOND_US
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.fold import fold, restore
from driftwise.service.http.schemas.requests import DeploymentSpec, RetentionSpec
from driftwise.service.store.journal import Journal, Origin, Snapshot

if TYPE_CHECKING:
    from driftwise.service.deployments.engine import Engine


class CutLimits(NamedTuple):
    """What may be dropped: events up to `number` that are not after the time `at`."""

    number: int
    at: int


def limits(spec: DeploymentSpec, retention: RetentionSpec, last: int, back: Callable[[int], int]) -> CutLimits:
    """What a retention lets go. `back(duration)` is the time so long ago; the reward window is kept in any case."""
    number = last if retention.events is None else last - retention.events
    seconds = max(retention.seconds or 0.0, spec.reward_window or 0.0)
    return CutLimits(number, back(int(SECOND_US * seconds)))


async def cut(engine: "Engine", name: str) -> Origin | None:
    """Let replays of a deployment begin at the newest snapshot that its retention allows; None where there is none."""
    entry, live = await engine.live(name)
    retention, leaps = live.spec.retention, engine.catalogue.leaps
    if retention is None:
        return None
    now, since = live.time(engine.clock()), live.policy_since
    bounds = limits(live.spec, retention, live.number - 1, lambda duration: leaps.back(now, duration))
    origin = await engine.read_in_thread(entry, _find_cut, engine.journal, entry, since, bounds)
    if origin is not None:
        if retention.archive:
            if engine.archive is None:  # the service was started without it: nothing may be dropped
                return None
            await engine.read_in_thread(entry, write_archive, engine.journal, entry, origin, engine.archive)
        if not await shadows.saved_after(engine, entry, origin):
            return None  # they have not been fed what is to be dropped: the next run tries again
        async with engine.exclusive(name) as (entry, live):
            if not await _still_fits(engine, origin, live, since):
                return None
            await engine.do_chore(partial(engine.journal.rebase, origin))
    return origin


async def _still_fits(engine: "Engine", origin: Origin, live: Deployment, since: int) -> bool:
    """Whether the policy is still the same, and no later origin was set meanwhile."""
    now = await engine.query(engine.journal.origin, origin.stream)
    return live.policy_since == since and (now is None or now.number < origin.number)


def _find_cut(journal: Journal, entry: DeploymentEntry, since: int, bounds: CutLimits) -> Origin | None:
    """The newest snapshot that may be the origin: usable by this code, and of the policy in force `since` an event.

    One from before that event is of another policy, or of the same with another past: no replay reaches its state.
    """
    origin = journal.origin(entry.stream)
    oldest = -1 if origin is None else origin.number
    for number in sorted(journal.snapshot_numbers(entry.stream), reverse=True):
        if not oldest < number <= bounds.number:
            continue
        snapshot = journal.latest(entry.stream, number)
        if snapshot is None or snapshot.number != number:
            continue
        (event,) = journal.read(entry.stream, number - 1, number)
        then = restore(snapshot) if event.at <= bounds.at else None
        if then is not None and then.policy_since == since:
            return _origin_at(journal, snapshot)
    return None


def _origin_at(journal: Journal, snapshot: Snapshot) -> Origin:
    """The origin that a snapshot becomes: all events that it has seen may go."""
    stream, number, body = snapshot
    link = journal.link_at(stream, number)
    return Origin(stream, number, number + 1, link, link, body)


def write_archive(journal: Journal, entry: DeploymentEntry, origin: Origin, folder: Path) -> Path | None:
    """Archive the events that are to be dropped; None where there are none."""
    before = journal.origin(entry.stream)
    first = 0 if before is None else before.first
    if first >= origin.first:
        return None
    events = journal.read(entry.stream, first - 1, origin.first - 1)
    return archive.write_events(folder, entry.initial.name, entry.stream, first, events)


# ---- offline ----


def cut_offline(journal: Journal, entry: DeploymentEntry, retention: RetentionSpec | None, now: int) -> Origin | None:
    """The origin at exactly the event that a retention allows, that of the deployment by default; None for none."""
    live = fold(journal, entry.stream, entry.initial)
    retention = retention or live.spec.retention
    if retention is None:
        return None
    last, moment = live.number - 1, max(now, live.at)
    bounds = limits(live.spec, retention, last, lambda duration: moment - duration)
    saved = shadows.saved_upto(journal, entry.stream)
    numbers = [saved[name] for name in live.spec.shadows if name in saved]
    bounds = CutLimits(min([bounds.number, *numbers]), bounds.at)  # what shadows were not fed must stay
    before = journal.origin(entry.stream)
    number = -1 if before is None else before.number
    start = number
    for event in journal.read(entry.stream, number, bounds.number):
        if event.at > bounds.at:
            break
        number = event.number
    if number <= start:
        return None
    then: Deployment = fold(journal, entry.stream, entry.initial, upto=number)
    return _origin_at(journal, then.snapshot()) if then.policy_since == live.policy_since else None


def as_retention(events: int | None, seconds: float | None) -> RetentionSpec | None:
    """A retention from the command line; None where neither is given."""
    if events is None and seconds is None:
        return None
    return RetentionSpec(events, seconds)
