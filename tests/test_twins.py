"""The compiled loop and the same algorithm written by hand in C choose alike, bit for bit, to the last reward."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.core.play import play
from driftwise.core.seeding import key
from driftwise.core.types import new_trace
from driftwise.policies import SlidingThompson, SlidingUCB
from driftwise.worlds import Abrupt, Sinusoidal

SOURCE = Path(__file__).parents[1] / "benchmarks" / "twin" / "twin.py"
ROUNDS = 5000
POLICIES: dict[str, Any] = {
    "sliding-ucb": SlidingUCB(),
    "bold sliding-ucb": SlidingUCB(xi=2.0),
    "sliding-thompson": SlidingThompson(),
}


@pytest.fixture(scope="module")
def twin() -> Any:
    """The module that builds and calls the twins; benchmarks are not a package that is installed."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: the C twins cannot be built")
    spec = importlib.util.spec_from_file_location("driftwise_twin", SOURCE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def library(twin: Any) -> Any:
    return twin.build()


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("window", [1, 7, 1000, 2 * ROUNDS])
@pytest.mark.parametrize("n_arms", [2, 10, 120])  # 120 arms have a winner tree, in C they are scanned
@pytest.mark.parametrize("name", POLICIES)
def test_same_choices_and_rewards(twin: Any, library: Any, name: str, n_arms: int, window: int, seed: int) -> None:
    compare(twin, library, POLICIES[name]._replace(window=window), Abrupt(n_arms=n_arms), seed)


@pytest.mark.parametrize("name", POLICIES)
def test_means_that_move_every_round(twin: Any, library: Any, name: str) -> None:
    compare(twin, library, POLICIES[name]._replace(window=300), Sinusoidal(n_arms=5), 0)


def compare(twin: Any, library: Any, policy: Any, world: Any, seed: int) -> None:
    """Play the same tape twice."""
    tape, nature = world.draw(ROUNDS, seed)
    ours, theirs, rng = new_trace(0, ROUNDS), new_trace(0, ROUNDS), key(seed, "twins")
    assert play(policy, policy.init(world.problem()), tape, nature, rng, ours, ROUNDS) == ROUNDS
    twin.play(library, policy, tape, rng, theirs)
    np.testing.assert_array_equal(ours.actions, theirs.actions)
    np.testing.assert_array_equal(ours.rewards, theirs.rewards)
