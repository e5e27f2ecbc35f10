"""Queries: what can be read of deployments without changing them."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import msgspec

from driftwise.agent import Agent
from driftwise.agent.propensity import choice_shares
from driftwise.agent.summary import NUMBERS, ArmSummary, summary_of
from driftwise.errors import DriftwiseError
from driftwise.service.deployments import shadows
from driftwise.service.deployments import spec as specs
from driftwise.service.deployments.catalogue import DAMAGED, RETIRED, DeploymentEntry
from driftwise.service.deployments.clock import microseconds, utc
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine, damaged_error
from driftwise.service.deployments.export import export, status_of
from driftwise.service.deployments.fold import EventsDroppedError
from driftwise.service.deployments.loading import EXPLAIN, VERIFY, exact_history, fold_beside, replay_beside
from driftwise.service.deployments.replay_progress import ReplayProgress
from driftwise.service.deployments.stats.collector import MAX_LABELS
from driftwise.service.deployments.stats.view import in_order
from driftwise.service.http.errors import Damaged, NotFound, Replaying, Unavailable
from driftwise.service.http.schemas.requests import DeploymentSpec
from driftwise.service.http.schemas.responses import (
    ArmKnowledge,
    DecisionList,
    Explanation,
    LoggedDecision,
    SnapshotResponse,
    Statistics,
    SummaryResponse,
    Verification,
)
from driftwise.service.store.events import Decided, Erased, Learned, body_of
from driftwise.service.store.journal import DamagedError, Event, JournalError

READ_BACK, MAX_READS = 256, 16  # events read at a time, and how many times, to list decisions


def deployment_view(
    initial: DeploymentSpec, status: str, at: int, live: Deployment | None, replay: ReplayProgress | None = None
) -> dict[str, Any]:
    """The view of a deployment; before its first fold with its initial specification."""
    spec = initial if live is None else live.spec
    view: dict[str, Any] = {
        "name": initial.name,
        "status": status,
        "created_at": utc(at),
        "policy": spec.policy,
        "spec": msgspec.to_builtins(spec),
    }
    if replay is not None:
        view["replay"] = replay.view
    if live is not None:
        view |= specs.describe_policy(spec)
        view |= {"arms": list(live.agent.arms), "round": live.agent.t, "n_events": live.number}
        view |= {"n_pending": len(live.pending), "n_units": len(live.units), "details": details_of(live)}
    return view


def details_of(live: Deployment) -> dict[str, Any]:
    """What only deployments of this family have, such as budgets."""
    return live.hooks.status(live.agent.adapter, live.agent.t)


async def describe(engine: Engine, name: str) -> dict[str, Any]:
    """One deployment; one that is loaded by a long replay as far as it is known."""
    with suppress(Replaying):
        await engine.live(name)
    entry = engine.entry(name)
    view = deployment_view(entry.initial, entry.status, entry.at, entry.live, entry.replay)
    return view if entry.live is None else view | {"shadows": await shadows.views(entry, entry.live)}


def list_deployments(engine: Engine, after: str, limit: int, only: list[str] | None) -> dict[str, Any]:
    """A page of deployments, by name."""
    entries = engine.catalogue.entries
    names = sorted(name for name in entries if name > after and (only is None or name in only))
    page = [entries[name] for name in names[:limit]]
    views = [deployment_view(entry.initial, _status(entry), entry.at, entry.live, entry.replay) for entry in page]
    for entry, each in zip(page, views, strict=True):
        each["policy"] = each["policy"] if entry.live is not None else entry.policy
    return {"deployments": views, "next": names[limit - 1] if len(names) > limit else None}


def _status(entry: DeploymentEntry) -> str:
    return DAMAGED if entry.lost and entry.status != RETIRED else entry.status


async def statistics(engine: Engine, name: str, last: int | None = None) -> Statistics:
    """The statistics that the dashboard draws, of the `last` seconds or of all."""
    entry, live = await engine.live(name)
    now = live.time(engine.clock())
    window = live.spec.reward_window
    hooks = live.hooks
    view = live.stats.view(now, last=last, one_arm=hooks.one_arm, compares=hooks.no_estimate is None)
    labels, arms = {*view.labels}, [str(arm) for arm in live.agent.arms]
    never = [] if len(labels) >= MAX_LABELS else [arm for arm in arms if arm not in labels]
    view = in_order(view, arms)
    return Statistics(name, entry.status, utc(now), len(live.pending), window, details_of(live), view, never)


async def summary(engine: Engine, name: str) -> SummaryResponse:
    """What the policy knows of each arm now, for the context of the latest decision.

    A new agent compiles the kernels first, so that requests for the deployment wait for a millisecond and no longer.
    """
    entry, live = await engine.live(name)
    if entry.summary is None:
        await asyncio.to_thread(_summary_of, specs.agent_of(live.spec), live.request)
    elif entry.summary.n_events == live.number:
        return entry.summary
    async with engine.exclusive(name) as (entry, live):
        arms = await asyncio.to_thread(_summary_of, live.agent, live.request)
        now = utc(live.time(engine.clock()))
        entry.summary = SummaryResponse(name, now, live.number, live.agent.t, live.request, arms)
    return entry.summary


def _summary_of(agent: Agent, request: dict[str, Any]) -> list[ArmKnowledge]:
    """A record per arm; none where the next decision needs a context, and there was no decision yet."""
    try:
        summary = agent.summary(**request)
    except DriftwiseError:
        return []
    return [ArmKnowledge(each.arm, **_numbers(each)) for each in summary]


async def verify(engine: Engine, name: str) -> Verification:
    """Whether the live state is that of a replay from the start, or from the origin, bit for bit.

    The state is that of now; the replay is done beside it, while the deployment goes on.
    """
    start = time.perf_counter()
    async with exact_history(engine, name) as (entry, live):
        state, upto = live.freeze(), live.number - 1
        await engine.commit()
        result = await replay_beside(engine, entry, VERIFY, cached=False, upto=upto)
        replica = await asyncio.to_thread(result.snapshot) if isinstance(result, Deployment) else result
        identical = await asyncio.to_thread(lambda: replica == state())
    return Verification(identical, replica.number + 1, time.perf_counter() - start)


async def take_snapshot(engine: Engine, name: str) -> SnapshotResponse:
    """Take a snapshot now."""
    async with exact_history(engine, name), engine.exclusive(name) as (entry, live):
        if not live.number:
            return SnapshotResponse(-1, 0)
        snapshot = live.snapshot()
        await engine.commit(snapshots=[snapshot])
        entry.unsaved = 0
    return SnapshotResponse(snapshot.number, len(snapshot.body))


async def export_log(engine: Engine, name: str, kind: str, after: int, upto: int) -> AsyncIterator[bytes]:
    """Export the log, in chunks; of a damaged journal only what precedes the damage, if `upto` says so."""
    entry = engine.entry(name)
    with suppress(Damaged):
        await engine.live(name)
    await engine.commit()
    end = None if entry.damage is None else entry.damage.event
    if end is not None and upto >= end:
        rest = f"to export the log before it, add upto={end - 1}" if end else "no event precedes it"
        raise Damaged(f"{damaged_error(entry)}; {rest}", end)
    return _checked(engine, entry, export(engine.journal, entry.stream, kind, after, upto, end))


async def _checked(engine: Engine, entry: DeploymentEntry, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass chunks on; errors of the journal become errors of the request."""
    try:
        async for chunk in chunks:
            yield chunk
    except DamagedError as error:
        raise engine.damaged(entry, error) from None
    except JournalError as error:
        raise engine.unreadable(error) from None


