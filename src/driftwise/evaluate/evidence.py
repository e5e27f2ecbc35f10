"""What a log has to say of one policy: the weights of its rows, and predictions for what the policy chooses.

A policy that learns is replayed first. Its weights are 1 / p where its proposal is what was chosen, and 0 elsewhere:
what it proposes is drawn from its own probabilities, so that nobody needs to know them.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.problem import ProblemValue
from driftwise.core.types import Floats
from driftwise.evaluate.logged_problem import problem_of, tape_of
from driftwise.evaluate.logged_rows import LoggedRows
from driftwise.evaluate.overlap import check_replay
from driftwise.evaluate.paths import Paths, PathSums, Redraws
from driftwise.evaluate.periods import Period
from driftwise.evaluate.replay import Replay, replay_policy
from driftwise.evaluate.reward_model import RewardModel
from driftwise.evaluate.targets import Candidate, Learner, Mixture, Proposals, Target
from driftwise.measure.estimators import LEAST_SIZE, Terms

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
    redraws: Redraws | None  # where a policy learns
    ends: tuple[float, float] | None
    periods: list[Period]
    reward_range: tuple[float, float]
    problem: ProblemValue | None

    def path_sums(self) -> PathSums:
        """A collector of paths."""
        assert self.redraws is not None
        return PathSums(self.redraws, self.rows.known, np.array([each.start for each in self.periods]))


class PolicyEvidence(NamedTuple):
    """What a log has to say of one policy: terms of estimators, the share of rows it learned from, and doubts.

    `paths` tell what luck adds to the error, where any of the policies learns.
    """

    terms: Terms
    method: str
    paths: Paths | None = None
    acceptance: float | None = None
    warnings: tuple[str, ...] = ()
    least_size: float = LEAST_SIZE  # effective rows below which no value is given


def earnings(sample: Sample) -> PolicyEvidence:
    """The log on itself: every row counts once."""
    rewards = sample.rows.rewards[sample.rows.known]
    ones = np.ones(len(rewards))
    paths = _straight(sample, np.ones(len(sample.rows.actions)))
    return PolicyEvidence(Terms(ones, rewards, ones, ones), "ips", paths, least_size=1)


def evidence_of(candidate: Candidate, sample: Sample, settings: Settings) -> PolicyEvidence:
    """The evidence on a policy."""
    if isinstance(candidate, Learner):
        return _replayed(candidate, sample, settings)
    if not isinstance(candidate, Mixture):
        return earnings(sample)
    table = candidate.probabilities
    target = Mixture(table if table.ndim == 1 else table[sample.rows.places])
    weights, expectations = _weigh(target, sample.rows, sample.model)
    method = "snips" if settings.method == "replay" else settings.method
    return PolicyEvidence(_known(sample, weights, expectations), method, _straight(sample, weights))


def _straight(sample: Sample, weights: Floats) -> Paths | None:
    """The paths of a policy that does not learn: they are all the same, but noise is shared with those that do."""
    if sample.redraws is None:
        return None
    sums = sample.path_sums()
    for _ in sample.redraws.rewards:
        sums.add(weights, np.zeros(len(weights)))
    return sums.paths()


def _weigh(target: Target, rows: LoggedRows, model: RewardModel | None) -> tuple[Floats, Floats]:
    """The weight of every row, and the prediction for what the policy chooses there."""
    expectations = np.zeros(len(rows.actions)) if model is None else target.expect(model)
    return target.chances(rows.actions) / rows.propensities, expectations


def _known(sample: Sample, weights: Floats, expectations: Floats) -> Terms:
    """The terms of rows whose reward came."""
    rows, mask = sample.rows, sample.rows.known
    predictions = np.zeros(len(weights)) if sample.model is None else sample.model.predict(rows.actions)
    return Terms(weights[mask], rows.rewards[mask], predictions[mask], expectations[mask])


def _replayed(learner: Learner, sample: Sample, settings: Settings) -> PolicyEvidence:
    """The evidence of replays, averaged over them."""
    rows = sample.rows
    n, smallest = len(rows.actions), float(rows.propensities.min())
    acceptance = settings.acceptance or max(smallest, LEAST_ACCEPTANCE)
    horizon = n if settings.rounds == "log" else max(1, round(acceptance * n))
    value = problem_of(learner.policy, sample.seen, sample.reward_range, horizon, sample.problem)
    problem, tape = tape_of(learner.policy, value, sample.seen)
    weights, expectations, accepted = np.zeros(n), np.zeros(n), np.zeros(n)

    def play(rewards: Floats, seed: int) -> Replay:
        return replay_policy(
            learner.policy,
            problem,
            tape._replace(rewards=rewards),
            acceptance=acceptance,
            rounds=settings.rounds,
            seed=seed,
        )

    for i in range(settings.replays):
        replay = play(rows.rewards, settings.seed + i)
        own, expected = _weigh(Proposals(replay.proposals), rows, sample.model)
        weights, expectations, accepted = weights + own, expectations + expected, accepted + replay.accepted
    assert sample.redraws is not None
    sums = sample.path_sums()
    for i, rewards in enumerate(sample.redraws.rewards):
        replay = play(rewards, settings.seed + settings.replays + i)
        sums.add(*_weigh(Proposals(replay.proposals), rows, sample.redraws.model))
    method, share = settings.method, float(accepted.mean()) / settings.replays
    if method == "replay":
        method, weights = "snips", accepted
    terms = _known(sample, weights / settings.replays, expectations / settings.replays)
    return PolicyEvidence(terms, method, sums.paths(), share, check_replay(share * n, acceptance, rows.propensities))
