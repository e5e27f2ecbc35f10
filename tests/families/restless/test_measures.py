"""The Lagrangian bound against a linear program and against all joint policies; coverage of the balls."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from driftwise.core.types import Floats
from driftwise.core.validation import cast
from driftwise.errors import ParameterError
from driftwise.families import (
    AgeOfInformation,
    Climbing,
    MachineMaintenance,
    RestlessTable,
    SlidingWhittle,
    WhittleOracle,
)
from driftwise.families.restless.policies.sliding_whittle import ball_sizes
from driftwise.families.restless.transitions.coverage import coverage
from driftwise.families.restless.whittle.lagrangian import lagrangian_bound, lagrangian_regret, relaxed_values
from driftwise.study.run import run
from driftwise.study.study import Study

WORLDS: dict[str, Any] = {
    "ladder": Climbing(n_arms=4, activate=1, episode=6, rungs=3),
    "ages": AgeOfInformation(n_arms=4, activate=2, episode=5, oldest=4),
    "costs": MachineMaintenance(n_arms=3, activate=1, episode=4, restarts=1, cost=0.3),
}


def by_program(world: Any, transitions: Floats) -> float:
    """The most that arms earn when M, or at most M, are activated *on average*: how often each is where, doing what."""
    structure, slots = world.structure(), int(world.episode)
    fade = world.discount if world.discounted else 1.0
    size = int(structure.rewards.shape[1])
    width = world.n_arms * slots * 2 * size

    def place(arm: int, slot: int, action: int, state: int) -> int:
        return ((arm * slots + slot) * 2 + action) * size + state

    gains, rows, right, total = np.zeros(width), [], [], np.zeros(width)
    for arm in range(world.n_arms):
        own = structure.classes[arm]
        for slot in range(slots):
            for action, state in np.ndindex(2, size):
                earns = transitions[own, action, state] @ structure.rewards[own] - action * structure.costs[arm]
                earns += action * structure.activation_rewards[own, state]
                gains[place(arm, slot, action, state)] = fade**slot * earns
                total[place(arm, slot, action, state)] = action * fade**slot
            for state in range(size):
                row = np.zeros(width)
                row[[place(arm, slot, action, state) for action in range(2)]] = 1.0
                if slot:
                    for action, before in np.ndindex(2, size):
                        row[place(arm, slot - 1, action, before)] -= transitions[own, action, before, state]
                rows.append(row)
                right.append(float(not slot and state == world.origins()[arm]))
    budget = world.activate * float((fade ** np.arange(slots)).sum())
    if world.at_most:
        found = linprog(-gains, A_eq=np.array(rows), b_eq=right, A_ub=total[None], b_ub=[budget])
    else:
        found = linprog(-gains, A_eq=np.array([*rows, total]), b_eq=[*right, budget])
    assert found.success
    assert found.fun is not None
    return -float(found.fun)


@pytest.mark.parametrize("name", WORLDS)
def test_the_bound_is_that_of_the_linear_program(name: str) -> None:
    world = WORLDS[name]
    horizon = 3 * world.episode
    bound = lagrangian_bound(world, horizon, 5)
    path, segments = world.segments(horizon, 5)
    expected = [by_program(world, world.checked(path)[segment]) for segment in segments]
    np.testing.assert_allclose(bound.values, expected, rtol=1e-7)


@pytest.mark.parametrize("at_most", [0, 1])
def test_the_bound_knows_of_what_activating_earns(tmp_path: Path, at_most: int) -> None:
    luck = np.random.default_rng(3)
    passive, active = (luck.dirichlet(np.ones(3), (2, 3)) for _ in range(2))
    world = RestlessTable.write(
        tmp_path / "arms.npz",
        passive=passive,
        active=active,
        rewards=[0.0, 0.5, 1.0],
        classes=[0, 1, 0],
        activation_rewards=[[-0.1, -0.6, 0.2], [-0.8, -0.7, -0.9]],
        n_arms=3,
        activate=2,
        episode=4,
        restarts=1,
        at_most=at_most,
    )
    bound, path = lagrangian_bound(world, 4, 0), world.segments(4, 0)[0]
    np.testing.assert_allclose(bound.values, by_program(world, world.checked(path)[0]), rtol=1e-7)
    assert (bound.charges[0] >= 0.0) == bool(at_most)


def test_at_a_charge_nobody_pays_arms_are_left_alone() -> None:
    world = Climbing(n_arms=4, activate=1, episode=6, rungs=3)
    assert relaxed_values(world, 12, 0, 1e9).tolist() == [0.0, 0.0]
    bound = lagrangian_bound(world, 12, 0)
    total = float((0.99 ** np.arange(6)).sum())
    relaxed = [relaxed_values(world, 12, 0, charge)[e] + charge * total for e, charge in enumerate(bound.charges)]
    np.testing.assert_allclose(relaxed, bound.values, rtol=1e-9)


@pytest.mark.parametrize("name", ["ladder", "ages"])
def test_nobody_earns_more_on_average_and_regret_is_what_is_missing(name: str) -> None:
    """100 runs of the oracle: its mean lies below the bound by more than three standard errors, or within them."""
    world = WORLDS[name]
    study = Study(name="b", worlds={"w": world}, policies={"o": WhittleOracle()}, horizon=world.episode, runs=100)
    results = run(study)
    earned = results.column(study.cells_of("w", "o"), "reward")
    bound = lagrangian_bound(world, world.episode, 0).values[0]
    assert earned.mean() <= bound + 3.0 * earned.std() / np.sqrt(len(earned))
    assert lagrangian_regret(world, world.episode, 0, 1.0) == pytest.approx(bound - 1.0)


def test_what_has_no_episodes_has_no_bound() -> None:
    with pytest.raises(ParameterError, match="arms never start over"):
        lagrangian_bound(MachineMaintenance(restarts=0), 100, 0)
    with pytest.raises(ParameterError, match="horizon=150 is not a whole number of episodes of 100 slots"):
        lagrangian_bound(Climbing(), 150, 0)


def test_balls_are_sized_by_the_pairs_that_the_problem_has() -> None:
    """Nothing known: 2 S pairs drift, none stands still; told all, S of each in the class that drifts."""
    policy = cast(SlidingWhittle.algorithm1(50, epsilon=0.05)._replace(eta1=0.2, eta2=0.05))
    for knowledge, pairs in {"full": (10, 10), "none": (1, 20)}.items():
        problem = Climbing(knowledge=knowledge).problem(5000)
        sizes = ball_sizes(policy, policy.init(problem), 1)
        logs = [np.log(2.0 * z * 10 * 50 / eta) for z, eta in zip(pairs, (0.2, 0.05), strict=True)]
        np.testing.assert_allclose(sizes, np.multiply(20.0, logs))


@pytest.mark.deep
def test_balls_by_the_theorem_cover_and_small_ones_do_not() -> None:
    """Lemma 1 allows one run in five to have a pair outside; its balls are far too wide for that to be seen."""
    world = Climbing(n_arms=10, activate=4)
    for seed in range(3):
        literal = coverage(SlidingWhittle(epsilon=0.1, conf="literal", pooled=0, every=0), world, 1500, seed)
        small = coverage(SlidingWhittle(every=0), world, 1500, seed)
        assert literal.everywhere
        assert len(literal.inside) == 14
        assert not small.everywhere
        assert 0.2 < np.nanmean(small.inside) < 0.95
        assert 0.0 < np.nanmean(small.errors) < np.nanmean(literal.errors) < 1.0
