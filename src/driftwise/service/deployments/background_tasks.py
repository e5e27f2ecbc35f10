"""What an engine does beside requests: warm what will be needed, record defaults, save, and look after its clock."""

import asyncio
import logging
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from driftwise.errors import DriftwiseError
from driftwise.service.deployments.catalogue import RETIRED, Entry
from driftwise.service.deployments.readiness import READ, TRIAL, WRITTEN
from driftwise.service.http.errors import Unavailable
from driftwise.service.store.events import ClockSet

if TYPE_CHECKING:
    from driftwise.service.deployments.engine import Engine

IDLE_US = 10 * 1_000_000  # a deployment at rest is saved after this
HOUR_US = 3600 * 1_000_000
SWEEP_S = 1.0
FAILED = "what is done beside requests failed"
log = logging.getLogger("driftwise.service")


def ended(task: "asyncio.Task[None]") -> None:
    """What nobody waited for is over; when it has failed, the log says so."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error(FAILED, exc_info=error)


async def warm(engine: "Engine") -> None:
    """Fold one deployment of each kind, then say ready; then those whose reward windows may have passed.

    Of a kind are those that need the same kernels: the same policy, in force now, asked in the same manner.
    """
    seen, later = set(), []
    for name, entry in list(engine.catalogue.entries.items()):
        if entry.status == RETIRED:
            continue
        kind = _kind(entry)
        if kind not in seen:
            seen.add(kind)
            await _try_fold(engine, name)
        elif entry.made.reward_window is not None:
            later.append(name)
    engine.readiness.warm = True
    for name in later:
        await _try_fold(engine, name)


async def _try_fold(engine: "Engine", name: str) -> None:
    with suppress(DriftwiseError):  # it will be told to whoever asks for this deployment
        await engine.live(name)


def _kind(entry: Entry) -> tuple[Any, ...]:
    """What the kernels of a deployment depend on: policies, one perhaps inside another, and what is shown and told."""
    made = entry.made
    said = (made.features, made.context, made.slate, made.budgets, made.domain, made.activate)
    inner = made.parameters.get("policy") if entry.policy == made.policy else None
    policies = tuple(re.findall(r"[a-z][a-z0-9-]+(?=$|[:,)])", entry.policy))
    return policies, inner, isinstance(made.arms, dict), *(each is not None for each in said)


async def tend_for_ever(engine: "Engine") -> None:
    """Look after an engine every second."""
    forgotten = engine.clock()
    while True:
        await asyncio.sleep(SWEEP_S)
        try:
            await tend(engine)
        except Exception:
            log.exception(FAILED)
        now = engine.clock()
        if now - forgotten > HOUR_US or engine.writer.forgetting:
            forgotten = now
            engine.writer.forget_answers(engine.oldest_answer(now))


async def tend(engine: "Engine") -> None:
    """Try a store that failed; record defaults, save what is at rest, believe a clock that was set for good."""
    if engine.readiness.problems:
        await try_store(engine)
    now = engine.clock()
    for entry in list(engine.catalogue.entries.values()):
        if entry.live is None or entry.busy is not None:
            continue
        try:
            if entry.live.settings.reward_window is not None and (happened := engine.defaults(entry.live, now)):
                engine.write(entry, happened)
        except Exception:
            log.exception("a default was not recorded", extra={"facts": {"deployment": entry.made.name}})
            entry.discard("defaults may be recorded in memory only")
            continue
        if entry.unsaved and entry.touched + IDLE_US < now:
            engine.save(entry)
            await asyncio.sleep(0)
    if engine.clock.lasting() is not None:
        with suppress(Unavailable):  # then the next time
            await _believe_clock(engine)


async def try_store(engine: "Engine") -> None:
    """Write something that belongs to nobody and read it back: `readiness` learns whether that can be done."""
    with suppress(Unavailable):
        await engine.commit(snapshots=[engine.readiness.trial()])
        engine.readiness.worked(WRITTEN)
        await engine.look(engine.journal.latest, TRIAL)
        engine.readiness.worked(READ)


async def _believe_clock(engine: "Engine") -> None:
    """Follow a clock that has leapt and stayed there; the catalogue keeps that the time between did not pass."""
    async with engine.cataloguing:
        leap = engine.clock.lasting()
        if leap is None:
            return
        event = engine.catalogue.event(ClockSet(*leap), leap[1])
        await engine.commit([event])
        engine.catalogue.apply(event)
        before = engine.clock()
        engine.clock.believe()
        after = engine.clock()
        for entry in engine.catalogue.entries.values():
            if entry.live is not None:
                entry.live.go_on_from(entry.live.time(before), after)
