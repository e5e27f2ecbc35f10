"""How far the means of all arms went: a step that several arms took at once is one step."""

import numpy as np
import pytest

import driftwise as dw

ROWS = 9000


def log_of(dates: tuple[float, float], sizes: tuple[float, float], seed: int) -> dw.Log:
    """Two arms, of which each steps at its date, a share of the log, and one that stays."""
    random = np.random.default_rng(seed)
    arms, x = random.integers(0, 3, ROWS), np.arange(ROWS) / ROWS
    means = np.full((ROWS, 3), 0.3)
    for k in range(2):
        means[:, k] += sizes[k] * (x > dates[k])
    rewards = (random.random(ROWS) < means[np.arange(ROWS), arms]).astype(float)
    return dw.Log.from_arrays(arms, rewards)


@pytest.mark.parametrize(("dates", "total"), [((0.5, 0.5), 0.4), ((0.3, 0.7), 0.7)])
def test_steps_add_up_unless_they_are_one(dates: tuple[float, float], total: float) -> None:
    found = [log_of(dates, (0.4, -0.3 + 0.6 * (seed % 2)), seed).diagnose().variation for seed in range(10)]
    assert np.mean([each.value for each in found]) == pytest.approx(total, abs=0.05)
    assert np.mean([each.low <= total <= each.high for each in found]) >= 0.8
    assert all(each.low <= each.value <= each.high for each in found)


def test_dates_of_several_arms_one_after_another_are_one_step_each() -> None:
    random = np.random.default_rng(0)
    arms, x = random.integers(0, 2, ROWS), np.arange(ROWS) / ROWS
    means = 0.2 + 0.3 * (x > 0.35) + 0.3 * (x > 0.7)
    log = dw.Log.from_arrays(arms, (random.random(ROWS) < means).astype(float))
    assert log.diagnose().variation.value == pytest.approx(0.6, abs=0.08)
