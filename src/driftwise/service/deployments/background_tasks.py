"""Background tasks of an engine: at its start compile kernels and check a sample; later defaults, snapshots, clock."""

import asyncio
import logging
import random
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from driftwise.core.family import player_of
from driftwise.core.pinned import kinds
from driftwise.core.spec import parse
from driftwise.errors import DriftwiseError
from driftwise.families import POLICIES
from driftwise.service.deployments.catalogue import RETIRED, DeploymentEntry
from driftwise.service.deployments.check import check_sample
from driftwise.service.deployments.loading import START, fold_beside
from driftwise.service.deployments.readiness import ANSWER_S, READ, TRIAL, WRITTEN, Ready
from driftwise.service.deployments.retention import cut
from driftwise.service.deployments.shadow_feed import follow
from driftwise.service.deployments.shadows import stream_of
from driftwise.service.deployments.spec import policy_of
from driftwise.service.http.errors import Damaged, NotFound, NotOwner, Replaying, Unavailable
from driftwise.service.store.events import ApiKeyUsed, ClockSet
from driftwise.service.store.writer import Chore

if TYPE_CHECKING:
    from driftwise.service.deployments.engine import Engine

IDLE_US = 10 * 1_000_000  # a deployment without requests is saved after this
DAY_US = 24 * 3600 * 1_000_000
SWEEP_S = 1.0
TEND_S = 10.0  # between two looks at what can be dropped
FIRST = 1  # the stream of the first deployment
MAX_SAMPLED = 1000  # deployments checked at the start
FAILED = "a background task failed"
log = logging.getLogger("driftwise.service")


def _owned(engine: "Engine") -> list[tuple[str, DeploymentEntry]]:
    """The deployments that this process owns, by name."""
    return [(name, entry) for name, entry in engine.catalogue.entries.items() if engine.owns(entry.stream)]


