"""Worlds with features, and the one of real flights: as their formulas say, in whatever blocks they are drawn.

Statistical tests have fixed seeds and a false-alarm rate of ALARM = 1e-5 each, below 1e-4 together.
"""

import csv
import importlib.util
import io
import math
import zipfile
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from driftwise.cli import main
from driftwise.core import verbs
from driftwise.core.types import Floats
from driftwise.errors import ArmError, ParameterError
from driftwise.families import Flights, Hypercube, PiecewiseLinear, Rotating, SinePair
from driftwise.families.composite.worlds import flights
from driftwise.families.contextual.worlds.base import LAWS, FeaturedWorld

ALARM = 1e-5
HORIZON = 150
EVERY_WORLD: dict[str, FeaturedWorld] = {
    **{
        f"{kind.__name__} {actions} {link}": kind(actions=actions, link=link, dim=3, n_actions=4)
        for kind in (Rotating, PiecewiseLinear)
        for actions in ("fresh", "fixed", "basis")
        for link in LAWS
    },
    "SinePair": SinePair(),
    "SinePair logistic": SinePair(link="logistic", thirds=1, variation=7.0),
    "Rotating corners": Rotating(actions="corners", dim=3),
    "Hypercube": Hypercube(dim=3, variation=3.0),
    "one instance": PiecewiseLinear(instance=3, actions="fixed", dim=3, n_actions=4),
}
every_world = pytest.mark.parametrize("world", [*EVERY_WORLD.values()], ids=[*EVERY_WORLD])


def drawn(world: Any, *, seed: int = 1, size: int = 0, horizon: int = HORIZON) -> dict[str, Floats]:
    """Every round of a world, put together from its blocks: what is shown, what is behind it, what it pays."""
    blocks = [
        {
            "sets": tape.sets[tape.which],
            "means": tape.levels.table[tape.levels.rows],
            "path": tape.path,
            "noise": tape.noise,
        }
        for tape in world.tapes(horizon, seed, size or horizon)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def shown(tape: Any, t: int) -> Floats:
    """The features of round t. Compiled kernels hand views to each other only, so this one runs as plain Python."""
    context, is_open = verbs.observe.kernel_for(type(tape)).function(tape, (), t)
    assert is_open
    features: Floats = context
    return features


# ---- what all share ----


@every_world
@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_join_to_the_same_bits(world: FeaturedWorld, size: int) -> None:
    whole, cut = drawn(world), drawn(world, size=size)
    assert whole["means"].shape == (HORIZON, world.choices)
    for name, values in whole.items():
        np.testing.assert_array_equal(values, cut[name], err_msg=name)


@every_world
def test_a_tape_is_a_function_of_its_seed(world: FeaturedWorld) -> None:
    one, again, other = drawn(world), drawn(world), drawn(world, seed=2)
    for name, values in one.items():
        np.testing.assert_array_equal(values, again[name])
    assert (one["noise"] != other["noise"]).all()


@every_world
def test_means_are_the_link_of_the_product(world: FeaturedWorld) -> None:
    rounds = drawn(world)
    scores = np.einsum("tad,td->ta", rounds["sets"], rounds["path"])
    expected = {"identity": scores, "logistic": 1.0 / (1.0 + np.exp(-scores)), "poisson": np.exp(scores)}
    np.testing.assert_allclose(rounds["means"], expected[world.link], rtol=1e-13, atol=1e-14)


@every_world
def test_rewards_follow_the_law_of_the_link(world: FeaturedWorld) -> None:
    tape, nature = world.draw(HORIZON, 1)
    rounds = drawn(world)
    for t in range(0, HORIZON, 7):
        np.testing.assert_array_equal(shown(tape, t), rounds["sets"][t])
        rewards = [verbs.respond(tape, nature, t, action).reward for action in range(world.choices)]
        means, noise = rounds["means"][t], rounds["noise"][t]
        expected = {
            "identity": means + world.sd * noise,
            "logistic": noise < means,
            "poisson": stats.poisson.ppf(noise, means),
        }
        np.testing.assert_allclose(rewards, expected[world.link].astype(float), rtol=1e-12)


def test_an_action_that_does_not_exist_is_refused() -> None:
    world = Rotating(dim=3, n_actions=4)
    tape, nature = world.draw(10, 0)
    for action in (-1, 4):
        with pytest.raises(ArmError, match="an action that does not exist"):
            verbs.respond(tape, nature, 0, action)


def test_directions_are_uniform_on_the_sphere() -> None:
    sets = drawn(Rotating(dim=5, n_actions=10), horizon=500)["sets"].reshape(-1, 5)
    np.testing.assert_allclose(np.linalg.norm(sets, axis=1), 1.0, rtol=1e-14)
    for coordinate in sets.T:  # (x + 1) / 2 is beta((d - 1) / 2, (d - 1) / 2) for a coordinate x on the sphere
        assert stats.kstest((coordinate + 1.0) / 2.0, stats.beta(2.0, 2.0).cdf).pvalue > ALARM
    gram = sets.T @ sets / len(sets)
    np.testing.assert_allclose(gram, np.eye(5) / 5, atol=0.02)  # a deviation of sqrt(2/35/5000) = 0.003, six times


def test_fresh_actions_are_new_every_round_and_fixed_ones_never() -> None:
    fresh, fixed = (drawn(Rotating(dim=3, n_actions=4, actions=actions))["sets"] for actions in ("fresh", "fixed"))
    assert len(np.unique(fresh.reshape(-1, 3), axis=0)) == HORIZON * 4
    assert (fixed == fixed[0]).all()
    assert len(np.unique(fixed[0], axis=0)) == 4
    assert [Rotating(actions=actions).lasting for actions in ("fresh", "fixed", "basis")] == [False, True, True]


# ---- one by one ----


@pytest.mark.parametrize(("thirds", "slower"), [(0, 1.0), (1, 3.0)])
def test_sine_pair_is_the_papers_formula(thirds: int, slower: float) -> None:
    horizon, budget = 40, 2.5
    means = drawn(SinePair(variation=budget, thirds=thirds), horizon=horizon)["means"]
    for t in range(1, horizon + 1):
        phase = 5.0 * budget * math.pi * t / (slower * horizon)
        assert means[t - 1] == pytest.approx([0.5 + 0.3 * math.sin(phase), 0.5 + 0.3 * math.sin(math.pi + phase)])


def test_piecewise_linear_is_the_papers_formula() -> None:
    world, horizon = PiecewiseLinear(dim=3, breaks=6), 60
    knots, vectors = world.knots(horizon, seed=1)
    assert knots[0] == 1 and knots[-1] == horizon and len(knots) == len(vectors) == 8
    assert (np.diff(knots) > 0).all() and (knots == knots.astype(int)).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0)
    path = drawn(world, horizon=horizon)["path"]
    for t in range(1, horizon + 1):
        s = next(s for s in range(7) if knots[s] <= t <= knots[s + 1])
        theta = ((knots[s + 1] - t) * vectors[s] + (t - knots[s]) * vectors[s + 1]) / (knots[s + 1] - knots[s])
        np.testing.assert_allclose(path[t - 1], theta, atol=1e-14)
    assert world.changes(horizon, 1) == []


