"""Slates: the world pays each item by its own mean, the policy agrees with its slow twin, and the loop joins the two.

Seeds are fixed. Were the streams renewed, each test of what a world pays would raise a false alarm with probability
below 1e-5.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from driftwise.cli import main
from driftwise.core.loop import play
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, dump, equal, load
from driftwise.core.spec import describe, parse
from driftwise.core.types import Decision, Floats, Ints, Problem, SlateOutcome, new_trace
from driftwise.core.validation import cast
from driftwise.core.verbs import observe, respond, restart
from driftwise.errors import ArmError, ParameterError
from driftwise.families import POLICIES, WORLDS, Abrupt, BanditOverBandit, Slates, SlidingSlateUCB
from driftwise.families.composite.worlds.delayed import Delayed
from driftwise.measure.comparator import BestChoice
from driftwise.measure.ledger import enter, new_ledger
from driftwise.study.run import run
from driftwise.study.study import Study
from tests.families.multi_armed.twins.log import readable
from tests.families.slate.twins.sliding_slate_ucb import SlidingSlateUCBTwin
from tests.fixtures.by_family import ARMED, FEATURED, SLATED, SLATED_WORLDS
from tests.fixtures.twins import SLATE_TWINS
from tests.fixtures.verbs import advance, select, update

CLOSE = 1e-9


def test_every_policy_for_slates_has_a_twin() -> None:
    assert set(SLATE_TWINS) == set(SLATED)
    assert set(SLATED_WORLDS) == {"slates"}


# ---- the policy beside its twin ----


class Told(NamedTuple):
    """What is told at the end of a round: whose slate it was, and what its items paid."""

    t: int
    slate: tuple[int, ...]
    rewards: Floats


def told(rounds: int, problem: Problem, luck: np.random.Generator) -> Iterator[tuple[int, list[Told]]]:
    """Round by round what is told at its end: late, never, twice (then with other numbers), in any order."""
    due: dict[int, list[Told]] = {}
    for t in range(rounds):
        slate = tuple(sorted(luck.choice(problem.n_arms, problem.slate, replace=False).tolist()))
        for _ in range(luck.choice([0, 1, 1, 1, 2])):
            delay = int(luck.integers(20)) if luck.random() < 0.5 else 0
            rewards = luck.normal(0.5, problem.noise, problem.slate)
            due.setdefault(t + delay, []).append(Told(t, slate, rewards))
        arrived = due.pop(t, [])
        yield t, [arrived[i] for i in luck.permutation(len(arrived))]


def indices_of(policy: Any, state: Any, t: int) -> tuple[Floats, tuple[int, ...]]:
    """The bounds the policy compares in round `t`, and the slate it takes."""
    slate, propensity = select(policy, state, t, (), at(key(1), t))
    assert propensity == 1.0
    return readable(state.indices), tuple(slate.tolist())


def assert_agree(twin: SlidingSlateUCBTwin, policy: Any, state: Any, t: int) -> None:
    """The same bounds, the same slate but for ties within rounding, and the same count of what came too late."""
    indices, slate = indices_of(policy, state, t)
    expected = twin.indices(t)
    np.testing.assert_allclose(indices, expected, rtol=CLOSE, atol=CLOSE)
    assert state.window.stale[0] == twin.stale()
    assert list(slate) == sorted(set(slate))
    best = twin.choose(t)
    unseen = np.isinf(expected)
    assert [item for item in slate if unseen[item]] == [item for item in best if unseen[item]]
    worth = [sum(expected[item] for item in each if not unseen[item]) for each in (slate, best)]
    assert worth[0] == pytest.approx(worth[1], abs=CLOSE)


@pytest.mark.parametrize("window", [1, 7, 40])
@pytest.mark.parametrize("horizon", [0, 1000])
@pytest.mark.parametrize("size", [1, 3])
def test_agrees_with_its_twin_whatever_rewards_do(window: int, horizon: int, size: int) -> None:
    problem = Problem(6, -np.inf, np.inf, 0.3, horizon, slate=size, family="slate")
    policy = cast(SlidingSlateUCB(window=window, scale=0.7))
    state, twin, luck = policy.init(problem), SlidingSlateUCBTwin(policy, problem), np.random.default_rng(window)
    for t, arrived in told(150, problem, luck):
        advance(policy, state, t, at(key(1), t))
        assert_agree(twin, policy, state, t)
        for each in arrived:
            tell(policy, state, each.t, each.slate, each.rewards, t)
            twin.learn(each.t, each.slate, each.rewards, t)


def tell(policy: Any, state: Any, t: int, slate: Any, rewards: Any, now: int) -> None:
    """What the slate of round `t` paid, known at the end of round `now`."""
    decision = Decision(t, np.array(slate, np.int64), 1.0, (), at(key(1), t))
    update(policy, state, decision, SlateOutcome(float(np.sum(rewards)), np.array(rewards, float)), now)


def test_takes_the_largest_and_among_equals_the_lowest() -> None:
    problem = Problem(5, horizon=100, slate=3, family="slate")
    policy = cast(SlidingSlateUCB(window=50))
    state = policy.init(problem)
    assert indices_of(policy, state, 0)[1] == (0, 1, 2)
    for t, (slate, paid) in enumerate([((0, 1, 2), (0, 1, 0)), ((0, 3, 4), (0, 1, 0))]):
        tell(policy, state, t, slate, paid, t)
    # items 1 and 3 paid; of the rest 0 was shown twice, so its bonus is the smallest, and 2 and 4 are alike
    assert indices_of(policy, state, 2)[1] == (1, 2, 3)


@pytest.mark.parametrize("horizon", [0, 400])
def test_restart_makes_a_state_as_new_with_another_window(horizon: int) -> None:
    problem = Problem(6, horizon=horizon, slate=2, family="slate")
    policy, luck = cast(SlidingSlateUCB(window=30)), np.random.default_rng(0)
    used, fresh = policy.init(problem), cast(SlidingSlateUCB(window=9)).init(problem)
    for t in range(45):
        tell(policy, used, t, luck.choice(6, 2, replace=False), luck.random(2), t)
    restart(policy, used, 9, 9)
    assert used.window.clock[0] == 0
    for t in range(45):
        slate, paid = luck.choice(6, 2, replace=False), luck.random(2)
        for state in (used, fresh):
            tell(policy, state, t, slate, paid, t)
            advance(policy, state, t + 1, at(key(1), t))
        np.testing.assert_array_equal(indices_of(policy, used, t + 1)[0], indices_of(policy, fresh, t + 1)[0])


def test_the_bonus_of_an_unknown_horizon_follows_time_and_the_window() -> None:
    policy, problem = cast(SlidingSlateUCB(window=50)), Problem(4, slate=2, family="slate")
    state = policy.init(problem)
    tell(policy, state, 0, (0, 1), (0.0, 0.0), 0)
    for t, rounds in ((1, 50), (40, 50)):
        assert indices_of(policy, state, t)[0][0] == pytest.approx(0.5 * np.sqrt(2 * np.log(2 * 4 * rounds**2)))
    tell(policy, state, 90, (0, 1), (0.0, 0.0), 90)
    assert indices_of(policy, state, 91)[0][0] == pytest.approx(0.5 * np.sqrt(2 * np.log(2 * 4 * 91**2)))


def test_windows_for_a_known_variation() -> None:
    assert SlidingSlateUCB.for_variation(horizon=1000, n_items=10, size=1).window == 215  # as with arms: theorem 6
    assert SlidingSlateUCB.for_variation(horizon=1000, n_items=10, size=8, variation=8.0).window == 107
    assert SlidingSlateUCB.for_variation(horizon=1000, n_items=10, size=2, variation=0.0).window == 1000
    for wrong in ({"horizon": 0}, {"n_items": 0}, {"size": 0}, {"variation": -1.0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            SlidingSlateUCB.for_variation(**{"horizon": 10, "n_items": 4, "size": 2} | wrong)


@pytest.mark.parametrize(
    ("policy", "problem", "word"),
    [
        (SlidingSlateUCB(window=0), Problem(4, slate=2, family="slate"), "window=0"),
        (SlidingSlateUCB(scale=0.0), Problem(4, slate=2, family="slate"), "scale=0"),
        (SlidingSlateUCB(), Problem(4, slate=5, family="slate"), "slate=5"),
        (SlidingSlateUCB(), Problem(4), "slate=0"),
    ],
)
def test_the_policy_refuses_nonsense(policy: SlidingSlateUCB, problem: Problem, word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        policy.init(problem)


# ---- the world ----


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"size": 0}, "size=0"),
        ({"size": 12}, "size=12 leaves no choice among 12"),
        ({"drift": "rotating"}, "no drift called 'rotating'"),
        ({"drift": "abrupt:phases=0"}, "phases=0"),
    ],
)
def test_the_world_refuses_nonsense(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Slates(**parameters)


def test_the_world_is_named_in_words() -> None:
    world = Slates(size=2, drift="abrupt:n_arms=20,phases=3")
    text = describe(world, WORLDS)
    assert text == "slates:size=2,drift=(abrupt:n_arms=20,phases=3)"
    assert parse(text, WORLDS, "world") == world
    assert parse("slates:drift=abrupt", WORLDS, "world").world == Abrupt()
    assert describe(Slates(), WORLDS) == "slates"


@pytest.mark.parametrize(
    "slate", [[0, 1], [0, 1, 2, 3], [0, 1, 12], [-1, 0, 1], [4, 2, 4]], ids=["short", "long", "high", "low", "twice"]
)
def test_a_slate_that_cannot_be_is_an_error(slate: list[int]) -> None:
    tape, nature = Slates().draw(10, seed=0)
    with pytest.raises(ArmError, match="the policy chose"):
        respond(tape, nature, 0, np.array(slate, np.int64))


@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian"])
def test_every_item_pays_by_its_own_mean(rewards: str) -> None:
    """By means and covariances of standardised rewards over 8,000 rounds."""
    rounds, n_items = 8000, 6
    world = Slates(size=3, drift=f"sinusoidal:n_arms={n_items},rewards={rewards},sd=0.5")
    tape, nature = world.draw(rounds, seed=2)
    paid = np.empty((rounds, n_items))
    for slate in (np.array([0, 2, 5]), np.array([4, 1, 3])):  # what an item pays does not depend on its company
        for t in range(rounds):
            outcome = respond(tape, nature, t, slate)
            paid[t, slate] = outcome.items
            assert outcome.reward == pytest.approx(outcome.items.sum())
    means = tape.levels.table[tape.levels.rows]
    spread = np.sqrt(means * (1.0 - means)) if rewards == "bernoulli" else np.full_like(means, 0.5)
    standard = (paid - means) / spread
    limit = stats.norm.isf(1e-6 / 36.0)
    assert np.abs(standard.mean(axis=0) * np.sqrt(rounds)).max() < limit
    products = standard.T @ standard / np.sqrt(rounds)
    assert np.abs(products[~np.eye(n_items, dtype=bool)]).max() < limit
    assert np.abs(np.diag(products) / np.sqrt(rounds) - 1.0).max() < 0.1


def test_the_means_and_changes_are_those_of_the_world_behind() -> None:
    world, behind = Slates(size=2, drift="abrupt:n_arms=7,phases=4"), Abrupt(n_arms=7, phases=4)
    assert world.changes(200, 3) == behind.changes(200, 3)
    tape, other = world.draw(200, 3)[0], behind.draw(200, 3)[0]
    np.testing.assert_array_equal(tape.levels.table[tape.levels.rows], other.levels.table[other.levels.rows])
    assert observe(tape, world.nature(), 0) == ((), True)
    assert world.problem(200) == behind.problem(200)._replace(slate=2, family="slate")


def test_rounds_are_the_same_however_a_tape_is_cut() -> None:
    world = Slates(drift="random-walk:n_arms=5")
    whole_tape, _ = world.draw(50, 4)
    pieces = list(world.tapes(50, 4, size=7))
    np.testing.assert_array_equal(np.concatenate([piece.noise for piece in pieces]), whole_tape.noise)


def test_rewards_of_slates_cannot_be_delayed() -> None:
    with pytest.raises(ParameterError, match="a slate world cannot be delayed"):
        Delayed(world=Slates(), delay=3)


# ---- the loop, the ledger, studies and the command line ----

WORLD = Slates(size=3, drift="abrupt:n_arms=9,phases=2")
POLICY = SlidingSlateUCB(window=200, scale=0.3)
ROUNDS = 1500


def played(policy: Any, seed: int = 0) -> tuple[Any, Ints, Floats, Any]:
    """State, slates and rewards of a run, and the tape."""
    policy, (tape, nature) = cast(policy), WORLD.draw(ROUNDS, seed)
    state, trace = policy.init(WORLD.problem(ROUNDS)), new_trace(0, ROUNDS, slate=3)
    assert play(policy, state, tape, nature, key(seed), trace, ROUNDS) == ROUNDS
    return state, trace.actions, trace.rewards, tape


def test_the_loop_plays_what_the_twin_would_and_learns() -> None:
    state, slates, rewards, tape = played(POLICY)
    twin, nature = SlidingSlateUCBTwin(cast(POLICY), WORLD.problem(ROUNDS)), WORLD.nature()
    for t in range(ROUNDS):
        outcome = respond(tape, nature, t, slates[t])
        assert outcome.reward == rewards[t]
        if t < 20 or t % 50 == 0:
            indices = twin.indices(t)
            assert np.isinf(indices).any() or indices[slates[t]].sum() >= np.sort(indices)[-3:].sum() - CLOSE
        twin.learn(t, slates[t], outcome.items, t)
    assert state.window.counts.sum() == 3 * 200
    means = tape.levels.table[tape.levels.rows]
    missed = np.sort(means, axis=1)[:, -3:].sum(axis=1) - np.take_along_axis(means, slates, axis=1).sum(axis=1)
    uniform = np.sort(means, axis=1)[:, -3:].sum(axis=1) - 3.0 * means.mean(axis=1)
    assert missed.min() >= -CLOSE
    assert missed.sum() < 0.3 * uniform.sum()  # seen: 0.16


def test_the_ledger_books_slates() -> None:
    _, slates, rewards, tape = played(POLICY)
    ledger, trace = new_ledger(ROUNDS), new_trace(0, ROUNDS, slate=3)
    trace.actions[:], trace.rewards[:] = slates, rewards
    enter(ledger, BestChoice(WORLD, ROUNDS, 0).block(tape), trace, ROUNDS)
    means = tape.levels.table[tape.levels.rows]
    best = np.sort(means, axis=1)[:, -3:].sum(axis=1)
    got = np.take_along_axis(means, slates, axis=1).sum(axis=1)
    np.testing.assert_allclose(ledger.totals, [(best - got).sum(), rewards.sum(), (best - got <= 1e-12).sum()])
    np.testing.assert_array_equal(ledger.good, best - got <= 1e-12)


def test_select_reads_only_and_bytes_come_back() -> None:
    state = played(POLICY)[0]
    before = clone(state)
    for t in range(5):
        select(cast(POLICY), state, ROUNDS + t, (), at(key(0), t))
    assert equal(before, state)
    assert equal(load(dump(state), cast(POLICY).init(WORLD.problem(ROUNDS))), state)


def test_a_study_gives_the_same_numbers_in_one_block_or_many(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(name="slates", worlds={"w": WORLD}, policies={"p": POLICY}, horizon=ROUNDS, runs=2)
    columns = ("regret", "static_regret", "reward", "optimal_rate")
    one = [run(study).column(study.cells(), name) for name in columns]
    monkeypatch.setattr("driftwise.families.slate.worlds.slates.BLOCK_NUMBERS", 9 * 100)
    other = [run(study).column(study.cells(), name) for name in columns]
    np.testing.assert_allclose(one, other, rtol=1e-12)
    regret, static = one[0], one[1]
    assert (regret > 0.0).all()
    assert (static < regret).all()  # the best slate of every round beats the best that never changes


@pytest.mark.parametrize("name", sorted({*ARMED, *FEATURED}))
def test_policies_that_choose_one_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="asks for several items"):
        Study(name="wrong", worlds={"w": Slates()}, policies={"p": POLICIES[name]()}, horizon=2000, runs=1)


def test_worlds_of_arms_refuse_slates() -> None:
    with pytest.raises(ParameterError, match="asks for one arm"):
        Study(name="wrong", worlds={"w": Abrupt()}, policies={"p": SlidingSlateUCB()}, horizon=2000, runs=1)


def test_the_command_line_plays_slates() -> None:
    words = ["simulate", "--world", "slates", "--policy", "sliding-slate-ucb:window=100", "--horizon", "300"]
    answer = CliRunner().invoke(main, [*words, "--runs", "2", "--json"])
    assert answer.exit_code == 0
    document = json.loads(answer.stdout)
    assert 0.0 < document["policies"]["sliding-slate-ucb:window=100"]["regret"]["mean"] < 300 * 2.4
    wrong = CliRunner().invoke(main, ["simulate", "--world", "slates", "--policy", "sliding-ucb", "--horizon", "2000"])
    assert wrong.exit_code == 2
    assert wrong.stderr.count("\n") == 1
    assert "asks for several items" in wrong.stderr


# ---- Bandit-over-Bandit ----


@pytest.mark.deep
@pytest.mark.parametrize("literal", [0, 1])
def test_bandit_over_bandit_learns_the_window_of_slates(literal: int) -> None:
    over = BanditOverBandit(policy=POLICY, literal=literal)
    state, slates, rewards, tape = played(over)
    block = int(np.sqrt(9 * ROUNDS))
    assert state.hedge.block[0] == block
    memory = block if literal else state.hedge.windows[state.hedge.chosen[0]]
    assert state.inner.window.size[0] == 3 * memory
    assert state.start[0] == (ROUNDS - 1) // block * block
    inside = ROUNDS - state.start[0]
    assert state.inner.window.counts.sum() == 3 * min(inside, memory)
    assert state.arrived[0] == inside
    assert state.total[0] == pytest.approx((2.0 * rewards[-inside:] - 3.0).sum())  # each item's [0, 1] as [-1, 1]
    means = tape.levels.table[tape.levels.rows]
    assert np.take_along_axis(means, slates, axis=1).sum() > 3.0 * means.mean(axis=1).sum()