def log_failure(task: "asyncio.Task[None]") -> None:
    """Log the failure of a task that nobody waits for."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error(FAILED, exc_info=error)


def ignore_failure(task: "asyncio.Task[None]") -> None:
    """Do not log the failure of a task: who waits for it reports it."""
    if not task.cancelled():
        task.exception()


async def warm(engine: "Engine") -> None:
    """Fold one deployment of each kind, then be ready; then fold those with reward windows that may have passed.

    Deployments of a kind need the same kernels: they have the same policy in force and the same form of requests.
    """
    kinds, later = set(), []
    for name, entry in list(engine.catalogue.entries.items()):
        if entry.status == RETIRED:
            continue
        kind = _kind(entry)
        if kind not in kinds:
            kinds.add(kind)
            await _try_fold(engine, name)
        elif entry.initial.reward_window is not None:
            later.append(name)
    engine.readiness.warm = True
    for name in later:
        await _try_fold(engine, name)
    await check_sample_of_each(engine)


async def check_sample_of_each(engine: "Engine") -> None:
    """Read some events of each deployment, of the newest and of older ones: damage shall not wait to be met."""
    luck = random.Random()
    entries = [entry for _, entry in _owned(engine) if entry.status != RETIRED]
    n_events = 0
    for entry in luck.sample(entries, min(MAX_SAMPLED, len(entries))):
        with suppress(DriftwiseError):  # it is logged, and readiness names it
            n_events += await engine.read_in_thread(entry, check_sample, engine.journal, entry.stream, luck)
    facts = {"n_events": n_events, "damaged": engine.damaged_names}
    log.info("a sample of the store was checked", extra={"facts": facts})
    engine.readiness.sampled = True


async def _try_fold(engine: "Engine", name: str) -> None:
    with suppress(DriftwiseError):  # requests for this deployment will report it
        try:
            await engine.live(name)
        except NotOwner:  # only the kernels are needed, in case this process becomes the owner
            await fold_beside(engine, engine.entry(name), START)


def _kind(entry: DeploymentEntry) -> tuple[Any, ...]:
    """What the kernels of a deployment depend on: the family, the policy and those nested in it, and the options."""
    spec = entry.initial
    options = (name for name, value in msgspec.to_builtins(spec.problem).items() if value is not None)
    try:
        same = entry.policy == spec.policy
        policy = policy_of(spec) if same else player_of(parse(entry.policy, POLICIES, "policy"), spec.problem)
    except DriftwiseError:  # requests for this deployment will report it
        return spec.problem.kind, entry.policy, *options
    return spec.problem.kind, *kinds([policy]), *options


async def run_periodically(engine: "Engine") -> None:
    """Run periodic work every second, for ever."""
    while True:
        await asyncio.sleep(SWEEP_S)
        try:
            await run_once(engine)
        except Exception:
            log.exception(FAILED)


async def tend_store(engine: "Engine") -> None:
    """Drop what need not be kept, for ever: a little at a time, so that requests go on."""
    while True:
        try:
            await tend_once(engine)
        except Unavailable:
            pass  # the next run tries again
        except Exception:
            log.exception(FAILED)
        await asyncio.sleep(TEND_S)


async def tend_once(engine: "Engine") -> None:
    """Drop old answers, deployments that were deleted, and events that no retention asks for; give pages back."""
    before = engine.oldest_answer(engine.clock())
    chores: list[Chore] = []
    if engine.owns(FIRST):  # of several processes one drops answers
        chores.append(partial(engine.journal.forget_answers, before))
    for stream in filter(engine.owns, engine.catalogue.deleted - engine.dropped):
        chores += [partial(engine.journal.drop, each) for each in (stream, stream_of(stream))]
        engine.dropped.add(stream)
    for name, entry in _owned(engine):
        if entry.keeps is not None and entry.status != RETIRED and entry.damage is None:
            with suppress(NotFound, NotOwner, Damaged, Replaying):  # requests will report it, or the next run succeeds
                async with entry.history:
                    await cut(engine, name)
                chores.append(partial(engine.journal.trim, entry.stream))
    for chore in [*chores, engine.journal.release]:
        while await engine.do_chore(chore):
            await asyncio.sleep(0)


async def run_once(engine: "Engine") -> None:
    """Try a store that failed; record defaults, save idle deployments, accept a clock that was set for good."""
    if engine.readiness.problems:
        await try_store(engine)
    now = engine.clock()
    for _, entry in _owned(engine):
        if entry.live is None or entry.busy is not None:
            continue
        try:
            if entry.live.spec.reward_window is not None and (new_events := engine.defaults(entry.live, now)):
                engine.write(entry, new_events)
        except Exception:
            log.exception("a default was not recorded", extra={"facts": {"deployment": entry.initial.name}})
            entry.discard("defaults may be recorded in memory only")
            continue
        if entry.unsaved and entry.touched + IDLE_US < now:
            engine.save(entry)
            await asyncio.sleep(0)
    with suppress(Unavailable):  # the next run tries again
        if engine.clock.lasting_leap() is not None:
            await _accept_clock(engine)
        await record_uses(engine, now)


async def record_uses(engine: "Engine", now: int) -> None:
    """Record when API keys were last used, at most once a day for each."""
    keys = engine.catalogue
    stale = [id for id, at in keys.key_uses.items() if id in keys.keys and at - keys.key_used_at.get(id, 0) > DAY_US]
    for id in stale:
        async with engine.catalogue_lock:
            event = engine.catalogue.event(ApiKeyUsed(id), now)
            await engine.commit([event])
            engine.catalogue.apply(event)


async def check_ready(engine: "Engine") -> Ready:
    """Whether requests are served. Without a recent write the store is tried first, for a short time."""
    readiness = engine.readiness
    reason = readiness.reason
    if reason is None and readiness.idle:
        if readiness.trying is None or readiness.trying.done():
            readiness.trying = engine.start_task(try_store(engine))
        answers, _ = await asyncio.wait([readiness.trying], timeout=ANSWER_S)
        reason = readiness.reason if answers else f"the store has not answered for {ANSWER_S:g} seconds"
    return Ready(reason is None, reason, engine.damaged_names)


async def try_store(engine: "Engine") -> None:
    """Write a trial that belongs to no deployment and read it back; `readiness` records whether that works."""
    with suppress(Unavailable):
        await engine.commit(snapshots=[engine.readiness.trial()])
        engine.readiness.worked(WRITTEN)
        await engine.query(engine.journal.latest, TRIAL)
        engine.readiness.worked(READ)


async def _accept_clock(engine: "Engine") -> None:
    """Follow a clock that has leapt and stayed there; the catalogue records that the skipped time did not pass."""
    async with engine.catalogue_lock:
        leap = engine.clock.lasting_leap()
        if leap is None:
            return
        event = engine.catalogue.event(ClockSet(*leap), leap[1])
        await engine.commit([event])
        engine.catalogue.apply(event)
        before = engine.clock()
        engine.clock.accept_leap()
        after = engine.clock()
        for entry in engine.catalogue.entries.values():
            if entry.live is not None:
                entry.live.go_on_from(entry.live.time(before), after)


TASKS = (warm, run_periodically, tend_store, follow)  # that an engine starts with
