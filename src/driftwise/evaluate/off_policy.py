"""What policies would have earned on a log.

The value of a policy is the mean reward per decision, over the rows of the log, had it made these decisions. Of a fixed
policy that is all there is to say. A policy that learns is replayed (`replay.py`): its value is that of a policy which
decides in every row, and sees the rewards of a random share of its decisions, the `acceptance`; with full sight it
would learn faster. Both assume that choices change neither who comes next nor what later choices earn.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from driftwise.core.problem import ProblemValue
from driftwise.core.types import Floats
from driftwise.core.validation import number, one_of, whole
from driftwise.evaluate.comparison import LOGGED, Contender, compare
from driftwise.evaluate.evaluation import Evaluation, PeriodValue, PolicyEvaluation
from driftwise.evaluate.evidence import PolicyEvidence, Sample, Settings, earnings, evidence_of
from driftwise.evaluate.log import Log
from driftwise.evaluate.logged_problem import (
    arms_of,
    check_reward_range,
    lacks_constant,
    player_of,
    reads_context,
    reward_range_of,
)
from driftwise.evaluate.logged_rows import LoggedRows, rows_as_logged, rows_of
from driftwise.evaluate.overlap import check_weights
from driftwise.evaluate.paths import redraw
from driftwise.evaluate.periods import periods_of
from driftwise.evaluate.replay import ROUNDS
from driftwise.evaluate.reward_model import design, fit_rewards, smooth_rewards
from driftwise.evaluate.targets import Candidate, Learner, LoggedChoices, read_policies
from driftwise.measure.estimators import ESTIMATORS, Terms, effective_sample_size, switch_threshold
from driftwise.measure.intervals import Interval, mean_interval

METHODS = (*ESTIMATORS, "replay")
WITH_MODEL = ("dr", "switch-dr")
RARE = 10.0  # effective rows


def evaluate(
    log: Log,
    policies: object,
    *,
    method: str = "dr",
    periods: int | str = 10,
    rounds: str = "log",
    acceptance: float | None = None,
    threshold: float | None = None,
    replays: int = 1,
    reward_range: tuple[float, float] | None = None,
    problem: ProblemValue | None = None,
    standardise: bool = False,
    estimate: bool = False,
    seed: int = 0,
) -> Evaluation:
    """What policies would have earned on the rows of a log, with 95 % intervals.

    Parameters
    ----------
    log : Log
        Decisions with a share of random choices, and their propensities where these are known.
    policies
        A policy, its text (`sliding-ucb:window=500`, `fixed:ARM`, `uniform`, `logged`), an array of probabilities, a
        list of these, or a mapping from names to them.
    method : str
        `dr`, `ips`, `snips`, `switch-dr` (`estimators.py`), or `replay`: the mean reward of accepted rows.
    periods : int or str
        How many periods of equally many rows to tell apart, or `hour`, `day`, `week`, `month`.
    rounds : str
        What a round of a policy that learns is: a row of the `log`, or an `accepted` row (`replay.py`).
    acceptance : float, optional
        The probability with which a row is accepted in a replay: the smallest propensity, at least 0.02.
    threshold : float, optional
        The largest weight that `switch-dr` trusts; chosen by its error bound where not given.
    replays : int
        Replays to average, with other random numbers each.
    reward_range : pair of float, optional
        The range of rewards that policies read; [0, 1] where that holds all of them, else the least and the largest.
    problem : problem value, optional
        A `Contextual` problem whose arms bring rows of features, or a `MultiArmed` one; made of the log if not given.
    standardise : bool
        Give contextual policies columns of mean 0 and deviation 1, and a constant one, divided by the root of their
        number.
    estimate : bool
        Estimate propensities though the log has them.
    seed : int
        All randomness of replays comes from it.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> actions = rng.integers(0, 2, 1000)
    >>> rewards = (rng.random(1000) < np.where(actions == 0, 0.3, 0.6)).astype(float)
    >>> log = Log.from_arrays(actions, rewards, arms=["old", "new"], propensities=np.full(1000, 0.5))
    >>> found = evaluate(log, ["fixed:old", "fixed:new"])
    >>> {name: round(each.value.mean, 2) for name, each in found.policies.items()}
    {'fixed:old': 0.27, 'fixed:new': 0.62}
    """
    settings = _settings(method, rounds, acceptance, threshold, replays, seed)
    arms = arms_of(log, problem)
    candidates = read_policies(policies, arms, len(log))
    only_logged = all(isinstance(each, LoggedChoices) for each in candidates.values())
    rows, notes = (rows_as_logged(log), []) if only_logged else rows_of(log, arms, estimate)
    candidates = _players(candidates, rows, problem)
    span = reward_range_of(rows.rewards) if reward_range is None else check_reward_range(reward_range, rows.rewards)
    notes += _assumptions(rows, candidates, span if reward_range is None else None, standardise)
    times = None if rows.times is None else rows.times[rows.known]
    spells = periods_of(periods, int(rows.known.sum()), times, log.dated, log.timezone)
    seen = _standardised(rows) if standardise else rows
    empty = Sample(rows, seen, None, None, _two_values(rows.rewards[rows.known]), spells, span, problem)
    sample = _with_models(
        empty,
        predicts=settings.method in WITH_MODEL and not only_logged,
        learners=bool(_learners(candidates)),
        seed=settings.seed,
    )
    evidence = {name: evidence_of(each, sample, settings) for name, each in candidates.items()}
    return _judged(log, evidence, sample, settings, notes)


def _settings(
    method: str, rounds: str, acceptance: float | None, threshold: float | None, replays: int, seed: int
) -> Settings:
    one_of("method", method, METHODS)
    one_of("rounds", rounds, ROUNDS)
    if acceptance is not None:
        acceptance = number("acceptance", acceptance, above=0.0, below=1.0, closed="]")
    if threshold is not None:
        threshold = number("threshold", threshold, above=0.0)
    replays, seed = whole("replays", replays, high=1000), whole("seed", seed, low=0, high=2**63 - 1)
    return Settings(method, rounds, acceptance, threshold, replays, seed)


def _players(
    candidates: Mapping[str, Candidate], rows: LoggedRows, problem: ProblemValue | None
) -> dict[str, Candidate]:
    """Candidates by name; where one is `auto`, the policy that it is in this problem."""
    return {
        name: Learner(player_of(each.policy, rows, problem)) if isinstance(each, Learner) else each
        for name, each in candidates.items()
    }


def _learners(candidates: Mapping[str, Candidate]) -> list[Learner]:
    return [each for each in candidates.values() if isinstance(each, Learner)]


def _assumptions(
    rows: LoggedRows, candidates: Mapping[str, Candidate], assumed: tuple[float, float] | None, standardise: bool
) -> list[str]:
    """Notes on what policies that learn are given beside the rows: an assumed range of rewards, and no constant."""
    learners, notes = _learners(candidates), []
    if learners and assumed is not None and assumed != (0.0, 1.0):
        low, high = assumed
        notes.append(f"policies are given the reward range [{low:g}, {high:g}], which holds all rewards of this log")
    if not standardise and _lacks_constant(rows, learners):
        notes.append(
            "no column of features is constant, so that linear policies have no intercept; standardise adds one"
        )
    return notes


def _with_models(sample: Sample, *, predicts: bool, learners: bool, seed: int) -> Sample:
    """A sample with the model that the method predicts by, and, where policies learn, with redrawn logs."""
    if not predicts and not learners:
        return sample
    rows, n_arms = sample.rows, len(sample.rows.arms)
    x = design(rows.context, len(rows.actions), rows.features)
    if predicts:
        sample = sample._replace(model=fit_rewards(n_arms, rows.actions, rows.rewards, x))
    if learners:
        smooth = smooth_rewards(n_arms, rows.actions, rows.rewards, x)
        redraws = redraw(smooth, rows.actions, rows.rewards, sample.ends, sample.reward_range, seed)
        sample = sample._replace(redraws=redraws)
    return sample


def _judged(
    log: Log, evidence: Mapping[str, PolicyEvidence], sample: Sample, settings: Settings, notes: Sequence[str]
) -> Evaluation:
    """The values of policies, that of the log, and how they compare."""
    values = {name: _value(each, sample, settings) for name, each in evidence.items()}
    own = earnings(sample)
    logged, earned = _value(own, sample, settings)
    assert earned is not None
    others = {
        name: Contender(each, evidence[name].paths, result.effective_sample_size)
        for name, (result, each) in values.items()
        if name != LOGGED and each is not None
    }
    units = None if sample.rows.units is None else sample.rows.units[sample.rows.known]
    comparisons = compare(Contender(earned, own.paths, float(len(earned))), others, units)
    results = {name: each for name, (each, _) in values.items()}
    return Evaluation(
        len(log), log.arms, results, logged, comparisons, (*log.notes, *notes, *_sight(evidence.values()))
    )


def _sight(evidence: Iterable[PolicyEvidence]) -> list[str]:
    """How much policies that learn saw of what they chose."""
    shares = [each.acceptance for each in evidence if each.acceptance is not None]
    if not shares:
        return []
    return [
        f"policies that learn saw the rewards of {max(shares):.0%} of their decisions, where they chose as the log "
        "did; with all of them they would learn faster"
    ]


def _standardised(rows: LoggedRows) -> LoggedRows:
    """Columns of mean 0 and deviation 1 and a constant one, divided by the root of their number."""
    context, features, n = rows.context, rows.features, len(rows.actions)
    if context is not None:
        context = design(context, n)
        context = context / np.sqrt(context.shape[1])
    if features is not None:
        features = design(None, n, features)
        features = features / np.sqrt(features.shape[2])
    return rows._replace(context=context, features=features)


def _lacks_constant(rows: LoggedRows, learners: Sequence[Learner]) -> bool:
    """Whether a policy that reads the context is given no column for an intercept."""
    return any(reads_context(each.policy) for each in learners) and lacks_constant(rows.context, rows.features)


def _two_values(rewards: Floats) -> tuple[float, float] | None:
    """The two values of rewards, where there are no more; a constant 0 or 1 is one of 0 and 1."""
    low, high = float(rewards.min()), float(rewards.max())
    if low == high:
        return (0.0, 1.0) if low in (0.0, 1.0) else None
    return (low, high) if ((rewards == low) | (rewards == high)).all() else None


def _is_rare(terms: Terms, ends: tuple[float, float]) -> bool:
    """Whether one of the two values of rewards has a few effective rows only."""
    return any(effective_sample_size(terms.weights[terms.rewards == end]) < RARE for end in ends)


def _value(evidence: PolicyEvidence, sample: Sample, settings: Settings) -> tuple[PolicyEvaluation, Floats | None]:
    """The value of a policy, in all and by period, and what each row contributes to it; None where it has none."""
    terms, replays = evidence.terms, evidence.acceptance is not None and settings.method == "replay"
    method = "replay" if replays else evidence.method
    size = effective_sample_size(terms.weights)
    why, doubts = check_weights(terms.weights, evidence.least_size, scaled=not replays)
    if why is not None:
        warnings = (why, *evidence.warnings)
        return PolicyEvaluation(None, method, size, (), evidence.acceptance, warnings), None
    threshold = settings.threshold or (switch_threshold(terms) if evidence.method == "switch-dr" else np.inf)
    estimator, units = ESTIMATORS[evidence.method], sample.rows.units
    units = None if units is None else units[sample.rows.known]

    def value_of(start: int, stop: int, period: int | None = None) -> tuple[Interval | None, float]:
        part = terms.rows(start, stop)
        part_size = effective_sample_size(part.weights)
        own = None if units is None else units[start:stop]
        luck = 0.0 if evidence.paths is None else evidence.paths.variance(period)
        interval = mean_interval(
            estimator(part, threshold),
            size=part_size,
            units=own,
            ends=sample.ends,
            rare=sample.ends is not None and _is_rare(part, sample.ends),
            variance=luck,
        )
        return interval if part_size >= evidence.least_size else None, part_size

    periods = tuple(PeriodValue(each, *value_of(each.start, each.stop, i)) for i, each in enumerate(sample.periods))
    value, _ = value_of(0, len(terms.weights))
    warnings = (*evidence.warnings, *doubts)
    result = PolicyEvaluation(value, method, size, periods, evidence.acceptance, warnings)
    return result, estimator(terms, threshold)
