"""Estimates for a policy that learns have the mean of what agents earn that play for real in the same world."""

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.types import Floats

N_ROWS, N_LOGS, N_AGENTS, SIGHT = 400, 60, 250, 0.2
SHARES = np.array([0.5, 0.3, 0.2])
POLICY = dw.SlidingThompson(window=60)


def means_of(rng: np.random.Generator) -> Floats:
    """The best arm changes at mid-log."""
    early = np.arange(N_ROWS)[:, None] < N_ROWS // 2
    return np.where(early, [0.2, 0.5, 0.8], [0.9, 0.5, 0.1])


def estimate(seed: int, rounds: str) -> float:
    rng = np.random.default_rng(seed)
    actions = rng.choice(3, N_ROWS, p=SHARES)
    rewards = rng.random(N_ROWS) < means_of(rng)[np.arange(N_ROWS), actions]
    log = dw.Log.from_arrays(actions, rewards, arms=["a", "b", "c"], propensities=SHARES[actions])
    value = log.evaluate({"p": POLICY}, rounds=rounds, periods=1, seed=seed).policies["p"].value
    assert value is not None
    return value.mean


def play(seed: int, rounds: str) -> float:
    """An agent that decides in every row and sees a share of its rewards, or that meets a share of the rows.

    In the second case rows between two that it meets count for what it would choose there, so that all rows count.
    """
    rng = np.random.default_rng(10**6 + seed)
    agent = dw.Agent(POLICY, dw.MultiArmed(3, horizon=N_ROWS if rounds == "log" else 80), seed=10**6 + seed)
    means, total, decision = means_of(rng), 0.0, None
    for t in range(N_ROWS):
        if rounds == "log" or decision is None:
            decision = agent.decide()
        total += means[t, int(decision.action)] / N_ROWS
        if rng.random() < SIGHT:
            agent.learn(decision, reward=float(rng.random() < means[t, int(decision.action)]))
            decision = None
        elif rounds == "log":
            agent.cancel(decision)
    return total


@pytest.mark.parametrize("rounds", ["log", "accepted"])
def test_estimates_have_no_bias(rounds: str) -> None:
    """Within 3 standard errors: a right estimator fails once in 370 choices of seeds."""
    estimates = np.array([estimate(seed, rounds) for seed in range(N_LOGS)])
    truths = np.array([play(seed, rounds) for seed in range(N_AGENTS)])
    error = np.hypot(estimates.std() / np.sqrt(N_LOGS), truths.std() / np.sqrt(N_AGENTS))
    assert abs(estimates.mean() - truths.mean()) < 3.0 * error
