"""The running estimate is that of the formulas over all rows."""

import math

import msgspec
import numpy as np
import pytest

from driftwise.measure.estimators import Terms, doubly_robust, effective_sample_size
from driftwise.measure.intervals import mean_interval
from driftwise.measure.running_estimate import EstimateState, RunningEstimate


def rows(n: int, *, two_values: bool = True, seed: int = 0) -> np.ndarray:
    """Rows of weight, reward, prediction and expectation; weights average 1."""
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0.2, 0.9, n)
    weights = (rng.random(n) < chances) / chances
    rewards = (rng.random(n) < 0.4).astype(float) if two_values else rng.normal(2.0, 1.0, n)
    return np.column_stack([weights, rewards, rng.random(n), rng.random(n)])


def running(table: np.ndarray) -> RunningEstimate:
    estimate = RunningEstimate()
    for row in table.tolist():
        estimate.add(*row)
    return estimate


@pytest.mark.parametrize("two_values", [True, False])
@pytest.mark.parametrize("n", [100, 1500])
def test_it_equals_the_formulas_over_all_rows(n: int, two_values: bool) -> None:
    table = rows(n, two_values=two_values)
    terms, values = Terms(*table.T), running(table).values()
    contributions, size, ends = doubly_robust(terms), effective_sample_size(terms.weights), (0.0, 1.0)
    ends_ = ends if two_values else None
    assert values.size == pytest.approx(size)
    assert values.policy == pytest.approx(mean_interval(contributions, size=size, ends=ends_))
    assert values.earned == pytest.approx(mean_interval(terms.rewards, ends=ends_))
    assert values.difference == pytest.approx(mean_interval(contributions - terms.rewards, size=size))


def test_a_block_that_is_not_full_counts_too() -> None:
    for n in (101, 149, 250):
        table = rows(n)
        terms = Terms(*table.T)
        values = running(table).values()
        expected = mean_interval(doubly_robust(terms), size=effective_sample_size(terms.weights), ends=(0.0, 1.0))
        assert values.policy.mean == pytest.approx(expected.mean)
        assert values.policy.high - values.policy.low == pytest.approx(expected.high - expected.low, rel=0.05)


def test_a_state_that_was_saved_goes_on_with_the_same_bits() -> None:
    table = rows(333)
    whole = running(table)
    part = running(table[:157])
    saved = msgspec.msgpack.decode(msgspec.msgpack.encode(part.state), type=EstimateState)
    rest = RunningEstimate(saved)
    for row in table[157:].tolist():
        rest.add(*row)
    assert msgspec.msgpack.encode(rest.state) == msgspec.msgpack.encode(whole.state)
    assert rest.values() == whole.values()


def test_rewards_that_never_came_do_not_make_an_empty_interval() -> None:
    estimate = RunningEstimate()
    for _ in range(200):
        estimate.add(1.0, 0.0, 0.0, 0.0)
    policy, earned, *_ = estimate.values()
    assert policy.low == earned.low == 0.0
    assert 0.005 < policy.high < 0.05 and 0.005 < earned.high < 0.05


def test_rows_that_cannot_tell_are_refused_in_a_sentence() -> None:
    few, unlike, heavy = RunningEstimate(), RunningEstimate(), RunningEstimate()
    for n in range(400):
        few.add(2.0 if n < 10 else 0.0, 1.0, 0.0, 0.0)
        unlike.add(1.0 if n % 2 else 0.0, 1.0, 0.0, 0.0)
        heavy.add(2.0, 1.0, 0.0, 0.0)
    assert "the effective sample size is 10.0, below 20" in str(few.doubt())
    assert "average 0.50, not 1: this policy often chooses what could not be decided" in str(unlike.doubt())
    assert "average 2.00, not 1: the propensities do not fit" in str(heavy.doubt())
    assert running(rows(500)).doubt() is None
    assert math.isclose(RunningEstimate().size, 0.0)
