"""Replay: the same choices as an agent that decides in every row, learns from accepted rows, and cancels the others."""

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.random import uniform
from driftwise.core.seeding import at, key
from driftwise.evaluate.logged_problem import LoggedRows, problem_of, tape_of
from driftwise.evaluate.logged_tape import arrivals_of
from driftwise.evaluate.replay import replay_policy

ARMS = ("a", "b", "c")


def rows_of(n: int, *, late: bool = False, width: int = 0) -> LoggedRows:
    rng = np.random.default_rng(5)
    actions = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    rewards = (rng.random(n) < np.array([0.2, 0.5, 0.4])[actions]).astype(float)
    times = np.arange(n, dtype=float)
    delays = rng.exponential(20.0, n)
    if late:
        rewards[rng.random(n) < 0.1] = np.nan
    return LoggedRows(
        ARMS,
        np.arange(n),
        actions,
        rewards,
        np.array([0.5, 0.3, 0.2])[actions],
        times,
        times + delays if late else None,
        rng.normal(size=(n, width)) * 0.3 if width else None,
    )


def agent_replay(policy: Any, problem: Any, rows: LoggedRows, acceptance: float, seed: int) -> list[str]:
    """What an agent chooses in every row; rewards reach it in the order in which they came."""
    agent, luck = dw.Agent(policy, problem, seed=seed), key(seed, "acceptance")
    arrivals = arrivals_of(rows.rewards, rows.times, rows.rewarded_at)
    waiting: dict[int, Any] = {}
    chosen = []
    for i, action in enumerate(rows.actions):
        context = {} if rows.context is None else {"context": rows.context[i]}
        decision = agent.decide(**context)
        chosen.append(decision.action)
        u, _ = uniform(at(luck, i))
        if decision.action == ARMS[action] and u * rows.propensities[i] < acceptance:
            waiting[i] = decision
        else:
            agent.cancel(decision)
        due = sorted((arrivals[j], j) for j in waiting if arrivals[j] <= i)
        for _, j in due:
            agent.learn(waiting.pop(j), reward=float(rows.rewards[j]))
    return chosen


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("policy", [dw.SlidingThompson(window=100), dw.EXP3(gamma=0.1)], ids=["window", "exp3"])
def test_replay_is_an_agent_that_sees_a_share(policy: Any, late: bool) -> None:
    rows = rows_of(600, late=late)
    value = problem_of(policy, rows, (0.0, 1.0), 600)
    problem, tape = tape_of(policy, value, rows)
    found = replay_policy(policy, problem, tape, acceptance=0.2, seed=3)
    assert [ARMS[arm] for arm in found.proposals] == agent_replay(policy, value, rows, 0.2, 3)
    assert 0.1 < found.accepted.mean() < 0.3


def test_replay_with_a_context() -> None:
    policy, rows = dw.LinUCB(), rows_of(300, late=True, width=2)
    value = problem_of(policy, rows, (0.0, 1.0), 300)
    assert value.context_dim == 2  # type: ignore[attr-defined]
    problem, tape = tape_of(policy, value, rows)
    found = replay_policy(policy, problem, tape, acceptance=0.2, seed=3)
    assert [ARMS[arm] for arm in found.proposals] == agent_replay(policy, value, rows, 0.2, 3)


def test_rounds_of_accepted_rows_are_an_agent_that_meets_only_these() -> None:
    policy, rows = dw.SlidingThompson(window=50), rows_of(600)
    value = problem_of(policy, rows, (0.0, 1.0), 600)
    problem, tape = tape_of(policy, value, rows)
    found = replay_policy(policy, problem, tape, acceptance=0.2, rounds="accepted", seed=3)
    agent = dw.Agent(policy, value, seed=3)
    for i in np.flatnonzero(found.accepted):
        decision = agent.decide()
        assert decision.action == ARMS[rows.actions[i]]
        assert decision.id == found.rounds[i]
        agent.learn(decision, reward=float(rows.rewards[i]))


def test_rows_are_accepted_at_random() -> None:
    """Whatever is proposed, a row is accepted with probability c: the share is within 4 standard errors of it."""
    rows = rows_of(20_000)
    for policy in (dw.SlidingThompson(window=100), dw.EXP3(gamma=0.1)):
        value = problem_of(policy, rows, (0.0, 1.0), len(rows.actions))
        problem, tape = tape_of(policy, value, rows)
        found = replay_policy(policy, problem, tape, acceptance=0.2)
        assert abs(found.accepted.mean() - 0.2) < 4.0 * np.sqrt(0.2 * 0.8 / 20_000)
        for arm in range(3):
            own = found.proposals == arm
            assert abs(found.accepted[own].mean() - 0.2) < 4.0 * np.sqrt(0.2 * 0.8 / own.sum())


def test_rewards_arrive_after_later_rows() -> None:
    times = np.array([0.0, 10.0, 20.0, 30.0])
    rewards = np.array([1.0, 1.0, np.nan, 1.0])
    came = np.array([25.0, 10.0, 21.0, np.nan])
    assert arrivals_of(rewards, times, came).tolist() == [2, 1, 4, 3]
    assert arrivals_of(rewards, None, None).tolist() == [0, 1, 4, 3]
