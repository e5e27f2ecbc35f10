"""Erase a unit: its name and the contexts of its decisions, from the journal, from snapshots and from the archive.

The name is replaced by a random one, which nobody can trace back. Where the decisions had contexts, a replay would need
them; so the present state becomes the origin of replays, and what came before is history without the contexts. An
origin that is there already may have the name, and is replaced, too. The
state of the policy is not touched, so that decisions go on as if nothing had happened. What it has learned of a context
stays there, without a name: in sums, and in a window as rows of numbers until they leave it.
"""

import secrets
from collections import OrderedDict
from functools import partial
from typing import NamedTuple

import msgspec

from driftwise.display.text import agree, counted
from driftwise.service.deployments import archive, shadow_feed
from driftwise.service.deployments.catalogue import DeploymentEntry
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import NO_KEY, IdempotencyKey, Reply
from driftwise.service.deployments.loading import exact_history
from driftwise.service.http.errors import Conflict
from driftwise.service.http.schemas.responses import EraseUnitResponse
from driftwise.service.store import chain
from driftwise.service.store.events import Decided, Erased, body_of
from driftwise.service.store.journal import Event, Journal, Origin


class UnitEvents(NamedTuple):
    """The decisions of a unit, and the number of the last decision of anybody."""

    events: list[Event]
    last: int


async def erase_unit(engine: Engine, name: str, unit: str, *, key: IdempotencyKey = NO_KEY) -> Reply:
    """Erase a unit from a deployment; refused while decisions of it are pending."""
    async with exact_history(engine, name):
        response = await _erase_unit(engine, name, unit)
    reply = 200, msgspec.json.encode(response)
    await engine.commit(answers=key.answers(reply, engine.clock()))
    return reply


async def _erase_unit(engine: Engine, name: str, unit: str) -> EraseUnitResponse:
    entry, live = await engine.live(name)
    journal, upto = engine.journal, live.number - 1
    await engine.commit()
    early = await engine.read_in_thread(entry, _find, journal, entry.stream, unit, -1, upto)  # while requests go on
    await shadow_feed.catch_up(engine, entry)
    async with engine.exclusive(name) as (entry, live):
        late = await engine.read_in_thread(entry, _find, journal, entry.stream, unit, upto, None)
        found = UnitEvents([*early.events, *late.events], max(early.last, late.last))
        pending = [event.number for event in found.events if event.number in live.pending]
        if pending:
            decisions = f"{counted(len(pending), 'decision')} of this unit {agree(len(pending), 'is', 'are')} pending"
            raise Conflict(
                f"{decisions}, the first is {pending[0]}: send their outcomes, or cancel them, before it is erased"
            )
        pseudonym = f"erased-{secrets.token_hex(8)}"
        try:
            await _erase(engine, entry, live, found, unit, pseudonym)
        except BaseException:
            entry.discard("an erasure failed and may be half done")
            raise
        n_archived = 0
        if engine.archive is not None:
            folder = engine.archive
            n_archived = await engine.read_in_thread(
                entry, archive.erase_unit, folder, name, entry.stream, unit, pseudonym
            )
    return EraseUnitResponse(len(found.events), n_archived)


def _find(journal: Journal, stream: int, unit: str, after: int, upto: int | None) -> UnitEvents:
    events, last = [], -1
    for event in journal.read(stream, after, upto):
        body = body_of(event)
        if isinstance(body, Decided | Erased):
            last = event.number
        if isinstance(body, Decided) and body.unit == unit:
            events.append(event)
    return UnitEvents(events, last)


async def _erase(
    engine: Engine, entry: DeploymentEntry, live: Deployment, found: UnitEvents, unit: str, pseudonym: str
) -> None:
    """Erase a unit from the state in memory and from the store."""
    bodies: list[Decided] = [body_of(event) for event in found.events]
    erased = [
        chain.erase(event, msgspec.structs.replace(body, request={}, unit=pseudonym))
        for event, body in zip(found.events, bodies, strict=True)
    ]
    units = [(pseudonym if name == unit else name, action) for name, action in live.units.items()]
    live.units = OrderedDict(units)
    latest = bool(erased) and erased[-1].number == found.last
    if latest:
        live.request = {}
    await shadow_feed.erase_unit(engine, entry, unit, pseudonym, latest=latest)  # before contexts are gone
    snapshot = live.snapshot()
    before = await engine.query(engine.journal.origin, entry.stream)
    if before is not None or any(body.request for body in bodies):  # an origin may have the name, too
        first = (0, chain.START) if before is None else (before.first, before.before)
        link = await engine.query(engine.journal.link_at, entry.stream, snapshot.number)
        origin = Origin(entry.stream, snapshot.number, *first, link, snapshot.body)
        await engine.do_chore(partial(engine.journal.rebase, origin, erased))
    elif erased:
        await engine.do_chore(partial(engine.journal.erase, entry.stream, erased))
        await engine.commit(snapshots=[snapshot])
    entry.unsaved, entry.summary = 0, None
    await engine.do_chore(engine.journal.scrub)