# ---- one decision ----


async def list_decisions(engine: Engine, name: str, before: int, limit: int) -> DecisionList:
    """The latest decisions before an id, latest first."""
    entry, live = await engine.live(name)
    await engine.commit()
    return await engine.read_in_thread(entry, _list_decisions, engine, entry, min(before, live.number), limit)


def _list_decisions(engine: Engine, entry: DeploymentEntry, before: int, limit: int) -> DecisionList:
    """Read the journal backwards, some events at a time; `next` is the `before` of the next page."""
    page: list[LoggedDecision] = []
    for _ in range(MAX_READS):
        events = list(engine.journal.read(entry.stream, max(-1, before - READ_BACK - 1), before - 1))
        for event in reversed(events):
            decision = _logged_decision(engine, entry, event)
            if decision is not None:
                page.append(decision)
            if len(page) == limit:
                return DecisionList(page, event.number or None)
        before = max(0, before - READ_BACK)
        if not before or not events:  # the first event, or dropped ones
            return DecisionList(page)
    return DecisionList(page, before)


async def get_decision(engine: Engine, name: str, id: int) -> LoggedDecision:
    """A decision from the journal."""
    entry, _ = await engine.live(name)
    await engine.commit()
    return await engine.read_in_thread(entry, _get_decision, engine, entry, id)


