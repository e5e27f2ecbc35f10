"""Feed the shadows of deployments in the background, from what is committed.

Decisions never wait for them. One task goes through the deployments that have shadows and hands each some events of
the journal, for a millisecond at a time and at most half of the time; so they lag behind under load, and catch up.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from driftwise.errors import DriftwiseError
from driftwise.service.deployments.fold import NOT_DAMAGE
from driftwise.service.deployments.shadow import Shadow
from driftwise.service.deployments.shadows import Shadows, load, save
from driftwise.service.store.journal import DamagedError, Event, Journal

if TYPE_CHECKING:
    from driftwise.service.deployments.catalogue import DeploymentEntry
    from driftwise.service.deployments.engine import Engine

PAGE = 256  # events read at a time
SLICE_S = 0.001  # how long shadows are fed before others have their turn
SCAN_S = 1.0  # between two looks for new events, where there were none
SAVE_EVERY = 10_000  # events fed to shadows
IDLE_US = 10 * 1_000_000  # the shadows of a deployment without requests are saved after this
log = logging.getLogger("driftwise.service")


async def follow(engine: "Engine") -> None:
    """Feed all shadows, for ever."""
    try:
        while True:
            scan_at = time.monotonic() + SCAN_S
            busy = [each for each in list(engine.catalogue.entries.values()) if _has_shadows(each)]
            while busy and time.monotonic() < scan_at:
                busy = [entry for entry in busy if await _follow_one(engine, entry)]
            await asyncio.sleep(0.0 if busy else SCAN_S)
    finally:
        for entry in list(engine.catalogue.entries.values()):
            if entry.shadows is not None:
                await save(engine, entry)


def _has_shadows(entry: "DeploymentEntry") -> bool:
    live = entry.live
    return live is not None and entry.damage is None and bool(live.spec.shadows or entry.shadows is not None)


async def _follow_one(engine: "Engine", entry: "DeploymentEntry") -> bool:
    """Feed the shadows of one deployment some events; returns whether there may be more."""
    try:
        shadows = await match(engine, entry)
        if shadows is None or await feed(engine, entry, shadows):
            return shadows is not None
        if entry.touched + IDLE_US < engine.clock():
            await save(engine, entry)
    except DamagedError as error:
        engine.damaged(entry, error)
    except DriftwiseError as error:  # the store fails: the next look tries again
        log.debug("shadows are not fed", extra={"facts": {"deployment": entry.initial.name, "why": str(error)}})
    except Exception:
        log.exception("shadows are not fed", extra={"facts": {"deployment": entry.initial.name}})
        entry.shadows = None
    return False


async def match(engine: "Engine", entry: "DeploymentEntry") -> Shadows | None:
    """The shadows that the specification names, loaded; None where the deployment is not."""
    live = entry.live
    if live is None:
        return None
    shadows, spec = entry.shadows, live.spec
    if shadows is None:
        shadows = await asyncio.to_thread(load, engine.journal, entry.stream, entry.initial, spec, spec.shadows)
        if entry.live is None or entry.shadows is not None:
            return entry.shadows
        entry.shadows = shadows
    stale = [
        name
        for name, each in shadows.members.items()
        if name not in spec.shadows or each.deployment.spec.propensity_samples != spec.propensity_samples
    ]
    for name in [*stale, *(shadows.lost.keys() - {*spec.shadows})]:
        shadows.members.pop(name, None)
        shadows.lost.pop(name, None)
        shadows.unsaved += 1
    missing = [name for name in spec.shadows if name not in shadows.names]
    if missing:
        more = await asyncio.to_thread(load, engine.journal, entry.stream, entry.initial, spec, missing)
        shadows.members = more.members | shadows.members
        shadows.lost = more.lost | shadows.lost
    return shadows


async def feed(engine: "Engine", entry: "DeploymentEntry", shadows: Shadows) -> bool:
    """Feed a page of events to each shadow, slice by slice; returns whether there may be more."""
    live, fed = entry.live, False
    for shadow in list(shadows.members.values()):
        if live is None or shadow.failure is not None or shadow.number >= live.number:
            continue
        events = await asyncio.to_thread(_page, engine.journal, entry.stream, shadow.number)
        position = 0
        while position < len(events) and entry.shadows is shadows and shadows.members.get(shadow.policy) is shadow:
            start = time.perf_counter()
            async with shadows.lock:
                if shadow.number != events[position].number or shadow.failure is not None:
                    fed = True  # somebody else has fed it
                    break
                position += await asyncio.to_thread(_feed_slice, shadow, events[position:])
            await asyncio.sleep(time.perf_counter() - start)
        shadows.unsaved += position
        fed |= position > 0
    if shadows.unsaved >= SAVE_EVERY:
        await save(engine, entry)
    return fed


def _page(journal: Journal, stream: int, number: int) -> list[Event]:
    return list(islice(journal.read(stream, number - 1, number + PAGE - 1), PAGE))


def _feed_slice(shadow: Shadow, events: Sequence[Event]) -> int:
    """Feed events until the time is over; returns how many. An event that it cannot take ends a shadow."""
    end = time.perf_counter() + SLICE_S
    for count, event in enumerate(events, 1):
        apply(shadow, event)
        if shadow.failure is not None or time.perf_counter() > end:
            return count
    return len(events)


def apply(shadow: Shadow, event: Event) -> None:
    """Feed one event; one that the policy cannot take ends the shadow, and nothing else."""
    try:
        shadow.apply(event)
    except NOT_DAMAGE:
        raise
    except Exception as error:
        shadow.failure = f"event {event.number} cannot be replayed into it: {str(error).strip()[:200]}"


async def catch_up(engine: "Engine", entry: "DeploymentEntry", policy: str | None = None) -> Shadows | None:
    """Feed all that is committed now to all shadows, or to one; None where the deployment is not loaded."""
    shadows, live = await match(engine, entry), entry.live
    if shadows is None or live is None:
        return None
    upto = live.number
    while any(
        each.number < upto and each.failure is None
        for each in shadows.members.values()
        if policy is None or each.policy == policy
    ):
        if not await feed(engine, entry, shadows):
            break
    return shadows


async def erase_unit(engine: "Engine", entry: "DeploymentEntry", unit: str, pseudonym: str, *, latest: bool) -> None:
    """Replace the name of a unit in all shadows, fed all that is committed; with `latest`, drop the last request."""
    shadows = await catch_up(engine, entry)
    for shadow in [] if shadows is None else shadows.members.values():
        units = shadow.deployment.units
        shadow.deployment.units = OrderedDict((pseudonym if name == unit else name, units[name]) for name in units)
        if latest:
            shadow.deployment.request = {}
    if shadows is not None:
        shadows.unsaved += 1
        await save(engine, entry)
