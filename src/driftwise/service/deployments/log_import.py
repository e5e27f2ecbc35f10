"""A deployment that begins with a log of the past: its rows are recorded as overrides, at their own times.

It is done before the service listens, by an engine of its own whose clock shows the time of each row. Rows go in small
batches: a reward is learned at most `BATCH` decisions late, and a long log takes seconds.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from driftwise.errors import ParameterError
from driftwise.service.deployments import admin, decisions
from driftwise.service.deployments.catalogue import read_catalogue
from driftwise.service.deployments.clock import Clock, now_us
from driftwise.service.deployments.engine import Engine
from driftwise.service.http.schemas.requests import DecideRequest, DeploymentSpec, LearnRequest, Override
from driftwise.service.http.schemas.responses import DecideManyResponse
from driftwise.service.store.journal import Journal

BATCH = 100
DECISIONS = msgspec.json.Decoder(DecideManyResponse)


class LoggedOutcome(NamedTuple):
    """A row of a log: when, in microseconds since 1970, what was chosen, how likely that was, and what it earned.

    `request` is what the decision was asked with, such as the context.
    """

    at: int
    action: str
    propensity: float | None
    reward: float
    request: Mapping[str, Any] = {}


async def import_log(journal: Journal, spec: DeploymentSpec, rows: Sequence[LoggedOutcome]) -> bool:
    """Create a deployment that learns from a log, and close the journal; False where there is one that has done so."""
    exists = spec.name in read_catalogue(journal).entries
    now = [min(rows[0].at, now_us())]
    engine = Engine(journal, clock=Clock() if exists else Clock(lambda: now[0], lambda: now[0]))
    await engine.start()
    try:
        if exists:
            await _check_complete(engine, spec.name, len(rows))
            return False
        await admin.create(engine, spec)
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            now[0] = max(now[0], min(batch[0].at, now_us()))
            overrides = [DecideRequest(override=Override(row.action, row.propensity), **row.request) for row in batch]
            _, body = await decisions.decide(engine, spec.name, overrides, many=True)
            ids = [decision.id for decision in DECISIONS.decode(body).decisions]
            outcomes = [LearnRequest(id=id, reward=row.reward) for id, row in zip(ids, batch, strict=True)]
            await decisions.learn(engine, spec.name, outcomes, many=True)
    finally:
        await engine.close()
    return True


async def _check_complete(engine: Engine, name: str, n_rows: int) -> None:
    """Refuse a deployment whose import was interrupted."""
    _, live = await engine.running(name, paused=True)
    if live.agent.t < n_rows:
        raise ParameterError(
            f"deployment {name} has made {live.agent.t:,} decisions, fewer than the {n_rows:,} rows of the log: "
            "its import was interrupted, or the log is another one; choose another name"
        )