def _get_decision(engine: Engine, entry: DeploymentEntry, id: int) -> LoggedDecision:
    event: Event | None = next(engine.journal.read(entry.stream, after=id - 1, upto=id), None)
    decision = None if event is None or event.number != id else _logged_decision(engine, entry, event)
    if decision is None:
        raise NotFound(f"there is no decision {id}, or it is no longer kept")
    return decision


def _logged_decision(engine: Engine, entry: DeploymentEntry, event: Event) -> LoggedDecision | None:
    """A decision with its outcome; None where the event is something else."""
    body = body_of(event)
    if isinstance(body, Erased):
        body = msgspec.structs.replace(body.decided, unit=None)
    if not isinstance(body, Decided):
        return None
    decision = LoggedDecision(
        event.number,
        utc(event.at),
        body.action,
        body.propensity,
        body.request,
        body.unit,
        body.sticky,
        body.override,
        body.provisional,
    )
    outcome = engine.journal.outcome(entry.stream, event.number)
    if outcome is not None:
        result = body_of(outcome)
        decision.outcome_at = utc(outcome.at)
        decision.outcome = result.outcome if isinstance(result, Learned) else None
        decision.status = status_of(result)
    elif body.action is None:
        decision.status = "nothing"
    return decision


async def explain(engine: Engine, name: str, id: int) -> Explanation:
    """Explain a decision by the state of the policy at that time, folded again."""
    entry, _ = await engine.live(name)
    await engine.commit()
    decision = await engine.read_in_thread(entry, _get_decision, engine, entry, id)
    try:
        then = await fold_beside(engine, entry, EXPLAIN, upto=id - 1)
    except EventsDroppedError as error:
        raise NotFound(f"decision {id} of deployment {entry.initial.name} cannot be explained: {error}") from None
    return await asyncio.to_thread(_explain, then, decision)


def _explain(then: Deployment, decision: LoggedDecision) -> Explanation:
    agent, hooks = then.agent, then.hooks
    shares = choice_shares(agent, decision.request, hooks.samples)
    round_ = then.round_at(microseconds(decision.decided_at))
    try:
        summary = summary_of(agent, decision.request, round_)
        replica = agent.decide(**decision.request, at=round_)
        reproduced = decision.sticky or decision.override or list_of(replica.action) == list_of(decision.action)
    except DriftwiseError as error:
        raise Unavailable(f"the decision cannot be reproduced: {error}") from None
    policy = specs.describe_policy(then.spec)
    choice = [str(each) for each in list_of(decision.action)]
    arms = [
        {"arm": each.arm, "chosen": str(each.arm) in choice, "share": shares.get(each.arm, 0.0)} | _numbers(each)
        for each in summary
    ]
    hooks.explain(agent.adapter, agent.t, arms)
    window = hooks.window(agent.adapter, round_)
    if window is not None and then.spec.window is not None and then.spec.window.seconds is not None:
        window["seconds"] = then.spec.window.seconds
    return Explanation(decision, policy["policy"], policy["parameters"], round_, window, arms, reproduced)


def list_of(action: object) -> list[Any]:
    """An action as a list: the items of a slate, or the one arm."""
    return list(action) if isinstance(action, list | tuple) else [action]


def _numbers(summary: ArmSummary) -> dict[str, Any]:
    """What the policy says of an arm, as JSON has it: a number that is not finite is null."""
    numbers = {name: getattr(summary, name) for name in NUMBERS}
    plain = {name: None if value is None or math.isinf(value) else value for name, value in numbers.items()}
    return plain if summary.costs is None else plain | {"costs": summary.costs}
