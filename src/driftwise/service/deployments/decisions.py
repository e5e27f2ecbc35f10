"""Decide, learn, cancel. Between the change in memory and `engine.write` nothing is awaited."""

from collections.abc import Sequence
from typing import Any

import msgspec

from driftwise.core.schemas import present_fields
from driftwise.display.text import agree, counted
from driftwise.errors import DriftwiseError
from driftwise.service.deployments.catalogue import DeploymentEntry
from driftwise.service.deployments.clock import utc
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine, NewEvent, wait_for_commit
from driftwise.service.deployments.idempotency import NO_KEY, IdempotencyKey, Reply
from driftwise.service.http.errors import BadRequest, Conflict, LimitReached, NotFound
from driftwise.service.http.schemas.requests import DecideBase, DecideRequest, LearnBase, LearnRequest
from driftwise.service.http.schemas.responses import (
    DecideAnswer,
    DecideManyResponse,
    DecideResponse,
    LearnManyResponse,
    LearnResponse,
)
from driftwise.service.store.events import Body, Cancelled, Decided, Learned
from driftwise.service.store.journal import Event

OUTCOME = tuple(name for name in LearnRequest.__struct_fields__ if name not in LearnBase.__struct_fields__)
REQUEST = tuple(name for name in DecideRequest.__struct_fields__ if name not in DecideBase.__struct_fields__)
ERRORS = {"not-found": NotFound, "conflict": Conflict}


async def decide(
    engine: Engine, name: str, requests: Sequence[DecideBase], *, many: bool = False, key: IdempotencyKey = NO_KEY
) -> Reply:
    """Make a decision for each request: all or none."""
    entry, live = await engine.running(name)
    now = entry.touched
    new_events = engine.defaults(live, now) if live.spec.reward_window is not None else []
    decided: list[NewEvent] = []
    decisions: list[DecideAnswer] = []
    try:
        _check_room(live, len(requests))
        contexts = [_context(live, request) for request in requests]
        if many:
            live.agent.validate_requests(*contexts)
        for request, context in zip(requests, contexts, strict=True):
            event, body = live.decide(context, request.unit, now, request.override)
            decided.append((event, body))
            decisions.append(_decision(live, event, body))
    except DriftwiseError:
        if decided:
            entry.discard("some decisions of a batch that failed were made in memory")
        if new_events:
            engine.write(entry, new_events)
        raise
    reply = 200, msgspec.json.encode(DecideManyResponse(decisions) if many else decisions[0])
    engine.counts["decided", name] += len(requests)
    return await engine.answer(entry, [*new_events, *decided], key, reply)


def _check_room(live: Deployment, n_requests: int) -> None:
    room = live.spec.max_pending - len(live.pending)
    if n_requests > room:
        n_pending = len(live.pending)
        pending = f"{counted(n_pending, 'decision')} {agree(n_pending, 'is', 'are')} pending"
        raise LimitReached(f"{pending}; max_pending leaves room for {max(0, room)} more")


def _context(live: Deployment, request: DecideBase) -> dict[str, Any]:
    """What the policy decides on: the fields of the family."""
    if request.unit is not None and not live.spec.sticky:
        raise BadRequest("unit is allowed only in deployments with sticky=true")
    if request.override is not None and not live.agent.arms:
        raise BadRequest("override names arms, and this deployment has none")
    return present_fields(request, REQUEST)


def _decision(live: Deployment, event: Event, body: Decided) -> DecideAnswer:
    response: DecideAnswer = DecideResponse(
        id=event.number,
        action=body.action,
        propensity=body.propensity,
        decided_at=utc(event.at),
        sticky=body.sticky,
        override=body.override,
        **live.hooks.answer_of(live.agent.adapter, live.agent.t),
    )
    return response


async def learn(
    engine: Engine, name: str, requests: Sequence[LearnBase], *, many: bool = False, key: IdempotencyKey = NO_KEY
) -> Reply:
    """Learn outcomes; each has a status of its own."""
    entry, live, from_journal = await _look_up(engine, name, [each.id for each in requests])
    now = entry.touched
    new_events = engine.defaults(live, now)
    settled: dict[int, Body | None] = from_journal | entry.settled | {event.ref: body for event, body in new_events}
    responses = []
    for each in requests:
        try:
            responses.append(_learn_one(live, each, now, settled, new_events))
        except DriftwiseError as error:
            if not many:
                engine.write(entry, new_events)
                raise
            responses.append(LearnResponse(each.id, "invalid", str(error)))
    for one in responses:
        engine.counts[one.status, name] += 1
    if not many and responses[0].error is not None:
        await wait_for_commit(engine.write(entry, new_events))
        raise ERRORS[responses[0].status](responses[0].error)
    reply = 200, msgspec.json.encode(LearnManyResponse(responses) if many else responses[0])
    return await engine.answer(entry, new_events, key, reply)


def _learn_one(
    live: Deployment, request: LearnBase, now: int, settled: dict[int, Body | None], new_events: list[NewEvent]
) -> LearnResponse:
    """Learn one outcome, or return why it cannot be learned."""
    id, outcome = request.id, present_fields(request, OUTCOME)
    if id in live.pending:
        event, body = live.learn(id, outcome, now)
        new_events.append((event, body))
        settled[id] = body
        return LearnResponse(id, body.status)
    before = settled.get(id)
    if isinstance(before, Learned):
        if before.defaulted:
            return LearnResponse(id, "late")
        if live.hooks.same_outcome(before.outcome, outcome):
            return LearnResponse(id, "duplicate")
        return LearnResponse(id, "conflict", f"another outcome is recorded for decision {id}")
    if isinstance(before, Cancelled):
        return LearnResponse(id, "conflict", f"decision {id} was cancelled")
    return LearnResponse(id, "not-found", f"decision {id} does not exist or is already settled")


async def _look_up(
    engine: Engine, name: str, ids: list[int]
) -> tuple[DeploymentEntry, Deployment, dict[int, Body | None]]:
    """A deployment, and from the journal the outcomes of those decisions that are not pending."""
    from_journal: dict[int, Body | None] = {}
    while True:
        entry, live = await engine.running(name, paused=True)
        missing = [
            id
            for id in ids
            if id < live.number and not (id in live.pending or id in from_journal or id in entry.settled)
        ]
        if not missing:
            return entry, live, from_journal
        for id in missing:
            from_journal[id] = await engine.outcome(entry, id)


async def cancel(engine: Engine, name: str, id: int, *, key: IdempotencyKey = NO_KEY) -> Reply:
    """Cancel a decision: nothing is learned from it, and its reserved budget is free again."""
    entry, live, from_journal = await _look_up(engine, name, [id])
    now = entry.touched
    new_events = engine.defaults(live, now)
    before = (from_journal | entry.settled | {event.ref: body for event, body in new_events}).get(id)
    if id in live.pending:
        new_events.append((live.cancel(id, now), Cancelled()))
    elif not isinstance(before, Cancelled):
        await wait_for_commit(engine.write(entry, new_events))
        if before is None:
            raise NotFound(f"decision {id} does not exist or is already settled")
        raise Conflict(f"decision {id} has an outcome already")
    engine.counts["cancelled", name] += 1
    return await engine.answer(entry, new_events, key, (200, msgspec.json.encode(LearnResponse(id, "cancelled"))))
