"""`filter-bank-lin-ucb` agrees with its slow twin; neither scale nor offset of anything matters to it."""

import numpy as np
import pytest

from driftwise.core.seeding import at, key
from driftwise.core.types import Decision, Floats, Outcome, Problem
from driftwise.errors import ParameterError
from driftwise.families import FilterBankLinUCB
from driftwise.families.contextual.filter_bank import (
    LinearFilterBank,
    correct,
    new_filter_bank,
    pool_offsets,
    walk_bank,
)
from driftwise.families.contextual.policies.filter_bank_lin_ucb import FilterBankLinUCBState
from tests.families.contextual.twins.filter_bank_lin_ucb import FilterBankLinUCBTwin
from tests.fixtures.verbs import advance, pend, select, settle, update

DIM, ROUNDS = 3, 150
PROBLEM = Problem(5, -np.inf, np.inf, dim=DIM, family="contextual")


def choices(features: float = 1.0, factor: float = 1.0, shift: float = 0.0, floor: float = 0.0) -> list[int]:
    policy, luck, chosen = FilterBankLinUCB(floor=floor), np.random.default_rng(3), []
    state, theta = policy.init(PROBLEM), luck.standard_normal(DIM)
    for t in range(ROUNDS):
        rows = luck.standard_normal((5, DIM))
        own = at(key(2), t)
        advance(policy, state, t, own)
        row, propensity = select(policy, state, t, features * rows, own)
        assert propensity == pytest.approx(1.0 if floor == 0.0 else floor / 5 + (1 - floor) * (propensity > floor / 5))
        reward = factor * (rows[row] @ theta + 0.3 * luck.standard_normal()) + shift
        update(policy, state, Decision(t, row, propensity, features * rows[row], own), Outcome(float(reward)), t)
        chosen.append(int(row))
    return chosen


@pytest.mark.parametrize("other", [{"features": 8.0}, {"factor": 0.25}, {"factor": 100.0, "shift": 1000.0}])
def test_neither_scale_nor_offset_matters(other: dict[str, float]) -> None:
    assert choices(**other) == choices()


def test_a_floor_explores() -> None:
    assert choices(floor=0.5) != choices()


def test_beliefs_are_those_of_the_twin() -> None:
    """The fixed rows drift steadily, so that the variogram finds a stray pace."""
    policy, luck = FilterBankLinUCB(), np.random.default_rng(5)
    state, twin, rows = policy.init(PROBLEM), FilterBankLinUCBTwin(policy, PROBLEM), luck.standard_normal((5, DIM))
    theta: Floats = luck.standard_normal(DIM)
    for t in range(ROUNDS):
        own = at(key(2), t)
        advance(policy, state, t, own)
        row, _ = select(policy, state, t, rows, own)
        if t % 15 == 14:
            for found, expected in zip((state.bank.mean, state.bank.covariance), twin.estimate(t), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
        reward = float(rows[row] @ (theta + 0.03 * t) + 0.1 * luck.standard_normal())
        update(policy, state, Decision(t, row, 1.0, rows[row], own), Outcome(reward), t)
        twin.learn(t, rows[row], reward)
    assert state.bank.paces[-1] > 0.0


def test_rows_whose_rewards_never_come_are_dropped() -> None:
    """Rewards are some five rounds late, and every third is lost; the lost ones never settle."""
    policy, luck, due = FilterBankLinUCB(), np.random.default_rng(8), dict[int, list[tuple[int, Floats, float]]]()
    state, twin, rows = policy.init(PROBLEM), FilterBankLinUCBTwin(policy, PROBLEM), luck.standard_normal((5, DIM))
    theta: Floats = luck.standard_normal(DIM)
    for t in range(ROUNDS):
        own = at(key(2), t)
        advance(policy, state, t, own)
        row, _ = select(policy, state, t, rows, own)
        if t % 15 == 14:
            for found, expected in zip((state.bank.mean, state.bank.covariance), twin.estimate(t), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
        pend(policy, state, Decision(t, row, 1.0, rows[row], own))
        twin.pend(t, rows[row])
        if t % 3:
            reward = float(rows[row] @ theta + 0.1 * luck.standard_normal())
            due.setdefault(t + int(luck.integers(11)), []).append((t, rows[row], reward))
        for then, x, y in due.pop(t, []):
            decision = Decision(then, 0, 1.0, x, own)
            settle(policy, state, decision)
            twin.settle(then)
            update(policy, state, decision, Outcome(y), t)
            twin.learn(then, x, y, t)
    assert max(pending_rows(state)) < 20 < ROUNDS // 3 - 20


def pending_rows(state: FilterBankLinUCBState) -> list[int]:
    """How many rows under way have each feature."""
    return [int(count) for count in state.pending.young.counts + state.pending.old.counts]


def variances_of_arms(bank: LinearFilterBank) -> Floats:
    """By filter and arm, of unit vectors: those of theta_k + b."""
    return np.array(np.einsum("jkk->jk", bank.covariances) + 2.0 * bank.crosses + bank.spreads[:, None])


def test_rounds_that_pass_make_nothing_more_certain() -> None:
    """Unit vectors and an offset: coordinates stay unknown, far above the ceiling, while arms are known."""
    bank = new_filter_bank(DIM)
    for arm in range(4 * DIM):
        for j in range(len(bank.paces)):
            correct(bank, j, np.eye(DIM)[arm % DIM], 1.0, 0.5, 0.0)
    known, ceiling = variances_of_arms(bank), 2.0
    assert bank.spreads.min() > 1000.0 and known.max() < 0.3
    walk_bank(bank, 1, ceiling)
    assert np.all(variances_of_arms(bank) > 0.999 * known)


def test_pooled_offsets_keep_what_was_learned() -> None:
    """Arms keep their means, to the width that they are known to, though offsets and coordinates move."""
    bank = new_filter_bank(DIM)
    for arm in range(4 * DIM):
        for j in range(len(bank.paces)):
            correct(bank, j, np.eye(DIM)[arm % DIM], 1.0, 0.5 + j, 0.0)
    arms, apart = bank.means + bank.offsets[:, None], np.ptp(bank.offsets)
    pool_offsets(bank)
    assert np.ptp(bank.offsets) < 0.995 * apart
    np.testing.assert_allclose(bank.means + bank.offsets[:, None], arms, atol=1e-4)


def test_many_rounds_pass_at_once() -> None:
    one, many = new_filter_bank(DIM), new_filter_bank(DIM)
    for _ in range(30):
        walk_bank(one, 1, 5.0)
    walk_bank(many, 30, 5.0)
    for found, expected in zip(many, one, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_floor_is_a_share() -> None:
    with pytest.raises(ParameterError, match=r"floor=1.5 is outside \[0, 1\]"):
        FilterBankLinUCB(floor=1.5).init(PROBLEM)
