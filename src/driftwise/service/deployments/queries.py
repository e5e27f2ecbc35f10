"""What can be asked of deployments without changing them."""

import math
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import msgspec

from driftwise.agent.propensity import odds
from driftwise.agent.summary import NUMBERS, ArmSummary
from driftwise.errors import DriftwiseError
from driftwise.service.deployments import moving
from driftwise.service.deployments import spec as papers
from driftwise.service.deployments.catalogue import DAMAGED, RETIRED, Entry
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine, refusal_of
from driftwise.service.deployments.export import export
from driftwise.service.deployments.fold import fold
from driftwise.service.deployments.stats.collector import MOST_LABELS
from driftwise.service.http.errors import Damaged, Unavailable, Unknown
from driftwise.service.http.schemas.requests import Settings
from driftwise.service.http.schemas.responses import Explained, Recorded, Saved, Statistics, Verified
from driftwise.service.store.events import Decided, Learned, body_of
from driftwise.service.store.journal import DamagedError, Event, JournalError

DRAWS, FEW_DRAWS = 1000, 100  # the few where a draw may plan for many arms


def told_of(made: Settings, status: str, at: int, live: Deployment | None) -> dict[str, Any]:
    """A deployment as it is; one that has not been needed yet is told as it was made."""
    settings = made if live is None else live.settings
    told: dict[str, Any] = {
        "name": made.name,
        "status": status,
        "created": at / 1e6,
        "policy": settings.policy,
        "settings": msgspec.to_builtins(settings),
    }
    if live is not None:
        told |= papers.described(settings)
        told |= {"arms": list(live.agent.arms), "round": live.agent.t, "events": live.number}
        told |= {"pending": len(live.waiting), "units": len(live.units), "budgets": budgets_of(live)}
    return told


def budgets_of(live: Deployment) -> dict[str, dict[str, float]] | None:
    """What there is of each resource in all, what is left, and what of that is reserved."""
    if live.settings.budgets is None:
        return None
    return {"total": live.settings.budgets, "left": live.agent.remaining, "reserved": live.agent.reserved}


async def describe(engine: Engine, name: str) -> dict[str, Any]:
    """One deployment."""
    entry, live = await engine.live(name)
    return told_of(entry.made, entry.status, entry.at, live)


def listed(engine: Engine, after: str, limit: int, only: list[str] | None) -> dict[str, Any]:
    """A page of deployments, by name."""
    entries = engine.catalogue.entries
    names = sorted(name for name in entries if name > after and (only is None or name in only))
    page = [entries[name] for name in names[:limit]]
    told = [told_of(entry.made, _status(entry), entry.at, entry.live) for entry in page]
    for entry, each in zip(page, told, strict=True):
        each["policy"] = each["policy"] if entry.live is not None else entry.policy
    return {"deployments": told, "next": names[limit - 1] if len(names) > limit else None}


def _status(entry: Entry) -> str:
    return DAMAGED if entry.lost and entry.status != RETIRED else entry.status


async def statistics(engine: Engine, name: str) -> Statistics:
    """What a page draws."""
    entry, live = await engine.live(name)
    now = live.time(engine.clock())
    window = live.settings.reward_window
    drawn = live.monitor.report(now)
    named = {*drawn.labels}
    never = [] if len(named) >= MOST_LABELS else [str(arm) for arm in live.agent.arms if str(arm) not in named]
    return Statistics(name, entry.status, now / 1e6, len(live.waiting), window, budgets_of(live), drawn, never)


async def verify(engine: Engine, name: str) -> Verified:
    """Whether the live state is that of a replay from the start, bit for bit."""
    began = time.perf_counter()
    async with engine.alone(name) as (entry, live):
        again = await engine.folded(entry, cached=False)
        equal = again.snapshot() == live.snapshot()
    return Verified(equal, again.number, time.perf_counter() - began)


async def save(engine: Engine, name: str) -> Saved:
    """Take a snapshot now."""
    async with engine.alone(name) as (entry, live):
        if not live.number:
            return Saved(-1, 0)
        snapshot = live.snapshot()
        await engine.commit(snapshots=[snapshot])
        entry.unsaved = 0
    return Saved(snapshot.number, len(snapshot.body))


