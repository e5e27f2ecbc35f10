"""Runs of restless arms are held against the index policy that knows transitions, on the same tapes; published numbers.

The numbers are those of Table 1 of Shisher, Tripathi, Chiang & Brinton: 50 episodes of 100 slots, cells (arms,
activated) = (10, 1), (10, 4), (20, 4). Over 400 runs of other seeds ours differ from them by

    ladder, at random   0.0, +0.1, +0.4 %      (standard errors 0.1, 0.1, 0.0)        held to 1 %
    ladder, WIQL       -1.2, +1.5, -4.5 %      (0.1, 0.6, 0.1)                        held to 6 %
    ages, at random    +1.2, -1.0, -2.6 %      (1.0, 0.4, 0.6)                        held to 6 %
    ages, WIQL         +9.7, -8.1, -2.5 %      (0.8, 0.8, 0.4)                        held to 15 %

The last row is not a match: the paper does not tell all of that setting. With 100 runs on the ladder and 200 with ages
all bands are 3.5 standard errors or more from what is expected: were the seeds renewed, a false alarm in one run of a
thousand. Seeds are fixed.
"""

from typing import Any

import numpy as np
import pytest

from driftwise.core.family import trace_for
from driftwise.core.seeding import key
from driftwise.core.types import Floats
from driftwise.core.validation import cast
from driftwise.core.verbs import rank
from driftwise.errors import ParameterError
from driftwise.families import (
    ORACLES,
    WIQL,
    AgeOfInformation,
    Climbing,
    HealthAdherence,
    MachineMaintenance,
    Myopic,
    RandomArms,
    RestlessTable,
    WhittleOracle,
)
from driftwise.families.composite.worlds.delayed import Delayed
from driftwise.families.restless.comparator import Rival, WhittleRival
from driftwise.study.run import run
from driftwise.study.study import Study
from tests.fixtures.verbs import play

CELLS = ((10, 1), (10, 4), (20, 4))


def rewards(policy: Any, world: Any, rounds: int, seed: int) -> Floats:
    """What a policy earns in every slot."""
    policy, (tape, nature), problem = cast(policy), world.draw(rounds, seed), world.problem(rounds)
    foresees = hasattr(policy, "foresee")
    state = policy.foresee(problem, world, rounds, seed) if foresees else policy.init(problem)
    trace = trace_for(problem, 0, rounds)
    play(policy, state, tape, nature, key(seed, "own"), trace, rounds)
    return trace.rewards


def regrets(kind: Any, policies: dict[str, Any], runs: int) -> dict[str, list[float]]:
    """Mean regret in each cell."""
    found: dict[str, list[float]] = {name: [] for name in policies}
    for n_arms, activate in CELLS:
        world = kind(n_arms=n_arms, activate=activate)
        study = Study(name="cell", worlds={"w": world}, policies=policies, horizon=5000, runs=runs)
        results = run(study)
        for name in policies:
            found[name].append(float(results.column(study.cells_of("w", name), "regret").mean()))
    return found


def test_the_published_regret_on_the_ladder() -> None:
    found = regrets(Climbing, {"random": RandomArms(), "wiql": WIQL()}, runs=100)
    np.testing.assert_allclose(found["random"], [46_035, 83_668, 180_770], rtol=0.01)
    np.testing.assert_allclose(found["wiql"], [45_754, 65_694, 181_100], rtol=0.06)


@pytest.mark.deep  # the same at a tenth of the time: the ladder, above
def test_the_published_regret_with_ages() -> None:
    found = regrets(AgeOfInformation, {"random": RandomArms(), "wiql": WIQL()}, runs=200)
    np.testing.assert_allclose(found["random"], [6166.7, 4579.8, 13_609], rtol=0.06)
    np.testing.assert_allclose(found["wiql"], [6350.3, 5172.2, 12_584], rtol=0.15)


def test_in_their_own_form_and_without_a_view_of_the_future_policies_lose_more() -> None:
    """WIQL as Biswas et al. have it: 96,000 in the middle cell, not the 65,694 published; standard error 3,200."""
    found = regrets(Climbing, {"wiql": WIQL.as_published(), "myopic": Myopic()}, runs=10)
    assert found["wiql"][1] > 80_000.0
    assert found["myopic"][1] > 20_000.0


