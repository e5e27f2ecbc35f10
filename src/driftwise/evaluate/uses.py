"""What a log is good for beside evaluation: a world for studies, and an agent that learns from it first."""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.agent import Agent
from driftwise.core.encoding import Arm
from driftwise.core.types import Floats, Ints
from driftwise.core.validation import number
from driftwise.errors import LogError
from driftwise.evaluate.diagnosis.diagnosis import binned
from driftwise.evaluate.diagnosis.permutation import noise_of
from driftwise.families.contextual.rows import Rows
from driftwise.families.multi_armed.worlds.local_level import LocalLevel
from driftwise.numerics.local_level import smooth

if TYPE_CHECKING:
    from driftwise.evaluate.log import Log

MOST_BINS = 128
REWARDS_PER_BIN = 20


def world_of(log: "Log", *, n_bins: int | None = None) -> LocalLevel:
    """A world whose runs draw means that could have been behind the log."""
    if len(log.arms) < 2:
        raise LogError(f"a world needs at least two arms, the log has one: {log.arms[0]!r}")
    rows, n_arms = np.flatnonzero(~np.isnan(log.rewards)), len(log.arms)
    arms, values = log.actions[rows], log.rewards[rows]
    wanted = len(rows) // (REWARDS_PER_BIN * n_arms) if n_bins is None else n_bins
    bins = int(np.clip(wanted, 2, MOST_BINS if n_bins is None else max(2, len(log))))
    edges = np.linspace(0, len(log), bins + 1).astype(np.int64)[1:]
    counts, sums = binned(rows, arms, values, edges, n_arms)
    noise = noise_of(arms, values, n_arms)
    steps = smooth(counts, sums, noise).steps
    means = sums / np.maximum(counts, 1.0)
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    return LocalLevel(
        means=tuple(map(tuple, means.tolist())),
        counts=tuple(map(tuple, counts.tolist())),
        noise=tuple(noise.tolist()),
        steps=tuple(steps.tolist()),
        labels=log.arms,
        rewards="bernoulli" if binary else "gaussian",
        sd=float(np.sqrt((noise[arms] ** 2).mean())),
    )


def feed(log: "Log", agent: Agent, *, round_seconds: float | None = None) -> int:
    """Let an agent learn from a log; returns how many rewards it learned.

    A row is a round; with `round_seconds`, a round lasts so long, so that pauses age what was learned. Rewards come
    when the log says, else at once; a row without a reward only lets its round pass. An agent learns the whole log, or
    nothing where a row is refused.
    """
    with agent.atomic():
        return _feed(log, agent, round_seconds)


def _feed(log: "Log", agent: Agent, round_seconds: float | None) -> int:
    arms, reads = _arms_of(log, agent), getattr(agent.adapter, "rows", None)
    start, rounds = agent.t, _rounds(log, round_seconds)
    rewarded = np.flatnonzero(~np.isnan(log.rewards))
    _check_range(log, agent)
    late = log.rewarded_at is not None and log.times is not None
    waiting: list[tuple[float, int, int]] = []  # when the reward comes, its row, its decision
    arrival = log.rewarded_at if late else None
    learned = 0
    for row in rewarded.tolist():
        if arrival is not None and log.times is not None:
            learned += _learn_until(agent, log, waiting, float(log.times[row]))
        propensity = np.nan if log.propensities is None else float(log.propensities[row])
        request = request_of(log, row, arms, reads)
        at = max(agent.t, start + int(rounds[row]))
        decision = agent.decide(override=(arms[log.actions[row]], propensity), at=at, **request)
        comes = float(arrival[row]) if arrival is not None else np.nan
        if np.isnan(comes):
            learned += _learn(agent, log, row, decision.id)
        else:
            heappush(waiting, (comes, row, decision.id))
    return learned + _learn_until(agent, log, waiting, np.inf)


def request_of(log: "Log", row: int, arms: Sequence[Arm], reads: Rows | None) -> dict[str, Any]:
    """What a decision in a row of the log would have been asked with, by where its problem has features from."""
    request: dict[str, Any] = {}
    if reads is None:
        return request
    if reads.context:
        if log.context is None or log.context.shape[1] != reads.context:
            have = 0 if log.context is None else log.context.shape[1]
            raise LogError(
                f"the agent decides in a context of {reads.context} numbers; the log has {have} columns of it"
            )
        request["context"] = log.context[row].tolist()
    if reads.n_features:
        if log.features is None:
            raise LogError(
                "the agent decides by features of every action, and the log has none: name them (features=...)"
            )
        table = log.features[row].tolist()
        request["actions"] = dict(zip(arms, table, strict=True)) if reads.arms else table
    return request


def _rounds(log: "Log", round_seconds: float | None) -> Ints:
    """The round of each row, from 0."""
    if round_seconds is None:
        return np.arange(len(log))
    if log.times is None:
        raise LogError("round_seconds needs a log with times")
    seconds = number("round_seconds", round_seconds, above=0.0)
    elapsed: Floats = log.times - log.times[0]
    return np.floor(elapsed / seconds).astype(np.int64)


def _arms_of(log: "Log", agent: Agent) -> list[Arm]:
    """The agent's arms by the log's indices."""
    by_name = {str(arm): arm for arm in agent.arms} or {name: int(name) for name in log.arms if name.isdigit()}
    unknown = [name for name in log.arms if name not in by_name]
    if unknown:
        there = ", ".join(by_name) or "none: its actions have no names"
        raise LogError(f"arm {unknown[0]!r} of the log is not one of the agent's arms: {there}")
    return [by_name[name] for name in log.arms]


def _check_range(log: "Log", agent: Agent) -> None:
    """Refuse a log with rewards outside the range that the agent's problem declares."""
    low, high = agent.problem.low, agent.problem.high
    outside = np.flatnonzero((log.rewards < low) | (log.rewards > high))
    if len(outside):
        row, least, most = outside[0], np.nanmin(log.rewards), np.nanmax(log.rewards)
        raise LogError(
            f"row {row + 1:,} of the log has the reward {log.rewards[row]:g}, and rewards of this agent lie in "
            f"[{low:g}, {high:g}]: declare a range, as in dw.MultiArmed(log.arms, reward_range=({least:g}, {most:g}))"
        )


def _learn_until(agent: Agent, log: "Log", waiting: list[tuple[float, int, int]], time: float) -> int:
    learned = 0
    while waiting and waiting[0][0] <= time:
        _, row, decision = heappop(waiting)
        learned += _learn(agent, log, row, decision)
    return learned


def _learn(agent: Agent, log: "Log", row: int, decision: int) -> int:
    budgets = getattr(agent.problem.structure, "amounts", None)
    costs = (
        {}
        if log.costs is None or budgets is None
        else {"costs": dict(zip(log.cost_names, log.costs[row].tolist(), strict=True))}
    )
    agent.learn(decision, reward=float(log.rewards[row]), **costs)
    return 1
