"""Who did what when: an event in the catalogue for every administrative request done, and a line in the log."""

import logging
from typing import Any

from driftwise.service.deployments.clock import utc
from driftwise.service.deployments.engine import Engine
from driftwise.service.store.events import AUDITED, Audited, body_of
from driftwise.service.store.journal import CATALOGUE

COMMAND_LINE = "command line"  # the caller of what is done to a store that is not in use
PAGE = 1000
log = logging.getLogger("driftwise.service")


async def record(engine: Engine, entry: Audited) -> None:
    """Log an entry, and write it."""
    facts = {"by": entry.caller, "action": entry.action, "target": entry.target, "request_id": entry.request}
    log.info("audit", extra={"facts": facts})
    async with engine.catalogue_lock:
        event = engine.catalogue.event(entry, engine.clock())
        await engine.commit([event])
        engine.catalogue.apply(event)


def read(engine: Engine, after: int, limit: int) -> dict[str, Any]:
    """The entries after a number, oldest first; `next` is the `after` of the next page."""
    entries: list[dict[str, Any]] = []
    for event in engine.journal.read(CATALOGUE, after):
        if event.kind != AUDITED:
            continue
        if len(entries) == limit:
            return {"entries": entries, "next": entries[-1]["number"]}
        entries.append(_view(engine, event.number, event.at, body_of(event)))
    return {"entries": entries, "next": None}


def _view(engine: Engine, number: int, at: int, entry: Audited) -> dict[str, Any]:
    key = engine.catalogue.key_names.get(entry.caller)
    return {
        "number": number,
        "done_at": utc(at),
        "caller": entry.caller,
        "key_name": key,
        "action": entry.action,
        "target": entry.target,
        "request_id": entry.request,
    }