@pytest.mark.parametrize(
    "world", [Climbing(), AgeOfInformation(), MachineMaintenance(), HealthAdherence(), RestlessTable(restarts=1)]
)
def test_the_oracle_has_no_regret_to_the_last_bit_and_chance_has_some(world: Any) -> None:
    study = Study(
        name="oracle",
        worlds={"w": world},
        policies={"oracle": WhittleOracle(), "any": RandomArms()},
        horizon=700,
        runs=3,
    )
    results = run(study)
    assert (results.column(study.cells_of("w", "oracle"), "regret") == 0.0).all()
    assert (results.column(study.cells_of("w", "oracle"), "optimal_rate") == 1.0).all()
    assert (results.column(study.cells_of("w", "any"), "regret") > 0.0).all()
    cells = study.cells_of("w", "any")
    lost = results.column(cells, "benchmark") - results.column(cells, "reward")
    np.testing.assert_allclose(results.column(cells, "regret"), lost, rtol=1e-9)


def test_a_rival_may_be_any_oracle_and_plays_block_by_block() -> None:
    world, rounds = Climbing(n_arms=6, activate=2, episode=40), 500

    class Knowing(Rival):
        oracle = WhittleOracle()

    whole, pieces = Knowing(world, rounds, 3), WhittleRival(world, rounds, 3)
    (tape, _) = world.draw(rounds, 3)
    path = whole.block(tape).rewards
    cut = np.concatenate([pieces.block(each).rewards for each in world.tapes(rounds, 3, size=33)])
    np.testing.assert_array_equal(path, cut)
    np.testing.assert_array_equal(path, rewards(WhittleOracle(), world, rounds, 3))


def test_the_oracle_goes_by_the_indices_of_the_episode_at_hand() -> None:
    """Ten rungs, discount g = 0.99: the values for (p, q) = (0.5, 1) and (0.5, 0.5), and g q / (1 - g) for p = 0."""
    world = Climbing(n_arms=2, activate=1)
    state = WhittleOracle().foresee(world.problem(500), world, 500, 0)
    indices, first = np.zeros(2), 0.99 * state.indices[0]
    np.testing.assert_allclose(first[0, [0, 8, 9]], [21.2348, 23.6279, 0.4950], atol=1e-4)
    np.testing.assert_allclose(first[1, [0, 8, 9]], [13.3882, 15.4735, 0.9802], atol=1e-4)
    rank(WhittleOracle(), state, 150, np.array([3, 7]), indices)
    assert indices.tolist() == [state.indices[1, 0, 3], state.indices[1, 1, 7]]
    still = Climbing(n_arms=2, slip=0.0, drift="none")
    sure = WhittleOracle().foresee(still.problem(500), still, 500, 0).indices[0, 1]
    np.testing.assert_allclose(0.99 * sure, [0.99 * 0.5 / 0.01] * 9 + [0.0], atol=1e-6)


def test_costs_lower_what_activating_is_worth() -> None:
    cheap, dear = (MachineMaintenance(cost=cost) for cost in (0.0, 0.4))
    found = []
    for world in (cheap, dear):
        state, indices = WhittleOracle().foresee(world.problem(100), world, 100, 0), np.zeros(30)
        rank(WhittleOracle(), state, 0, np.full(30, 2), indices)
        found.append(indices)
    np.testing.assert_allclose(found[0] - found[1], 0.4, rtol=1e-9)


def test_the_oracle_is_not_for_use() -> None:
    assert ORACLES["whittle-oracle"] is WhittleOracle
    with pytest.raises(ParameterError, match="WhittleOracle knows the world in advance: it plays in studies only"):
        WhittleOracle().init(Climbing().problem())


def test_restless_worlds_are_not_delayed() -> None:
    with pytest.raises(ParameterError, match="a restless world cannot be delayed"):
        Delayed(world=Climbing(), delay=3)
