"""What a log has to say of one policy: the weights of its rows, and predictions for what the policy chooses.

A policy that learns is replayed first. Its weights are 1 / p where its proposal is what was chosen, and 0 elsewhere:
what it proposes is drawn from its own probabilities, so that nobody needs to know them.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.problem import ProblemValue
from driftwise.core.types import Floats
from driftwise.evaluate.estimators import Terms
from driftwise.evaluate.logged_problem import player_of, problem_of, tape_of
from driftwise.evaluate.logged_rows import LoggedRows
from driftwise.evaluate.overlap import check_replay
from driftwise.evaluate.periods import Period
from driftwise.evaluate.replay import replay_policy
from driftwise.evaluate.reward_model import RewardModel
from driftwise.evaluate.targets import Candidate, Learner, Mixture, Proposals, Target

LEAST_ACCEPTANCE = 0.02


class Settings(NamedTuple):
    """How to evaluate; see `evaluate`."""

    method: str
    rounds: str
    acceptance: float | None
    threshold: float | None
    replays: int
    seed: int


class Sample(NamedTuple):
    """What is the same for every policy. `seen` are the rows with the context that policies are given."""

    rows: LoggedRows
    seen: LoggedRows
    model: RewardModel | None
    ends: tuple[float, float] | None
    periods: list[Period]
    reward_range: tuple[float, float]
    problem: ProblemValue | None


class Evidence(NamedTuple):
    """What a log has to say of one policy: the terms of estimators, the share of rows it learned from, and doubts."""

    terms: Terms
    method: str
    acceptance: float | None = None
    warnings: tuple[str, ...] = ()


def earnings(sample: Sample) -> Evidence:
    """The log on itself: every row counts once."""
    rewards = sample.rows.rewards[sample.rows.known]
    ones = np.ones(len(rewards))
    return Evidence(Terms(ones, rewards, ones, ones), "ips")


def evidence_of(candidate: Candidate, sample: Sample, settings: Settings) -> Evidence:
    """The evidence on a policy."""
    if isinstance(candidate, Learner):
        return _replayed(candidate, sample, settings)
    if not isinstance(candidate, Mixture):
        return earnings(sample)
    table = candidate.probabilities
    target = Mixture(table if table.ndim == 1 else table[sample.rows.places])
    method = "snips" if settings.method == "replay" else settings.method
    return Evidence(_known(sample, *_weigh(target, sample)), method)


def _weigh(target: Target, sample: Sample) -> tuple[Floats, Floats]:
    """The weight of every row, and the prediction for what the policy chooses there."""
    rows = sample.rows
    expectations = np.zeros(len(rows.actions)) if sample.model is None else target.expect(sample.model)
    return target.chances(rows.actions) / rows.propensities, expectations


def _known(sample: Sample, weights: Floats, expectations: Floats) -> Terms:
    """The terms of rows whose reward came."""
    rows, known = sample.rows, sample.rows.known
    predictions = np.zeros(len(weights)) if sample.model is None else sample.model.predict(rows.actions)
    return Terms(weights[known], rows.rewards[known], predictions[known], expectations[known])


def _replayed(learner: Learner, sample: Sample, settings: Settings) -> Evidence:
    """The evidence of replays, averaged over them."""
    rows = sample.rows
    n, smallest = len(rows.actions), float(rows.propensities.min())
    acceptance = settings.acceptance or max(smallest, LEAST_ACCEPTANCE)
    horizon = n if settings.rounds == "log" else max(1, round(acceptance * n))
    policy = player_of(learner.policy, sample.seen, sample.problem)
    value = problem_of(policy, sample.seen, sample.reward_range, horizon, sample.problem)
    problem, tape = tape_of(policy, value, sample.seen)
    weights, expectations, accepted = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(settings.replays):
        replay = replay_policy(
            policy, problem, tape, acceptance=acceptance, rounds=settings.rounds, seed=settings.seed + i
        )
        own, expected = _weigh(Proposals(replay.proposals), sample)
        weights, expectations, accepted = weights + own, expectations + expected, accepted + replay.accepted
    method, share = settings.method, float(accepted.mean()) / settings.replays
    if method == "replay":
        method, weights = "snips", accepted
    terms = _known(sample, weights / settings.replays, expectations / settings.replays)
    return Evidence(terms, method, share, check_replay(share * n, acceptance, rows.propensities))
