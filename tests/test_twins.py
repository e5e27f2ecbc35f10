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
from driftwise.policies import SlidingLinUCB, SlidingThompson, SlidingUCB
from driftwise.worlds import Abrupt, Rotating, Sinusoidal

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


@pytest.mark.parametrize("window", [1, 7, 300, 2 * ROUNDS])
@pytest.mark.parametrize("n_actions", [2, 7, 8, 40, 70])  # from 8 on rows are worked out abreast, 64 at most
@pytest.mark.parametrize("dim", [2, 5, 13])  # from 12 on products with matrices are summed column by column
def test_linear_choices_and_rewards(twin: Any, library: Any, dim: int, n_actions: int, window: int) -> None:
    policy, world = SlidingLinUCB(window=window), Rotating(dim=dim, n_actions=n_actions)
    assert compare(twin, library, policy, world, dim) == 0


@pytest.mark.parametrize("window", [3, 30])
@pytest.mark.parametrize("dim", [5, 20])
def test_an_inverse_is_computed_afresh_at_the_same_rounds(twin: Any, library: Any, dim: int, window: int) -> None:
    policy, world = SlidingLinUCB(window=window, ridge=1e-4), Rotating(dim=dim, n_actions=10, actions="fixed")
    assert compare(twin, library, policy, world, 0) > 10


@pytest.mark.parametrize("n_actions", [3, 50])
def test_many_features(twin: Any, library: Any, n_actions: int) -> None:
    compare(twin, library, SlidingLinUCB(window=400), Rotating(dim=60, n_actions=n_actions), 0, rounds=1000)


def compare(twin: Any, library: Any, policy: Any, world: Any, seed: int, rounds: int = ROUNDS) -> int:
    """Play the same tape twice; how often an inverse was computed afresh, the same number in both."""
    tape, nature = world.draw(rounds, seed)
    ours, theirs, rng = new_trace(0, rounds), new_trace(0, rounds), key(seed, "twins")
    state = policy.init(world.problem())
    assert play(policy, state, tape, nature, rng, ours, rounds) == rounds
    repairs = twin.play(library, policy, tape, rng, theirs, world.problem())
    np.testing.assert_array_equal(ours.actions, theirs.actions)
    np.testing.assert_array_equal(ours.rewards, theirs.rewards)
    if hasattr(state, "ridge"):
        assert repairs == state.ridge.repairs[0]
    return int(repairs)
