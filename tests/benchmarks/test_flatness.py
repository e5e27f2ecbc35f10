"""The rule that says whether a saw-tooth grows: it finds leaks of a stated size, and seldom one that is not there."""

import numpy as np
import pytest

from benchmarks.flatness import MARGIN, WARM, Growth, judge

MB = 2**20
CURVES = 200


def saw_tooth(seed: int, hourly: float, seconds: float = 600.0) -> Growth:
    """8 to 13 MB, cut every 9 to 12 seconds, teeth of uneven heights; of the size, `hourly` is gained in an hour."""
    rng, times = np.random.default_rng(seed), np.arange(0.0, seconds, 1.0)
    cuts = np.cumsum(rng.uniform(9.0, 12.0, int(seconds / 9.0) + 2))
    tooth = np.searchsorted(cuts, times, side="right")
    began = np.concatenate([[0.0], cuts])[tooth]
    heights = rng.normal(5.0, 0.6, len(cuts) + 1)[tooth]
    sizes = MB * (8.0 + heights * (times - began) / 10.5) * (1.0 + hourly * (times - WARM * seconds) / 3600.0)
    return judge(list(times), list(sizes), tooth=12.0)


def found(hourly: float, seconds: float = 600.0) -> int:
    return sum(saw_tooth(seed, hourly, seconds).verdict == "grows" for seed in range(CURVES))


def test_a_flat_saw_tooth_is_seldom_taken_for_growth() -> None:
    """At most one in forty: of 200 curves more than ten happens with a chance below 2 %."""
    assert found(0.0) <= 10
    assert found(0.0, seconds=7200.0) <= 10


@pytest.mark.parametrize(("seconds", "most"), [(600.0, 1.6), (7200.0, 0.2)])
def test_it_finds_the_growth_that_it_says_it_would_find(seconds: float, most: float) -> None:
    """The median of what it says is `most` at most. Teeth grow here with the size, so that it finds three in four."""
    stated = float(np.median([saw_tooth(seed, 0.0, seconds).detectable for seed in range(CURVES)]))
    assert stated < most
    assert found(stated, seconds) >= 0.7 * CURVES
    assert found(2 * stated, seconds) >= 0.95 * CURVES


def test_it_calls_flat_what_is_shown_to_be_flat() -> None:
    """In ten minutes uneven teeth leave it undecided; two hours, or even teeth, show that there is no growth."""
    assert {saw_tooth(seed, 0.0).verdict for seed in range(20)} <= {"undecided", "flat"}
    assert sum(saw_tooth(seed, 0.0, 7200.0).verdict == "flat" for seed in range(20)) >= 12
    times = np.arange(0.0, 600.0, 1.0)
    even = judge(list(times), list(1e8 + 1e4 * np.sin(times)), tooth=12.0)
    assert even.verdict == "flat" and even.growth[1] < MARGIN


def test_a_run_without_whole_teeth_is_refused() -> None:
    with pytest.raises(ValueError, match="60 s are too short for teeth of 12 s: at least 384 s are needed"):
        judge([0.0, 60.0], [1.0, 1.0], tooth=12.0)