def test_breaks_may_fall_on_any_round_between() -> None:
    between = [world_round for seed in range(300) for world_round in PiecewiseLinear(breaks=3).knots(12, seed)[0][1:-1]]
    counts = np.bincount(np.array(between, int), minlength=13)
    assert counts[[0, 1, 12]].sum() == 0
    assert stats.chisquare(counts[2:12]).pvalue > ALARM
    assert PiecewiseLinear(breaks=0).knots(2, 0)[0].tolist() == [1.0, 2.0]


def test_an_instance_is_one_way_under_many_noises() -> None:
    for actions in ("fresh", "fixed"):
        one, other = (drawn(PiecewiseLinear(instance=5, actions=actions), seed=seed) for seed in (1, 2))
        np.testing.assert_array_equal(one["path"], other["path"])
        assert (one["noise"] != other["noise"]).all()
        assert (one["sets"] == other["sets"]).all() == (actions == "fixed")
    paths = [
        drawn(world)["path"] for world in (PiecewiseLinear(instance=6), PiecewiseLinear(), PiecewiseLinear(instance=1))
    ]
    assert (paths[0] != one["path"]).any() and (paths[1] != one["path"]).any()
    np.testing.assert_array_equal(paths[1], paths[2])  # the way of an instance is that of a run with its number


def test_rotating_keeps_its_length_and_comes_round() -> None:
    path = drawn(Rotating(turns=3.0, norm=2.0, dim=4), horizon=300)["path"]
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), 2.0)
    np.testing.assert_allclose(path[100:], path[:200], atol=1e-12)
    np.testing.assert_allclose(path[50], -path[0], atol=1e-12)
    assert np.linalg.matrix_rank(path, tol=1e-9) == 2


# ---- flights ----


