"""A deployment from its journal: events applied in order, from the nearest snapshot or from the start.

Whatever goes wrong with an event is a `DamagedError` that says with which one.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from driftwise.agent import Agent
from driftwise.core.serialization import unseal
from driftwise.service.deployments import spec as papers
from driftwise.service.deployments.deployment import FORMAT, Deployment, Paper, Waiting, tag_of
from driftwise.service.deployments.spec import POLICY
from driftwise.service.deployments.stats import state as monitors
from driftwise.service.deployments.stats.collector import Monitor
from driftwise.service.http.schemas.requests import Settings
from driftwise.service.store.events import body_of
from driftwise.service.store.journal import DamagedError, Event, Journal, JournalError, Snapshot

ELSEWHERE = (JournalError, OSError, MemoryError)  # no fault of what is being folded


def fold(
    journal: Journal,
    stream: int,
    made: Settings,
    *,
    upto: int | None = None,
    cached: bool = True,
    policy: dict[str, Any] | None = None,
) -> Deployment:
    """The deployment after event `upto`, or after all of them: from the nearest snapshot, or from the start.

    `made` are the settings it was created with. A policy that came later was fed the whole journal, so that from the
    start, only the last policy matters; or another one, `policy`, which is to come next.
    """
    snapshot = journal.latest(stream, upto) if cached and policy is None else None
    found = restored(snapshot) if snapshot is not None else None
    if found is not None:
        tail = list(journal.read(stream, found.number - 1, upto))
        if not any(each.kind == "changed" and body_of(each).policy for each in tail):
            return replay(found, tail)
    last = _last_policy(journal.read(stream, upto=upto)) | (policy or {})
    try:
        fresh = Deployment(stream, papers.changed(made, last))
    except ELSEWHERE:
        raise
    except Exception as error:
        raise DamagedError(f"it cannot be made from its settings ({_short(error)})") from error
    return replay(fresh, journal.read(stream, upto=upto))


def replay(deployment: Deployment, events: Iterable[Event]) -> Deployment:
    """Apply events in order."""
    for event in events:
        try:
            deployment.apply(event)
        except ELSEWHERE:
            raise
        except Exception as error:
            why = f"event {event.number} cannot be replayed ({_short(error)})"
            raise DamagedError(why, event.number) from error
    return deployment


def restored(snapshot: Snapshot) -> Deployment | None:
    """The deployment a snapshot was taken of; None when it cannot be used, so that a replay is needed.

    It may have been taken by other code, or be damaged in any way: it is only a cache.
    """
    try:
        paper = msgspec.msgpack.decode(unseal(snapshot.body), type=Paper)
        settings = papers.from_paper(paper.settings)
        if paper.format != FORMAT or paper.tag != tag_of(papers.policy_of(settings)):
            return None
        found = Deployment(snapshot.stream, settings, at=paper.at, agent=Agent.loads(paper.agent))
        found.number = found.saved = snapshot.number + 1
        found.origin = paper.origin
        found.waiting = {ref: Waiting(t, at, action) for ref, t, at, action in paper.waiting}
        found.units = OrderedDict((unit, (action, propensity)) for unit, action, propensity in paper.units)
        problem = found.agent.problem
        found.monitor = Monitor(problem.low, problem.width, monitors.from_paper(paper.notes))
    except Exception:
        return None
    return found


def _last_policy(events: Iterator[Event]) -> dict[str, Any]:
    """Which policy, parameters and window are in force after all of these events."""
    last: dict[str, Any] = {}
    for event in events:
        if event.kind == "changed":
            body = body_of(event)
            if body.policy:
                last |= {name: value for name, value in body.changes.items() if name in POLICY}
    return last


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip()[:200]}".rstrip(": ")
