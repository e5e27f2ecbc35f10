"""The shadows of deployments, fed in the background from what is committed.

Decisions never wait for them. One task goes through the deployments that have shadows and hands each some events of
the journal, for a millisecond at a time and at most half of the time; so they lag behind under load, and catch up. What
they have reached is saved beside the snapshots of the deployment, in a stream of its own without events. It is a cache
of the fold, as snapshots are, unless events before it were dropped: then it is all there is.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from driftwise.core.fingerprint import code_tag
from driftwise.errors import DriftwiseError, ParameterError
from driftwise.service.deployments import spec as specs
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.fold import NOT_DAMAGE, begin, restore
from driftwise.service.deployments.shadow import SavedShadow, Shadow
from driftwise.service.http.schemas.requests import DeploymentSpec
from driftwise.service.http.schemas.responses import ShadowResponse
from driftwise.service.store.journal import DamagedError, Event, Journal, Origin, Snapshot

if TYPE_CHECKING:
    from driftwise.service.deployments.catalogue import DeploymentEntry
    from driftwise.service.deployments.engine import Engine

PAGE = 256  # events read at a time
SLICE_S = 0.001  # how long shadows are fed before others have their turn
SCAN_S = 1.0  # between two looks for new events, where there were none
SAVE_EVERY = 10_000  # events fed to shadows
IDLE_US = 10 * 1_000_000  # the shadows of a deployment without requests are saved after this
NO_LIMIT = 2**62
TEXTS: dict[str, object] = {"parameters": {}, "window": None}  # a shadow has all its parameters in its text
log = logging.getLogger("driftwise.service")


class Shadows:
    """The shadows of one deployment, by policy; `lock` is for whoever feeds or changes them."""

    def __init__(self) -> None:
        self.members: dict[str, Shadow] = {}
        self.lost: dict[str, str] = {}  # those that cannot be folded, and why
        self.unsaved = 0  # events fed since they were saved
        self.lock = asyncio.Lock()

    @property
    def names(self) -> set[str]:
        """The policies of all."""
        return {*self.members, *self.lost}

    def add(self, shadow: Shadow) -> None:
        """Add a shadow that is folded."""
        self.members[shadow.policy] = shadow
        self.unsaved += 1

    def lag(self, n_events: int) -> int:
        """How many of so many events the slowest has not been fed."""
        return max((n_events - each.number for each in self.members.values() if each.failure is None), default=0)


def stream_of(stream: int) -> int:
    """Where the shadows of a deployment are saved; -1 is for trials."""
    return -1 - stream


def shadow_spec(spec: DeploymentSpec, policy: str) -> DeploymentSpec:
    """The specification of a deployment with another policy, all of whose parameters are in its text."""
    return specs.with_changes(spec, {"policy": policy, **TEXTS})


# ---- load and save ----


def load(journal: Journal, stream: int, initial: DeploymentSpec, now: DeploymentSpec, names: Sequence[str]) -> Shadows:
    """Shadows from what was saved, or new ones, which are fed the journal from its first event on."""
    shadows, origin = Shadows(), journal.origin(stream)
    saved = {each.policy: each for each in _read(journal, stream)}
    for name in names:
        found = _restored(journal, stream, saved[name], origin, now) if name in saved else None
        if found is not None:
            shadows.members[name] = found
        elif origin is not None:
            shadows.lost[name] = f"the events up to {origin.number} were dropped, and cannot be fed to it"
        else:
            try:
                start = msgspec.structs.replace(initial, propensity_samples=now.propensity_samples)
                shadows.members[name] = Shadow(name, Deployment(stream, shadow_spec(start, name)))
            except ParameterError as error:  # another version of driftwise has no such policy
                shadows.lost[name] = str(error)
    return shadows


def _read(journal: Journal, stream: int) -> list[SavedShadow]:
    """What was saved; nothing where it cannot be read."""
    snapshot = journal.latest(stream_of(stream))
    try:
        return [] if snapshot is None else msgspec.msgpack.decode(snapshot.body, type=list[SavedShadow])
    except msgspec.DecodeError:  # of another version
        return []


def saved_upto(journal: Journal, stream: int, spec: DeploymentSpec) -> int:
    """The last event that all shadows of a deployment have saved; those after it must not be dropped."""
    saved = {each.policy: each.number for each in _read(journal, stream)}
    return min((saved.get(name, -1) for name in spec.shadows), default=NO_LIMIT)


async def saved_after(engine: "Engine", entry: "DeploymentEntry", origin: Origin) -> bool:
    """Whether all shadows have been fed the events up to an origin, and are saved since."""
    live = entry.live
    if live is None or not live.spec.shadows:
        return live is not None
    shadows = entry.shadows
    if shadows is None or not shadows.names.issuperset(live.spec.shadows):
        return False
    if any(each.number <= origin.number for each in shadows.members.values() if each.failure is None):
        return False
    await save(engine, entry)
    await engine.commit()
    return entry.shadows is shadows


def _restored(
    journal: Journal, stream: int, saved: SavedShadow, origin: Origin | None, now: DeploymentSpec
) -> Shadow | None:
    """A shadow that was saved; None where that is of no use. After an origin, that of other code is taken over."""
    first = 0 if origin is None else origin.first
    try:
        if saved.number < first - 1 or journal.link_at(stream, saved.number) != saved.link:
            return None
        usable = saved.tag == code_tag(Shadow)
        deployment = restore(Snapshot(stream, saved.number, saved.deployment)) if usable else None
        if deployment is None and origin is not None:
            deployment = begin(origin._replace(number=saved.number, body=saved.deployment))
    except DamagedError:
        return None
    if deployment is None or deployment.spec.propensity_samples != now.propensity_samples:
        return None
    return Shadow(saved.policy, deployment, saved.state)


async def save(engine: "Engine", entry: "DeploymentEntry") -> None:
    """Save how far the shadows of a deployment have come."""
    shadows, era = entry.shadows, engine.writer.era
    if shadows is None or not shadows.unsaved:
        return
    async with shadows.lock:
        able = [each for each in shadows.members.values() if each.failure is None and each.number]
        body = await asyncio.to_thread(_write, engine.journal, entry.stream, able)
        shadows.unsaved = 0
    engine.writer.submit(snapshots=[Snapshot(stream_of(entry.stream), 0, body)], era=era)


def _write(journal: Journal, stream: int, shadows: Sequence[Shadow]) -> bytes:
    return msgspec.msgpack.encode([each.freeze(journal.link_at(stream, each.number - 1))() for each in shadows])


# ---- feed ----


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
        done = 0
        while done < len(events) and entry.shadows is shadows and shadows.members.get(shadow.policy) is shadow:
            start = time.perf_counter()
            async with shadows.lock:
                if shadow.number != events[done].number or shadow.failure is not None:
                    fed = True  # somebody else has fed it
                    break
                done += await asyncio.to_thread(_feed_slice, shadow, events[done:])
            await asyncio.sleep(time.perf_counter() - start)
        shadows.unsaved += done
        fed |= done > 0
    if shadows.unsaved >= SAVE_EVERY:
        await save(engine, entry)
    return fed


def _page(journal: Journal, stream: int, number: int) -> list[Event]:
    return list(islice(journal.read(stream, number - 1, number + PAGE - 1), PAGE))


def _feed_slice(shadow: Shadow, events: Sequence[Event]) -> int:
    """Feed events until the time is over; returns how many. An event that it cannot take ends a shadow."""
    end = time.perf_counter() + SLICE_S
    for done, event in enumerate(events, 1):
        apply(shadow, event)
        if shadow.failure is not None or time.perf_counter() > end:
            return done
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


# ---- views ----


async def views(entry: "DeploymentEntry", live: Deployment) -> list[ShadowResponse]:
    """What is known of each shadow now."""
    shadows = entry.shadows
    if shadows is None:
        return [_unknown(name, "it is being loaded") for name in live.spec.shadows]
    async with shadows.lock:
        return [
            shadows.members[name].view(live.number)
            if name in shadows.members
            else _unknown(name, shadows.lost.get(name, "it is being loaded"))
            for name in live.spec.shadows
        ]


def _unknown(policy: str, why: str) -> ShadowResponse:
    return ShadowResponse(policy, None, 0, -1, 0, 0, None, why=why)