def test_the_hypercube_keeps_its_budget_and_its_best_action_is_a_corner() -> None:
    world, horizon = Hypercube(dim=3, variation=20.0), 5_000
    tape, _ = world.draw(horizon, seed=5)
    block, sides = world.rounds(horizon), np.abs(tape.path)
    assert block == math.ceil((3 * horizon / 20.0) ** (2 / 3)) and world.changes(horizon, 5)[0] == block
    np.testing.assert_allclose(sides, math.sqrt(3 / (4 * block)))
    assert np.linalg.norm(np.diff(tape.path, axis=0), axis=1).sum() <= 20.0
    assert tape.sets.shape == (1, 8, 3) and len(np.unique(tape.sets[0], axis=0)) == 8
    np.testing.assert_allclose(np.linalg.norm(tape.sets[0], axis=1), 1.0)
    best = tape.levels.table[tape.levels.rows].max(axis=1)
    np.testing.assert_allclose(best, np.linalg.norm(tape.path, axis=1), err_msg="no unit vector pays more")


def test_nobody_loses_less_than_the_hypercube_allows() -> None:
    """Somebody who is told all other signs and always takes the likelier sign is as good as the bound, and no better.

    Its regret over 400 blocks has a standard error of 2 %: seeds are fixed, five of them are allowed.
    """
    world, horizon = Hypercube(dim=2, variation=40.0), 20_000
    block, rng = world.rounds(horizon), np.random.default_rng(3)
    size, blocks = math.sqrt(2 / (4 * block)), horizon // block
    seen = np.cumsum(size / math.sqrt(2) + rng.normal(size=(blocks, block, 2)), axis=1)
    wrong = np.concatenate([np.full((blocks, 1, 2), 0.5), seen[:, :-1] < 0], axis=1)
    lost = 2 * size / math.sqrt(2) * wrong.sum()
    assert lost == pytest.approx(world.least_regret(blocks * block), rel=0.1)
    assert world.least_regret(horizon) < 0.5 * horizon * 2 * size * math.sqrt(2), "below blind play"


def test_shares_are_those_of_the_shortest_stretch_that_holds_enough() -> None:
    luck = np.random.default_rng(0)
    counts = luck.poisson(1.5, (40, 3))
    good = luck.binomial(counts, 0.7)
    for fewest in (1, 6, 30):
        shares = flights.on_time_shares(counts, good, fewest)
        for hour, arm in np.ndindex(counts.shape):
            stretches = (slice(max(0, hour - reach), hour + reach + 1) for reach in range(40))
            held = next(stretch for stretch in stretches if counts[stretch, arm].sum() >= fewest)
            assert shares[hour, arm] == good[held, arm].sum() / counts[held, arm].sum()


def test_the_timetable_counts_what_the_file_says() -> None:
    table = flights.read_timetable("origin")
    assert sorted(table.names) == ["EWR", "JFK", "LGA"] and table.names[0] == "EWR"
    assert table.flights.sum() == 336_776 and len(table.hours) == 6936
    assert (table.on_time <= table.flights).all()
    with zipfile.ZipFile(flights._data()) as archive, archive.open("flights.csv") as file:
        first_day = [
            row
            for row, _ in zip(csv.DictReader(io.TextIOWrapper(file, "utf-8")), range(2000), strict=False)
            if (row["month"], row["day"]) == ("1", "1")
        ]
    for place, hour in enumerate(table.hours[:15]):
        for arm, name in enumerate(table.names):
            delays = [row["dep_delay"] for row in first_day if (row["hour"], row["origin"]) == (str(hour), name)]
            assert table.flights[place, arm] == len(delays)
            assert table.on_time[place, arm] == sum(delay != "NA" and float(delay) <= 15 for delay in delays)


@pytest.mark.parametrize("world", [Flights(), Flights(features=1), Flights(features=1, rewards="gaussian")], ids=str)
def test_flights_join_in_blocks_and_pay_by_their_shares(world: Flights) -> None:
    whole, _ = world.draw(450, 1)
    pieces = list(world.tapes(450, 1, 97))
    means = whole.levels.table[whole.levels.rows]
    np.testing.assert_array_equal(means, np.concatenate([piece.levels.table[piece.levels.rows] for piece in pieces]))
    np.testing.assert_array_equal(whole.noise, np.concatenate([piece.noise for piece in pieces]))
    table = flights.read_timetable("carrier")
    shares = flights.on_time_shares(table.flights[:, :5], table.on_time[:, :5], 20)
    np.testing.assert_array_equal(means[::100], shares[:5])
    assert world.labels == ["UA", "B6", "EV", "DL", "AA"]
    reward = verbs.respond(whole, (), 120, 2).reward
    paid = (
        shares[1, 2] + 0.25 * whole.noise[120]
        if world.rewards == "gaussian"
        else float(whole.noise[120] < shares[1, 2])
    )
    assert reward == pytest.approx(paid)


