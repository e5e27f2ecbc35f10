"""Decide, learn, cancel. Between what is done in memory and handing it to the writer nothing is awaited."""

from typing import Any

import msgspec

from driftwise.errors import DriftwiseError
from driftwise.service.deployments import moving
from driftwise.service.deployments.catalogue import Entry
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import NO_KEY, Engine, Happened, Keyed, Reply, waited
from driftwise.service.http.errors import Conflict, Full, Malformed, Unknown
from driftwise.service.http.schemas.requests import Asked, Override, Told
from driftwise.service.http.schemas.responses import Decision, Decisions, Learnt, LearntMany
from driftwise.service.store.events import Body, Cancelled, Decided, Learned
from driftwise.service.store.journal import Event

OUTCOME = tuple(name for name in Told.__struct_fields__ if name != "id")
REFUSED = {"unknown": Unknown, "conflict": Conflict}


async def decide(engine: Engine, name: str, asks: list[Asked], *, many: bool = False, key: Keyed = NO_KEY) -> Reply:
    """Choose, once for each that is asked: all or none."""
    return await engine.once(key, lambda: _decide(engine, name, asks, many, key))


async def _decide(engine: Engine, name: str, asks: list[Asked], many: bool, key: Keyed) -> Reply:
    entry, live = await engine.running(name)
    now = engine.clock()
    happened = engine.defaults(live, now) if live.settings.reward_window is not None else []
    made: list[Happened] = []
    decisions: list[Decision] = []
    try:
        _check_room(live, len(asks))
        shown = [_shown(live, ask) for ask in asks]
        if many:
            live.agent.check_asked(*shown)
        for ask, asked in zip(asks, shown, strict=True):
            override = None if ask.override is None else _override(live, ask.override)
            event, body = live.decide(asked, ask.unit, now, override)
            made.append((event, body))
            decisions.append(_decision(live, event, body))
    except DriftwiseError:
        if made:
            entry.discard("some decisions of a batch that failed were made in memory")
        if happened:
            engine.write(entry, happened)
        raise
    reply = 200, msgspec.json.encode(Decisions(decisions) if many else decisions[0])
    engine.counts["decided", name] += len(asks)
    return await engine.answer(entry, [*happened, *made], key, reply)


def _check_room(live: Deployment, wanted: int) -> None:
    room = live.settings.max_pending - len(live.waiting)
    if wanted > room:
        raise Full(f"{len(live.waiting)} decisions wait for their outcomes: there is room for {max(0, room)} more")


def _shown(live: Deployment, ask: Asked) -> dict[str, Any]:
    if ask.unit is not None and not live.settings.sticky:
        raise Malformed("unit means something only where a deployment was made with sticky=true")
    given = {"actions": ask.actions, "context": ask.context, "states": ask.states}
    shown = {name: value for name, value in given.items() if value is not None}
    if live.moving and ask.states is not None:
        shown["states"] = moving.by_name(ask.states, live.agent.arms)
    return shown


def _override(live: Deployment, override: Override) -> tuple[Any, float | None]:
    if live.settings.domain is not None:
        raise Malformed("override takes names of arms, and this deployment chooses points")
    return override.action, override.propensity


def _decision(live: Deployment, event: Event, body: Decided) -> Decision:
    left = live.agent.remaining if live.settings.budgets is not None else None
    told = Decision(event.number, body.action, body.propensity, event.at / 1e6, body.sticky, body.override, left)
    if live.moving:
        told.ranking = moving.ranked(live.agent)
    return told


async def learn(engine: Engine, name: str, told: list[Told], *, many: bool = False, key: Keyed = NO_KEY) -> Reply:
    """Learn outcomes, each by itself."""
    return await engine.once(key, lambda: _learn(engine, name, told, many, key))


async def _learn(engine: Engine, name: str, told: list[Told], many: bool, key: Keyed) -> Reply:
    entry, live, looked = await _looked_up(engine, name, [each.id for each in told])
    now = engine.clock()
    happened = engine.defaults(live, now)
    settled: dict[int, Body | None] = looked | entry.settled | {event.ref: body for event, body in happened}
    learnt = []
    for each in told:
        try:
            learnt.append(_learn_one(live, each, now, settled, happened))
        except DriftwiseError as error:
            if not many:
                engine.write(entry, happened)
                raise
            learnt.append(Learnt(each.id, "refused", str(error)))
    for one in learnt:
        engine.counts[one.status, name] += 1
    if not many and learnt[0].error is not None:
        await waited(engine.write(entry, happened))
        raise REFUSED[learnt[0].status](learnt[0].error)
    reply = 200, msgspec.json.encode(LearntMany(learnt) if many else learnt[0])
    return await engine.answer(entry, happened, key, reply)


def _learn_one(
    live: Deployment, told: Told, now: int, settled: dict[int, Body | None], happened: list[Happened]
) -> Learnt:
    """Learn one outcome, or say why there is nothing to learn."""
    id, outcome = told.id, _outcome(live, told)
    if id in live.waiting:
        event, body = live.learn(id, outcome, now)
        happened.append((event, body))
        settled[id] = body
        return Learnt(id, body.status)
    before = settled.get(id)
    if isinstance(before, Learned):
        if before.defaulted:
            return Learnt(id, "late")
        if before.told == outcome or (live.moving and moving.same(before.told, outcome)):
            return Learnt(id, "duplicate")
        return Learnt(id, "conflict", f"another outcome is recorded for decision {id}")
    if isinstance(before, Cancelled):
        return Learnt(id, "conflict", f"decision {id} was cancelled")
    return Learnt(id, "unknown", f"no decision {id} waits for an outcome")


def _outcome(live: Deployment, told: Told) -> dict[str, Any]:
    given = {name: value for name in OUTCOME if (value := getattr(told, name)) is not None}
    if live.moving:
        return {name: moving.by_name(value, live.agent.arms) for name, value in given.items()}
    return given


async def _looked_up(engine: Engine, name: str, ids: list[int]) -> tuple[Entry, Deployment, dict[int, Body | None]]:
    """A deployment, and what the journal says of those decisions that wait for nothing any more."""
    looked: dict[int, Body | None] = {}
    while True:
        entry, live = await engine.running(name, paused=True)
        missing = [
            id for id in ids if id < live.number and not (id in live.waiting or id in looked or id in entry.settled)
        ]
        if not missing:
            return entry, live, looked
        for id in missing:
            found = await engine.look(engine.journal.outcome, entry.stream, id)
            looked[id] = None if found is None else engine.body_of(entry, found)


async def cancel(engine: Engine, name: str, id: int, *, key: Keyed = NO_KEY) -> Reply:
    """Call a decision off: nothing is learned from it, and what was reserved for it is free again."""
    return await engine.once(key, lambda: _cancel(engine, name, id, key))


async def _cancel(engine: Engine, name: str, id: int, key: Keyed) -> Reply:
    entry, live, looked = await _looked_up(engine, name, [id])
    now = engine.clock()
    happened = engine.defaults(live, now)
    before = (looked | entry.settled | {event.ref: body for event, body in happened}).get(id)
    if id in live.waiting:
        happened.append((live.cancel(id, now), Cancelled()))
    elif not isinstance(before, Cancelled):
        await waited(engine.write(entry, happened))
        if before is None:
            raise Unknown(f"no decision {id} waits for an outcome")
        raise Conflict(f"decision {id} has an outcome already")
    engine.counts["cancelled", name] += 1
    return await engine.answer(entry, happened, key, (200, msgspec.json.encode(Learnt(id, "cancelled"))))
