"""A deployment that begins with a log of the past: its rows are recorded as overrides, at their own times.

It is done before the service listens, by an engine of its own. Decisions and rewards are recorded in the order and at
the times in which the log has them, and written `BATCH` events at a time: a long log takes seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import Any, NamedTuple

from driftwise.errors import ParameterError
from driftwise.service.deployments import admin
from driftwise.service.deployments.catalogue import read_catalogue
from driftwise.service.deployments.clock import Clock, now_us
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine, NewEvent, wait_for_commit
from driftwise.service.http.schemas.requests import DeploymentSpec, Override
from driftwise.service.store.journal import Journal

BATCH = 1000


class LoggedOutcome(NamedTuple):
    """A row of a log: when, in microseconds since 1970, what was chosen, how likely that was, and what it earned.

    `request` is what the decision was asked with, such as the context; the reward came at once where nothing says when.
    """

    at: int
    action: str
    propensity: float | None
    reward: float
    request: Mapping[str, Any] = {}
    rewarded_at: int | None = None


async def import_log(journal: Journal, spec: DeploymentSpec, rows: Sequence[LoggedOutcome]) -> bool:
    """Create a deployment that learns from a log, and close the journal; False where there is one that has done so."""
    exists = spec.name in read_catalogue(journal).entries
    start = min(rows[0].at, now_us())
    engine = Engine(journal, clock=Clock() if exists else Clock(lambda: start, lambda: start))
    await engine.start(in_background=False)  # other deployments are not of the time of the log
    try:
        if exists:
            await _check_complete(engine, spec.name, len(rows))
            return False
        await admin.create(engine, spec)
        entry, live = await engine.running(spec.name)
        events = _record(live, rows)
        try:
            while batch := [*islice(events, BATCH)]:
                await wait_for_commit(engine.write(entry, batch))
        except BaseException:  # SystemExit too: no snapshot may have rows that were not written
            entry.discard("some rows of a log that were not written were recorded in memory")
            raise
    finally:
        await engine.close()
    return True


def _record(live: Deployment, rows: Sequence[LoggedOutcome]) -> Iterator[NewEvent]:
    """Decisions and rewards in the order in which they came.

    No more rewards wait than the deployment lets wait: the first of too many is learned early, when the next decision
    is made. At its own time, later decisions would come after it, for the time of a deployment never goes back.
    """
    waiting: list[tuple[int, int, float]] = []  # when the reward comes, of which decision, and the reward
    for row in rows:
        while waiting and (waiting[0][0] <= row.at or len(waiting) >= live.spec.max_pending):
            at, id, reward = heappop(waiting)
            yield _learn(live, min(at, row.at), id, reward)
        event, body = live.decide(dict(row.request), None, min(row.at, now_us()), Override(row.action, row.propensity))
        yield event, body
        if row.rewarded_at is None or row.rewarded_at <= row.at:
            yield _learn(live, row.at, event.number, row.reward)
        else:
            heappush(waiting, (row.rewarded_at, event.number, row.reward))
    while waiting:
        yield _learn(live, *heappop(waiting))


def _learn(live: Deployment, at: int, id: int, reward: float) -> NewEvent:
    return live.learn(id, {"reward": reward}, min(at, now_us()))


async def _check_complete(engine: Engine, name: str, n_rows: int) -> None:
    """Refuse a deployment whose import was interrupted."""
    _, live = await engine.running(name, paused=True)
    if live.agent.t < n_rows:
        raise ParameterError(
            f"deployment {name} has made {live.agent.t:,} decisions, fewer than the {n_rows:,} rows of the log: "
            "its import was interrupted, or the log is another one; choose another name"
        )