def test_features_of_flights_tell_the_hour() -> None:
    world = Flights(features=1, n_arms=2, per_hour=1)
    tape, _ = world.draw(40, 0)
    hours = flights.read_timetable("carrier").hours
    assert world.problem().dim == 6 and world.problem().family == "contextual"
    for t in range(40):
        angle = 2.0 * math.pi * hours[t] / 24.0
        time = np.array([1.0, math.cos(angle), math.sin(angle)]) / math.sqrt(2.0)
        np.testing.assert_allclose(shown(tape, t), np.kron(np.eye(2), time), atol=1e-15)


def test_flights_end_with_the_year() -> None:
    assert Flights(per_hour=1).changes(6936, 0) == []
    for refused in (Flights(per_hour=1).changes, Flights(per_hour=1).draw):
        with pytest.raises(ParameterError, match="the horizon 6937 is longer than the year: 6936 hours"):
            refused(6937, 0)
    with pytest.raises(ParameterError, match="fewest=50 is more than the 32 flights of the rarest arm"):
        Flights(n_arms=16, fewest=50).draw(100, 0)


def test_missing_flights_are_named_and_hinder_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    flights.read_timetable.cache_clear()
    said = "pip install -e '.[flights]' in a clone of driftwise"
    with pytest.raises(ParameterError) as caught:
        Flights().draw(100, 0)
    assert said in str(caught.value)
    assert Flights().problem().n_arms == 5
    told = CliRunner().invoke(main, ["simulate", "--world", "flights", "--policy", "uniform"])
    assert told.exit_code == 2 and said in told.stderr
    assert CliRunner().invoke(main, ["worlds"]).exit_code == 0


# ---- nonsense ----


@pytest.mark.parametrize(
    ("kind", "parameters", "said"),
    [
        (Rotating, {"dim": 1}, "dim=1 has no plane to turn in"),
        (Rotating, {"turns": 0.0}, r"turns=0.0 is outside \(0, inf\)"),
        (Rotating, {"actions": "stale"}, "actions=stale is not one of fresh, fixed, basis"),
        (Rotating, {"link": "probit"}, "link=probit is not one of identity, logistic, poisson"),
        (Rotating, {"n_actions": 1}, "n_actions=1 is not a whole number of at least 2"),
        (SinePair, {"dim": 3}, "dim=3 is not 2: this world has two arms"),
        (SinePair, {"actions": "fresh"}, "actions=fresh is not one of basis"),
        (SinePair, {"variation": -1.0}, r"variation=-1.0 is outside \(0, inf\)"),
        (SinePair, {"thirds": 3}, "thirds=3 is not a whole number of at least 0 and at most 1"),
        (PiecewiseLinear, {"breaks": -1}, "breaks=-1 is not a whole number of at least 0"),
        (PiecewiseLinear, {"instance": -2}, "instance=-2 is not a whole number of at least -1"),
        (PiecewiseLinear, {"dim": 1, "actions": "basis"}, "dim=1 leaves no choice"),
        (Rotating, {"dim": 13, "actions": "corners"}, r"dim=13 gives 2\^13 corners: corners need dim of at most 12"),
        (Hypercube, {"actions": "fresh"}, "actions=fresh is not one of corners"),
        (Hypercube, {"link": "logistic"}, "link=logistic is not identity"),
        (Hypercube, {"variation": 0.0}, r"variation=0.0 is outside \(0, inf\)"),
        (Flights, {"arms": "pilots"}, "arms=pilots is not one of carriers, origins, destinations"),
        (Flights, {"arms": "origins"}, "n_arms=5 is not a whole number of at least 2 and at most 3"),
        (Flights, {"per_hour": 0}, "per_hour=0 is not a whole number of at least 1"),
        (Flights, {"fewest": 0}, "fewest=0 is not a whole number of at least 1"),
        (Flights, {"features": 2}, "features=2 is not a whole number of at least 0 and at most 1"),
    ],
)
def test_nonsense_is_refused_by_value_and_rule(kind: Any, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        kind(**parameters)


def test_a_horizon_too_short_for_its_breaks_is_refused_before_the_first_round() -> None:
    for refused in (PiecewiseLinear().changes, PiecewiseLinear().draw):
        with pytest.raises(ParameterError, match="breaks=30 does not fit the horizon 31"):
            refused(31, 0)
    assert PiecewiseLinear().changes(32, 0) == []
    with pytest.raises(ParameterError, match="variation=1000 is too much for 100 rounds: blocks of 1"):
        Hypercube(variation=1000.0).changes(100, 0)