async def log(engine: Engine, name: str, kind: str, after: int, upto: int) -> AsyncIterator[bytes]:
    """The log, in chunks. Of a damaged journal what was written before the damage, if no more is asked for."""
    entry = engine.entry(name)
    with suppress(Damaged):
        await engine.live(name)
    await engine.commit()
    end = None if entry.damage is None else entry.damage.event
    if end is not None and upto >= end:
        rest = f"to export the log before it, ask with upto={end - 1}" if end else "no event precedes it"
        raise Damaged(f"{refusal_of(entry)}; {rest}", end)
    return _sound(engine, entry, export(engine.journal, entry.stream, kind, after, upto, end))


async def _sound(engine: Engine, entry: Entry, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Chunks as they come; what goes wrong with the journal meanwhile is noted."""
    try:
        async for chunk in chunks:
            yield chunk
    except DamagedError as error:
        raise engine.damaged(entry, error) from None
    except JournalError as error:
        raise engine.unreadable(error) from None


# ---- one decision ----


async def recorded(engine: Engine, name: str, id: int) -> Recorded:
    """A decision as it stands in the journal."""
    entry, _ = await engine.live(name)
    await engine.commit()
    return await engine.read_of(entry, _recorded, engine, entry, id)


def _recorded(engine: Engine, entry: Entry, id: int) -> Recorded:
    event: Event | None = next(engine.journal.read(entry.stream, after=id - 1, upto=id), None)
    if event is None or event.kind != "decided":
        raise Unknown(f"there is no decision {id}")
    body: Decided = body_of(event)
    found = Recorded(id, event.at / 1e6, body.action, body.propensity, body.asked, unit=body.unit, held=body.held)
    outcome = engine.journal.outcome(entry.stream, id)
    if outcome is not None:
        told = body_of(outcome)
        found.outcome_at = outcome.at / 1e6
        found.outcome = told.told if isinstance(told, Learned) else None
        found.status = "cancelled" if not isinstance(told, Learned) else "defaulted" if told.defaulted else told.status
    elif body.action is None:
        found.status = "nothing"
    return found


async def explain(engine: Engine, name: str, id: int) -> Explained:
    """Why a decision was made: the policy's state at that moment, folded anew."""
    entry, _ = await engine.live(name)
    await engine.commit()
    return await engine.read_of(entry, _explain, engine, entry, id)


def _explain(engine: Engine, entry: Entry, id: int) -> Explained:
    decision = _recorded(engine, entry, id)
    then = fold(engine.journal, entry.stream, entry.made, upto=id - 1)
    agent = then.agent
    then.clock_to(round(1e6 * decision.at))
    round_, described = agent.t, papers.described(then.settings)
    shares = odds(agent, decision.asked, FEW_DRAWS if then.moving else DRAWS)
    try:
        known = agent.summary(**decision.asked)
        again = agent.decide(**decision.asked)
        same = decision.held or list_of(again.action) == list_of(decision.action)
    except DriftwiseError as error:
        raise Unavailable(f"the decision cannot be made again: {error}") from None
    chosen = [str(each) for each in list_of(decision.action)]
    arms = [
        {"arm": each.arm, "chosen": str(each.arm) in chosen, "share": shares.get(each.arm, 0.0)} | _numbers(each)
        for each in known
    ]
    if then.moving:
        moving.explained(agent, arms)
    window = moving.window(agent, round_) if then.moving else _window(then, round_)
    return Explained(decision, described["policy"], described["parameters"], round_, window, arms, same)


def list_of(action: Any) -> list[Any]:
    """An action as a list: the items of a slate, or the one arm."""
    return list(action) if isinstance(action, list | tuple) else [action]


def _window(then: Deployment, round_: int) -> dict[str, Any] | None:
    """Which rounds the policy looked at."""
    size = getattr(then.agent.policy, "window", None)
    if not isinstance(size, int):
        return None
    found: dict[str, Any] = {"rounds": size, "from_round": max(0, round_ - size), "to_round": round_ - 1}
    if then.settings.window is not None and then.settings.window.seconds is not None:
        found["seconds"] = then.settings.window.seconds
    return found


def _numbers(known: ArmSummary) -> dict[str, Any]:
    """What the policy says of an arm, as JSON has it: a number that is not finite is null."""
    numbers = {name: getattr(known, name) for name in NUMBERS}
    plain = {name: None if value is None or math.isinf(value) else value for name, value in numbers.items()}
    return plain if known.costs is None else plain | {"costs": known.costs}
