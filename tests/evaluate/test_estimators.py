"""Estimators against formulas written out row by row, and intervals against known cases."""

import numpy as np
import pytest

from driftwise.evaluate.reward_model import design, fit_rewards
from driftwise.measure.estimators import (
    Terms,
    doubly_robust,
    effective_sample_size,
    inverse_propensity,
    self_normalised,
    switch_doubly_robust,
    switch_threshold,
)
from driftwise.measure.intervals import mean_interval, standard_error


@pytest.fixture
def rows() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    n, n_arms = 300, 4
    propensities = rng.dirichlet(np.ones(n_arms), n)
    target = rng.dirichlet(np.ones(n_arms), n)
    actions = np.array([rng.choice(n_arms, p=p) for p in propensities])
    return propensities, target, actions, rng.normal(size=n), rng.normal(size=(n, n_arms))


def terms_of(rows: tuple[np.ndarray, ...]) -> Terms:
    propensities, target, actions, rewards, q = rows
    at = np.arange(len(actions)), actions
    return Terms(target[at] / propensities[at], rewards, q[at], (target * q).sum(axis=1))


def test_estimators_equal_their_formulas(rows: tuple[np.ndarray, ...]) -> None:
    propensities, target, actions, rewards, q = rows
    n, tau = len(actions), 2.0
    ips = dr = switch = top = bottom = 0.0
    for t in range(n):
        a, r = actions[t], rewards[t]
        w = target[t, a] / propensities[t, a]
        direct = sum(target[t, k] * q[t, k] for k in range(4))
        ips += w * r / n
        dr += (direct + w * (r - q[t, a])) / n
        switch += (direct + (w * (r - q[t, a]) if w <= tau else 0.0)) / n
        top, bottom = top + w * r, bottom + w
    terms = terms_of(rows)
    assert inverse_propensity(terms).mean() == pytest.approx(ips, rel=1e-12)
    assert doubly_robust(terms).mean() == pytest.approx(dr, rel=1e-12)
    assert switch_doubly_robust(terms, tau).mean() == pytest.approx(switch, rel=1e-12)
    assert self_normalised(terms).mean() == pytest.approx(top / bottom, rel=1e-12)


def test_switching_between_its_ends(rows: tuple[np.ndarray, ...]) -> None:
    terms = terms_of(rows)
    assert switch_doubly_robust(terms, 0.0).mean() == pytest.approx(terms.expectations.mean())
    assert switch_doubly_robust(terms, np.inf).mean() == pytest.approx(doubly_robust(terms).mean())
    assert terms.weights.min() <= switch_threshold(terms) <= terms.weights.max()


def test_effective_sample_size() -> None:
    assert effective_sample_size(np.ones(7)) == 7.0
    assert effective_sample_size(np.array([0.0, 3.0, 3.0])) == 2.0
    assert effective_sample_size(np.zeros(3)) == 0.0


def test_drift_is_no_error() -> None:
    """A mean that rises by a thousand deviations leaves the standard error that of the noise."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=20_000)
    drift = np.repeat(np.linspace(0.0, 1000.0, 200), 100)
    error, groups = standard_error(noise + drift)
    assert groups == 20_000
    assert error == pytest.approx(1.0 / np.sqrt(20_000), rel=0.05)


def test_rows_of_a_unit_count_together() -> None:
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=500), 20)
    order = rng.permutation(len(values))
    units = np.repeat(np.arange(500), 20)[order]
    alone, _ = standard_error(values[order])
    together, groups = standard_error(values[order], units)
    assert groups == 500
    assert together == pytest.approx(1.0 / np.sqrt(500), rel=0.15)
    assert together > 4.0 * alone


def test_wilson_where_rewards_have_two_values() -> None:
    """Nothing seen in 100 rows: the upper end of Wilson's interval, with Student's quantile."""
    found = mean_interval(np.zeros(100), ends=(0.0, 1.0))
    square = 1.98422**2 / 100
    assert found.low == 0.0
    assert found.high == pytest.approx(square / (1.0 + square), rel=1e-4)
    shifted = mean_interval(np.full(100, 5.0), ends=(5.0, 7.0))
    assert shifted.high == pytest.approx(5.0 + 2.0 * found.high)


def test_too_few_rows_have_no_ends() -> None:
    assert mean_interval(np.array([1.0]))[1:] == (-np.inf, np.inf)


def test_predictions_use_earlier_rows_only() -> None:
    rng = np.random.default_rng(0)
    actions, rewards = rng.integers(0, 3, 2000), rng.normal(size=2000)
    context = rng.normal(size=(2000, 2))
    model = fit_rewards(3, actions, rewards, design(context, len(actions)))
    changed = rewards.copy()
    changed[1500:] += np.where(rng.random(500) < 0.5, 10.0, -10.0)
    changed[1500:] += rewards.mean() - changed.mean()
    changed[-1] += 2000 * (rewards.mean() - changed.mean())  # the same mean over the log
    again = fit_rewards(3, actions, changed, design(context, len(actions)))
    np.testing.assert_allclose(again.predict(actions)[:1500], model.predict(actions)[:1500], atol=1e-9)


def test_predictions_follow_drift_and_context() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    actions, x = rng.integers(0, 2, n), rng.normal(size=(n, 1))
    means = np.where(np.arange(n) < n // 2, 0.0, 5.0) + np.where(actions == 0, 1.0, -1.0) * x[:, 0]
    model = fit_rewards(2, actions, means + 0.1 * rng.normal(size=n), design(x, n))
    late = slice(3 * n // 4, n)
    assert np.abs(model.predict(actions) - means)[late].mean() < 0.1
    half = model.expect(np.array([0.5, 0.5]))
    assert np.abs(half - 5.0)[late].mean() < 0.1
    np.testing.assert_allclose(half, model.expect(np.full((n, 2), 0.5)))
