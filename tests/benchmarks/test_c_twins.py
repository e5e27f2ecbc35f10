"""The compiled loop and the same algorithm written by hand in C choose alike, bit for bit, to the last reward."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.core.seeding import key
from driftwise.core.types import Floats, new_trace
from driftwise.families import (
    Abrupt,
    BudgetSwitching,
    PrequentialPacing,
    Rotating,
    Sinusoidal,
    SlidingKnapsackUCB,
    SlidingLinUCB,
    SlidingThompson,
    SlidingUCB,
)
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.base import EXACT, TOGETHER, BudgetWorld
from tests.fixtures.verbs import play

pytestmark = pytest.mark.system

SOURCE = Path(__file__).parents[2] / "benchmarks" / "twin" / "twin.py"
ROUNDS = 5000
POLICIES: dict[str, Any] = {
    "sliding-ucb": SlidingUCB(),
    "bold sliding-ucb": SlidingUCB(xi=2.0),
    "sliding-thompson": SlidingThompson(),
}
SPENDERS: dict[str, Any] = {
    "one window": SlidingKnapsackUCB(window=300),
    "one round": SlidingKnapsackUCB(window=1),
    "two windows": SlidingKnapsackUCB(window=70, cost_window=400, scale=2.0),
    "as printed": SlidingKnapsackUCB.paper(ROUNDS, 8, 2, v1=1.0, v2=0.5),  # bounds below 0, which the simplex must bear
    "narrow as printed": SlidingKnapsackUCB(window=300, conf="paper", scale=0.02, clip=0, resolve=0),
    "appendix": SlidingKnapsackUCB.appendix(ROUNDS, 8, 2, v1=1.0, v2=0.5),
    "pacing": PrequentialPacing(),
    "pacing with two windows": PrequentialPacing(windows=2, rho=1.0, share=0.0),
    "pacing with one": PrequentialPacing(windows=1, step=5.0, fade=1.0),
}
SHAPES = ((1, 1), (10, 1), (3, 2), (20, 3), (100, 10))  # arms and resources; from two on the simplex is used


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


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", SPENDERS)
def test_budgets_are_spent_alike(twin: Any, library: Any, name: str, shape: tuple[int, int], seed: int) -> None:
    rounds = ROUNDS if shape[0] < 100 else 1000
    world = BudgetSwitching(n_arms=shape[0], resources=shape[1])
    compare_spending(twin, library, shortened(SPENDERS[name], rounds), world, seed, rounds=rounds)


@pytest.mark.parametrize("law", [TOGETHER, EXACT])
@pytest.mark.parametrize("resources", [1, 3])
@pytest.mark.parametrize("name", SPENDERS)
def test_other_laws_of_costs(twin: Any, library: Any, name: str, resources: int, law: int) -> None:
    """With exact costs sums are no whole numbers: what rounding is left in a window must be the same."""
    compare_spending(twin, library, SPENDERS[name], BudgetSwitching(resources=resources), 0, law=law)


@pytest.mark.parametrize("name", SPENDERS)
def test_budgets_in_portions_and_surprises(twin: Any, library: Any, name: str) -> None:
    """A purchase that fails, rounds in which nothing can be bought, and the next portion."""
    compare_spending(twin, library, SPENDERS[name], BudgetSwitching(portions=4, surprise=0.3, rate=0.1), 0)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SPENDERS)
def test_budgets_in_a_world_that_glides(twin: Any, library: Any, name: str, seed: int) -> None:
    compare_spending(twin, library, SPENDERS[name], Seasons(), seed)


class Seasons(BudgetWorld):
    """Other means in every round, and a budget that is scarcer in one resource than in the other."""

    arms = 8

    def rates(self, horizon: int) -> Floats:
        return np.array([0.2, 0.4])

    def means(self, horizon: int, seed: int) -> Means:
        phases = np.random.default_rng(seed).random((3, self.arms))
        waves = 0.5 + 0.4 * np.sin(2.0 * np.pi * (np.arange(horizon)[:, None, None] / horizon + phases))
        return Means.of(waves[:, 0], waves[:, 1:])


def shortened(policy: Any, rounds: int) -> Any:
    """The same policy with windows no longer than the run."""
    if isinstance(policy, PrequentialPacing):
        return policy
    return policy._replace(window=min(policy.window, rounds), cost_window=min(policy.cost_window, rounds))


def compare_spending(
    twin: Any, library: Any, policy: Any, world: Any, seed: int, *, rounds: int = ROUNDS, law: int | None = None
) -> None:
    """Play the same tape twice; choices, rewards, the round in which the world closes, and the till are the same."""
    tape, ours = world.draw(rounds, seed)
    tape, theirs = tape._replace(law=tape.law if law is None else law), world.nature(rounds)
    trace, other, rng = new_trace(0, rounds), new_trace(0, rounds), key(seed, "twins")
    state, fresh = (policy.init(world.problem(rounds)) for _ in range(2))
    played = play(policy, state, tape, ours, rng, trace, rounds)
    assert twin.spend(library, policy, fresh, tape, theirs, rng, other) == played > 0
    np.testing.assert_array_equal(trace.actions, other.actions)
    np.testing.assert_array_equal(trace.rewards, other.rewards)
    for field in ours._fields:
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field), err_msg=field)
