"""Worlds of arms that move on their own: transitions as set, the same luck for all, drift between episodes, epsilon."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.core.family import drift_of, trace_for
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Trace
from driftwise.core.validation import cast
from driftwise.core.verbs import observe, respond
from driftwise.errors import ArmError, ParameterError
from driftwise.families import (
    AgeOfInformation,
    Climbing,
    HealthAdherence,
    MachineMaintenance,
    RandomArms,
    RestlessTable,
    WhittleOracle,
)
from driftwise.families.restless.structure import KNOWLEDGE
from driftwise.families.restless.transitions.drift import epsilon
from driftwise.families.restless.worlds.base import RestlessTape, sums_of
from tests.fixtures.by_family import RESTLESS_WORLDS
from tests.fixtures.verbs import play

NOBODY = np.zeros(0, np.int64)


def transitions_of(tape: RestlessTape) -> Floats:
    """The transitions of a tape, from their sums."""
    return np.diff(tape.levels.table, axis=-1, prepend=0.0)


def played(world: Any, rounds: int, seed: int) -> Trace:
    """A run in which arms are activated at random."""
    policy, (tape, nature), problem = cast(RandomArms()), world.draw(rounds, seed), world.problem(rounds)
    trace = trace_for(problem, 0, rounds)
    play(policy, policy.init(problem), tape, nature, key(seed, "own"), trace, rounds)
    return trace


# ---- how arms move ----


@pytest.mark.parametrize("name", RESTLESS_WORLDS)
def test_a_run_by_hand_from_the_formulas_is_the_same_run(name: str) -> None:
    world, rounds = RESTLESS_WORLDS[name](), 150
    trace, (tape, _), structure = played(world, rounds, 3), world.draw(rounds, 3), world.structure()
    transitions, states = transitions_of(tape), world.origins()
    for t in range(rounds):
        if world.restarts and t % world.episode == 0:
            states = world.origins()
        active = np.isin(np.arange(world.n_arms), trace.actions[t]).astype(int)
        for arm, (own, action) in enumerate(zip(structure.classes, active, strict=True)):
            row = transitions[tape.levels.rows[t], own, action, states[arm]]
            states[arm] = np.flatnonzero(tape.noise[t, arm] < np.cumsum(row) + 1e-15)[0]
        earned = structure.rewards[structure.classes, states].sum() - structure.costs[trace.actions[t]].sum()
        assert not structure.activation_rewards.any()
        weight = world.discount ** (t % world.episode) if world.discounted else 1.0
        assert trace.rewards[t] == pytest.approx(weight * earned, rel=1e-12)


@pytest.mark.parametrize("name", RESTLESS_WORLDS)
def test_arms_go_where_their_kernels_say_as_often_as_they_say(name: str) -> None:
    """Of one row, the share of each next state over many noises; 5 standard errors, false alarms below 1e-4 in all."""
    world, draws = RESTLESS_WORLDS[name](drift="none"), 20_000
    (tape, _), size = world.draw(draws // world.n_arms, 7), world.structure().support.shape[-1]
    row = transitions_of(tape)[0, -1, 1, size // 2]
    found = np.searchsorted(np.cumsum(row)[:-1], tape.noise.ravel(), side="right")
    shares, n = np.bincount(found, minlength=size) / found.size, found.size
    assert (np.abs(shares - row) <= 5.0 * np.sqrt(row * (1.0 - row) / n) + 1e-12).all()


def test_an_episode_begins_anew_and_its_last_move_is_still_told() -> None:
    world = Climbing(n_arms=4, activate=4, episode=5)
    tape, herd = world.draw(12, 0)
    everyone = np.arange(4)
    for t in range(12):
        states, _ = observe(tape, herd, t)
        assert t % 5 or states.tolist() == [0] * 4
        before = states.copy()
        outcome = respond(tape, herd, t, everyone)
        assert states.tolist() == before.tolist()  # what a decision was shown is not written over
        assert outcome.states[:2].tolist() == [t % 5 + 1] * 2  # known arms climb for sure


def test_arms_that_never_start_over_go_on_where_they_were() -> None:
    world = MachineMaintenance(n_arms=3, activate=1, makes=1, episode=4, wear_low=0.6, wear_high=0.6)
    tape, herd = world.draw(30, 1)
    went = herd.after.copy()
    for t in range(30):
        states, _ = observe(tape, herd, t)
        assert states.tolist() == went.tolist()
        went = respond(tape, herd, t, NOBODY).states.copy()
    assert went.tolist() == [4, 4, 4]


@pytest.mark.parametrize("action", [[3, 1], [2, 2], [4], [-2], [-1, 2]])
def test_arms_out_of_order_or_unknown_are_refused(action: list[int]) -> None:
    world = Climbing(n_arms=4)
    tape, herd = world.draw(3, 0)
    with pytest.raises(ArmError, match="the policy activated"):
        respond(tape, herd, 0, np.array(action))


def test_rounding_lets_no_arm_go_where_it_cannot() -> None:
    row = np.array([0.1] * 10 + [0.0, 0.0])  # its sums end below one
    assert np.cumsum(row)[-1] < 1.0
    assert sums_of(row)[8] < 1.0 == sums_of(row)[9] == sums_of(row)[11]
    assert sums_of(np.eye(2)).tolist() == [[1.0, 1.0], [0.0, 1.0]]


def test_rewards_are_discounted_within_episodes_or_not_at_all() -> None:
    counted, plain = (played(Climbing(episode=20, discounted=each), 60, 2).rewards for each in (1, 0))
    np.testing.assert_allclose(counted, plain * 0.99 ** (np.arange(60) % 20), rtol=1e-12)


def test_activating_costs() -> None:
    free, dear = (MachineMaintenance(cost=cost) for cost in (0.0, 0.25))
    np.testing.assert_allclose(played(free, 50, 4).rewards - played(dear, 50, 4).rewards, 4 * 0.25, rtol=1e-9)


def table_with_activation_rewards(folder: Path, **more: Any) -> RestlessTable:
    """Two classes of three states; activating pays by state, and mostly costs."""
    luck = np.random.default_rng(0)
    passive, active = (luck.dirichlet(np.ones(3), (2, 3)) for _ in range(2))
    return RestlessTable.write(
        folder / "arms.npz",
        passive=passive,
        active=active,
        rewards=[0.0, 1.0, 2.0],
        classes=[0, 1, 1, 0],
        activation_rewards=[[-0.4, 0.1, -1.0], [0.2, -2.0, -0.6]],
        **({"n_arms": 4, "activate": 2, "episode": 6, "restarts": 1} | more),
    )


def test_what_activating_earns_goes_by_the_state_it_is_done_in(tmp_path: Path) -> None:
    world = table_with_activation_rewards(tmp_path)
    tape, herd = world.draw(12, 1)
    structure = world.structure()
    for t in range(12):
        states, _ = observe(tape, herd, t)
        before, active = states.copy(), np.array([t % 2, 3])
        outcome = respond(tape, herd, t, active)
        earned = structure.rewards[structure.classes, outcome.states]
        earned[active] += structure.activation_rewards[structure.classes, before][active]
        np.testing.assert_allclose(outcome.rewards, earned)
        assert outcome.reward == pytest.approx(earned.sum())
    assert (world.problem().low, world.problem().high) == (-2.0, 2.2)


def test_nobody_is_activated_who_would_lose_by_it(tmp_path: Path) -> None:
    """The oracle of a world in which fewer may be activated leaves some alone, and earns no less for it."""
    every, worthwhile = (table_with_activation_rewards(tmp_path, at_most=each) for each in (0, 1))
    earned = []
    for world in (every, worthwhile):
        policy, problem, rounds = cast(WhittleOracle()), world.problem(600), 600
        (tape, nature), trace = world.draw(rounds, 2), trace_for(problem, 0, rounds)
        play(policy, policy.foresee(problem, world, rounds, 2), tape, nature, key(1), trace, rounds)
        earned.append(trace.rewards.sum())
        assert bool((trace.actions < 0).any()) == bool(world.at_most)
    assert earned[1] > earned[0]


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_a_world_tells_as_much_as_it_should(knowledge: str) -> None:
    world = Climbing(knowledge=knowledge)
    told, full = world.problem().structure, world.structure()
    known = full.kinds == 0
    assert bool((told.kinds == 0).any()) == (knowledge in ("full", "rows"))
    assert bool(told.support[~known].all()) == (knowledge in ("rows", "none"))
    assert bool((told.kinds == 2).all()) == (knowledge == "none")
    assert (told.known[told.kinds == 0] == full.known[told.kinds == 0]).all()
    assert not told.known[told.kinds != 0].any()
    (one, _), (other, _) = world.draw(50, 1), Climbing().draw(50, 1)
    assert (one.noise == other.noise).all()


# ---- the paper's two ----


def test_climbing_is_the_one_dimensional_bandit() -> None:
    world = Climbing(n_arms=10)
    structure, transitions = world.structure(), world.transitions(np.array([[0.3]]))[0]
    assert structure.classes.tolist() == [0] * 5 + [1] * 5
    assert structure.rewards.tolist() == [list(range(10))] * 2
    assert (structure.episode[0], structure.discount[0], world.discounted, world.origins().max()) == (100, 0.99, 1, 0)
    assert structure.kinds[0].tolist() == [[0] * 10] * 2  # all is known
    assert structure.kinds[1].tolist() == [[2] * 10, [1] * 10]  # slips drift, climbs stay the same
    assert transitions[0, 0, 4, 3:6].tolist() == [0.5, 0.5, 0.0]
    assert transitions[0, 1, 4, 3:6].tolist() == [0.0, 0.0, 1.0]
    assert transitions[1, 0, 4, 3:6].tolist() == [0.3, 0.7, 0.0]
    assert transitions[1, 1, 4, 3:6].tolist() == [0.0, 0.5, 0.5]
    assert (transitions[:, 0, 0, 0] == 1.0).all() and (transitions[:, 1, 9, 9] == 1.0).all()  # the ends
    assert structure.support[1].sum() == 2 * (2 * 10 - 1)


def test_age_of_information_is_the_wireless_scheduling() -> None:
    world = AgeOfInformation(n_arms=10, oldest=4)
    structure, transitions = world.structure(), world.transitions(np.array([[0.3]]))[0]
    assert (AgeOfInformation().oldest, world.discounted, world.restarts) == (30, 0, 1)
    assert structure.kinds.tolist() == [[[0] * 4, [1] * 4], [[0] * 4, [2] * 4]]
    np.testing.assert_allclose(structure.rewards[1], [-0.5 * np.log2(1.0 - 0.9**age) for age in (1, 2, 3, 4)])
    np.testing.assert_allclose(structure.rewards[0], [-0.5 * np.log2(1.0 - 0.4**age) for age in (1, 2, 3, 4)])
    older = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]]
    assert transitions[0, 0].tolist() == transitions[1, 0].tolist() == older
    assert transitions[0, 1].tolist() == [[1, 0, 0, 0]] * 4
    np.testing.assert_allclose(transitions[1, 1], 0.7 * np.array(older) + 0.3 * np.eye(4)[[0] * 4])


@pytest.mark.parametrize("world", [Climbing(), AgeOfInformation()])
def test_the_papers_walk_goes_up_by_seven_chances_in_ten(world: Any) -> None:
    """Steps that no bound cut short, over 400 runs: the share upward within 5 standard errors, alarms below 1e-6."""
    paths = np.stack([world.path(50, seed)[:, 0] for seed in range(400)])
    assert (paths[:, 0] == world.numbers(0).starts[0]).all()
    assert paths.min() >= 0.0 and paths.max() <= 1.0
    moved, before = np.diff(paths, axis=1), paths[:, :-1]
    inside = (before > 0.04) & (before < 0.96)
    np.testing.assert_allclose(np.abs(moved[inside]), 0.05, atol=1e-9)
    up = (moved[inside] > 0.0).mean()
    assert abs(up - 0.7) < 5.0 * np.sqrt(0.21 / inside.sum())
    assert set(np.round(before[~inside] + moved[~inside], 9)) <= {0.0, 0.05, 0.95, 1.0}


# ---- drift ----


@pytest.mark.parametrize("name", [name for name in RESTLESS_WORLDS if name != "restless-table"])
@pytest.mark.parametrize("drift", ["walk", "abrupt", "seasonal", "none"])
def test_numbers_start_where_they_should_and_keep_to_their_bounds(name: str, drift: str) -> None:
    world = RESTLESS_WORLDS[name](drift=drift)
    numbers, path = world.numbers(5), world.path(200, 5)
    np.testing.assert_allclose(path[0], numbers.starts, atol=1e-12)
    assert (path >= numbers.lows).all() and (path <= numbers.highs).all()
    assert ((path != path[0]).any(axis=0) == (drift != "none")).all()
    assert len(world.labels) == path.shape[1]


def test_abrupt_drift_jumps_where_it_is_told_and_nowhere_else() -> None:
    world = HealthAdherence(drift="abrupt", phases=4)
    moved = np.flatnonzero((np.diff(world.path(100, 1), axis=0) != 0.0).any(axis=1)) + 1
    assert (moved * world.episode).tolist() == world.changes(400, 1) == [100, 200, 300]
    with pytest.raises(ParameterError, match="phases=4 does not fit the horizon 3"):
        world.changes(12, 1)


def test_a_season_comes_back() -> None:
    path = Climbing(drift="seasonal", period=12.0).path(37, 2)[:, 0]
    np.testing.assert_allclose(path[:25], path[12:], atol=1e-9)
    assert path.min() < 0.01 and path.max() > 0.99


@pytest.mark.parametrize("name", RESTLESS_WORLDS)
@pytest.mark.parametrize("rounds", [1, 40, 1000])
def test_epsilon_is_the_most_any_row_moves_between_episodes(name: str, rounds: int) -> None:
    world = RESTLESS_WORLDS[name]()
    (tape, _) = world.draw(rounds, 6)
    firsts = transitions_of(tape)[tape.levels.rows[:: world.episode]]
    slow = max((float(np.abs(b - a).sum(axis=-1).max()) for a, b in itertools.pairwise(firsts)), default=0.0)
    assert epsilon(world, rounds, 6) == pytest.approx(slow, abs=1e-9)
    assert drift_of(world, rounds, 6) == {"epsilon": epsilon(world, rounds, 6)}


def test_epsilon_looks_across_blocks_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    world = RestlessTable()
    expected = epsilon(world, 800, 0)
    monkeypatch.setattr("driftwise.families.restless.transitions.drift.CHUNK", 1)
    assert epsilon(world, 800, 0) == expected == 1.2


def test_the_picture_follows_the_numbers_behind() -> None:
    world = Climbing(episode=10)
    (course,) = world.courses(95, 1)
    lines = course.parameters.table[course.parameters.rows]
    np.testing.assert_array_equal(lines, np.repeat(world.path(10, 1), 10, axis=0)[:95])


# ---- transitions that are brought along ----


def test_a_table_plays_what_its_file_says(tmp_path: Path) -> None:
    luck = np.random.default_rng(0)
    passive, active = (luck.dirichlet(np.ones(3), (4, 2, 3)) for _ in range(2))
    more: dict[str, Any] = {"classes": [0, 1, 1], "costs": [0.0, 0.1, 0.2], "origins": [2, 0, 1]}
    world = RestlessTable.write(
        tmp_path / "arms.npz",
        passive=passive,
        active=active,
        rewards=[0, 1, 2],
        n_arms=3,
        activate=1,
        episode=5,
        **more,
    )
    tape, herd = world.draw(40, 1)
    assert herd.states.tolist() == [2, 0, 1]
    np.testing.assert_allclose(transitions_of(tape)[tape.levels.rows[7], :, 0], passive[1], atol=1e-12)
    np.testing.assert_allclose(
        transitions_of(tape)[tape.levels.rows[39], :, 1], active[3], atol=1e-12
    )  # the last one stays
    assert world.structure().costs.tolist() == [0.0, 0.1, 0.2]
    assert len(world.labels) == world.lines(world.path(8, 0)).shape[1] == passive[0].size * 2


def test_results_follow_what_is_in_the_file_and_not_its_name(tmp_path: Path) -> None:
    file, still = tmp_path / "arms.npz", np.eye(2)
    one = RestlessTable.write(file, passive=still, active=still, rewards=[0, 1])
    other = RestlessTable.write(file, passive=still, active=still, rewards=[0, 2])
    assert one.digest != other.digest
    assert other.structure().rewards.tolist() == [[0.0, 2.0]]


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (
            {"passive": [[0.5, 0.4], [0.5, 0.5]]},
            "row 0 of the passive transitions in episode 0 sums to 0.9, not to one",
        ),
        ({"passive": [0.5, 0.5]}, "passive has shape"),
        ({"passive": np.eye(3)}, "passive and active differ in shape"),
        ({"rewards": [0.0, 1.0, 2.0]}, "do not fit"),
        ({"origins": [0] * 9 + [2]}, "origins do not name one of 2 states for 10 arms"),
        ({"n_arms": 3, "activate": 4}, "activate=4 is not a whole number of at least 1 and at most 3"),
        ({"drift": "walk"}, "drift=walk cannot be set: the table has its own drift"),
    ],
)
def test_a_table_that_cannot_be_is_refused(tmp_path: Path, told: dict[str, Any], sentence: str) -> None:
    good: dict[str, Any] = {"passive": np.eye(2), "active": np.eye(2), "rewards": [0.0, 1.0]}
    with pytest.raises(ParameterError, match=sentence):
        RestlessTable.write(tmp_path / "arms.npz", **good | told)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be read: No such file"):
        RestlessTable(file=str(tmp_path / "nothing.npz"))
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ParameterError, match="is not a file of arrays"):
        RestlessTable(file=str(tmp_path / "text.npz"))
    np.savez(tmp_path / "less.npz", passive=np.eye(2), active=np.eye(2))
    with pytest.raises(ParameterError, match="has no rewards: it must hold passive, active, rewards"):
        RestlessTable(file=str(tmp_path / "less.npz"))
    np.savez(tmp_path / "more.npz", passive=np.eye(2), active=np.eye(2), rewards=[0, 1], colour=[1])
    with pytest.raises(ParameterError, match="has an unknown array 'colour'; allowed: "):
        RestlessTable(file=str(tmp_path / "more.npz"))


# ---- parameters ----


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: Climbing(activate=11), "activate=11 is not a whole number of at least 1 and at most 10"),
        (lambda: Climbing(discount=1.0), r"discount=1.0 is outside \(0, 1\)"),
        (lambda: Climbing(slip=1.5), r"slip=1.5 is outside \[0, 1\]"),
        (lambda: Climbing(drift="away"), "drift=away is not one of walk, abrupt, seasonal, none"),
        (lambda: Climbing(restarts=0), "discounted=1 needs restarts=1"),
        (lambda: HealthAdherence(levels=6), "levels=6 is not a whole number of at least 2 and at most 5"),
        (lambda: HealthAdherence(groups=300), "groups=300 is not a whole number of at least 1 and at most 200"),
        (lambda: MachineMaintenance(wear_low=0.5), "wear_low=0.5 is above wear_high=0.3"),
        (lambda: AgeOfInformation(variance=1.0), r"variance=1.0 is outside \(0, 1\)"),
    ],
)
def test_parameters_that_cannot_be_are_refused(made: Any, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        made()


@pytest.mark.parametrize("levels", [2, 3, 4, 5])
def test_people_may_have_two_to_five_levels_and_all_be_different(levels: int) -> None:
    world = HealthAdherence(levels=levels, n_arms=300, groups=300, activate=10)
    assert world.structure().classes.tolist() == list(range(300))
    assert np.isfinite(played(world, 50, 0).rewards).all()
