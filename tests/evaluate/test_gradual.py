"""Gradual changes and steps are told apart; ramps are fitted as a slow twin fits them."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.types import Floats, Ints
from driftwise.evaluate.diagnosis.change_points import change_points
from driftwise.evaluate.diagnosis.gradual import GradualChange, Stretch, fit_ramps, split_gradual
from driftwise.evaluate.diagnosis.permutation import local_noise, n_bins_for, noise_of

ROWS = 6000
PENALTY = 13.0  # about what the best split gains by chance in one log of forty
Path = Callable[[Floats], Any]
STEPS: dict[str, Path] = {
    "one": lambda x: 0.2 + 0.4 * (x > 0.437),
    "stairs": lambda x: 0.2 + 0.25 * (x > 0.33) + 0.25 * (x > 0.66),
    "spike": lambda x: 0.3 + 0.4 * ((x > 0.4) & (x < 0.5)),
}
SLOPES: dict[str, Path] = {
    "all the time": lambda x: 0.2 + 0.5 * x,
    "a third": lambda x: 0.2 + 0.5 * np.clip(3.0 * x - 1.0, 0.0, 1.0),
}


def rewards_of(path: Path, seed: int) -> tuple[Ints, Floats]:
    random = np.random.default_rng(seed)
    arms = random.integers(0, 2, ROWS)
    means = np.where(arms == 1, path(np.arange(ROWS) / ROWS), 0.3)
    return arms, (random.random(ROWS) < means).astype(float)


def told_apart(path: Path, seed: int) -> tuple[int, list[GradualChange]]:
    arms, values = rewards_of(path, seed)
    rows, edges = np.arange(ROWS), np.linspace(0, ROWS, n_bins_for(ROWS, 2) + 1).astype(np.int64)[1:]
    noise = local_noise(np.searchsorted(edges, rows, side="right"), arms, values, noise_of(arms, values, 2), len(edges))
    changes = change_points(arms, rows, values, noise, edges, PENALTY)
    steps, gradual = split_gradual(changes, arms, rows, values, noise, edges)
    assert len(steps) <= len(changes)
    return len(steps), gradual


@pytest.mark.parametrize("name", STEPS)
def test_steps_stay_steps(name: str) -> None:
    logs = [told_apart(STEPS[name], seed) for seed in range(20)]
    assert sum(bool(gradual) for _, gradual in logs) <= 3


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_are_gradual_and_their_interval_has_the_size(name: str) -> None:
    logs = [told_apart(SLOPES[name], seed) for seed in range(20)]
    found = [gradual[0] for _, gradual in logs if len(gradual) == 1]
    assert len(found) >= 18
    assert np.mean([abs(each.size - 0.5) <= 1.96 * each.standard_error for each in found]) >= 0.85
    if name == "a third":
        assert np.mean([each.start_low <= ROWS / 3 <= each.start_high for each in found]) >= 0.8
        assert np.mean([each.end_low <= ROWS * 2 / 3 <= each.end_high for each in found]) >= 0.8


def test_gains_of_ramps_are_those_of_least_squares() -> None:
    random = np.random.default_rng(1)
    rows = np.sort(random.choice(500, 60, replace=False))
    part = Stretch(rows, random.normal(size=60) + rows / 200, random.uniform(0.5, 2.0, 60))
    grid = rows[::6]
    ramps = fit_ramps(part, grid)
    root = np.sqrt(part.weights)

    def residual(*columns: Floats) -> float:
        x = np.stack(columns, axis=1) * root[:, None]
        y = part.values * root
        return float(((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2).sum())

    alone = residual(np.ones(60))
    for start, end, gain, before, size, variance in zip(*ramps, strict=True):
        slope = np.clip((rows - start) / (end - start), 0.0, 1.0)
        assert gain == pytest.approx(alone - residual(np.ones(60), slope), abs=1e-9)
        x = np.stack([np.ones(60), slope], axis=1)
        gram = x.T @ (part.weights[:, None] * x)
        theta = np.linalg.solve(gram, x.T @ (part.weights * part.values))
        assert (before, size, variance) == pytest.approx((*theta, np.linalg.inv(gram)[1, 1]))


def test_a_diagnosis_says_from_where_to_where() -> None:
    arms, values = rewards_of(SLOPES["all the time"], 3)
    times = 1.79e9 + np.arange(ROWS) * 400.0
    found = dw.Log.from_arrays(arms, values, arms=["old", "new"], times=times).diagnose()
    (move,), text = found.gradual, str(found)
    assert not found.changes and found.arms[move.arm].name == "new" and move.before < 0.3 < 0.6 < move.after
    moved = found.arms[move.arm].variation
    assert moved.low <= 0.5 <= moved.high and 0.3 < moved.value < 0.7
    assert "1 gradual change." in text and "new: drifts gradually from 0.2" in text
    (plain,) = json.loads(json.dumps(found.to_dict()))["gradual_changes"]
    assert plain["action"] == "new" and plain["start_at"] < plain["end_at"]
