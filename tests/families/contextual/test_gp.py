"""Sliding-window GP-UCB agrees with its slow twin, looks after its factor, and follows a surface that drifts.

Seeds are fixed. Were the streams renewed, each test of what a world draws would raise a false alarm with probability
below 1e-5.
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from driftwise.core.loop import play
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, dump, equal, load, regroup
from driftwise.core.types import Decision, Floats, Outcome, Problem, new_trace
from driftwise.core.validation import cast
from driftwise.core.verbs import respond, restart
from driftwise.errors import ParameterError
from driftwise.families import BanditOverBandit, DriftingSurface, SlidingGPUCB
from driftwise.families.contextual.gp import COLUMNS, HOPELESS, TOLERANCE, audit, information_gain, most_gain
from tests.families.contextual.twins.sliding_gp_ucb import SlidingGPUCBTwin
from tests.fixtures.verbs import advance, select, update

CLOSE = 1e-9
PROBLEM = Problem(30, -np.inf, np.inf, 0.3, 1000, dim=2, unit=1.0, family="contextual")
SHAPES: dict[str, dict[str, Any]] = {
    "the theorem's ridge": {},
    "the posterior": {"ridge": 0.0, "length": 0.4},
    "other numbers": {"ridge": 0.05, "variance": 2.5, "norm": 3.0, "confidence": 0.1, "scale": 0.4, "length": 0.1},
}


class Pair(NamedTuple):
    """A policy with its state, and its twin."""

    policy: Any
    state: Any
    twin: SlidingGPUCBTwin

    @classmethod
    def of(cls, problem: Problem = PROBLEM, **parameters: Any) -> "Pair":
        policy = cast(SlidingGPUCB(**parameters))
        return cls(policy, policy.init(problem), SlidingGPUCBTwin(policy, problem))

    def tell(self, t: int, x: Floats, y: float, now: int) -> None:
        """The same reward to both."""
        update(self.policy, self.state, Decision(t, 0, np.nan, x, at(key(0), t)), Outcome(y), now)
        self.twin.learn(t, x, y, now)

    def come_to(self, t: int) -> None:
        """Let time pass."""
        advance(self.policy, self.state, t, at(key(0), t))

    def choose(self, t: int, context: Floats) -> int:
        """The row the policy takes."""
        row, propensity = select(self.policy, self.state, t, context, at(key(0), t))
        assert propensity == 1.0
        return int(row)

    def assert_agree(self, t: int, context: Floats) -> None:
        """The same posterior, information and count of what came too late; the twin's choice but for rounding."""
        row, process = self.choose(t, context), self.state.process
        start = (len(context) - 1) // COLUMNS * COLUMNS
        means, spreads = self.twin.posterior(t, context)
        last = slice(0, len(context) - start)  # what was predicted last is still there
        np.testing.assert_allclose(process.means[last], means[start:], rtol=CLOSE, atol=CLOSE)
        np.testing.assert_allclose(np.sqrt(process.squares[last]), spreads[start:], rtol=CLOSE, atol=CLOSE)
        indices = self.twin.indices(t, context)
        assert indices[row] >= indices.max() - CLOSE
        rows, _ = self.twin.pairs(t)
        matrix = np.eye(len(rows)) + self.twin.kernel(rows, rows) / self.twin.rho()
        assert information_gain(process) == pytest.approx(0.5 * np.linalg.slogdet(matrix)[1], abs=CLOSE)
        assert self.state.window.stale[0] == self.twin.stale()


Arrival = tuple[int, Floats, float]


def told(rounds: int, luck: np.random.Generator) -> Iterator[tuple[int, list[Arrival]]]:
    """Round by round what is told at its end: late, never, twice (then with another number), in any order."""
    due: dict[int, list[Arrival]] = {}
    for t in range(rounds):
        x = luck.random(2)
        for _ in range(luck.choice([0, 1, 1, 1, 2])):
            delay = int(luck.integers(25)) if luck.random() < 0.5 else 0
            due.setdefault(t + delay, []).append((t, x, float(luck.normal())))
        arrived = due.pop(t, [])
        yield t, [arrived[i] for i in luck.permutation(len(arrived))]


@pytest.mark.parametrize("window", [1, 8, 40])
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_its_twin_whatever_rewards_do(shape: str, window: int) -> None:
    pair, luck = Pair.of(window=window, **SHAPES[shape]), np.random.default_rng(window)
    for t, arrived in told(130, luck):
        pair.come_to(t)
        pair.assert_agree(t, luck.random((9, 2)))
        for when, x, y in arrived:
            pair.tell(when, x, y, t)
    pair.come_to(300)
    assert pair.state.process.n_pairs[0] == 0
    assert pair.state.process.repairs[0] == 0


@pytest.mark.parametrize("rows", [1, COLUMNS, COLUMNS + 1, 3 * COLUMNS])
def test_any_number_of_candidates(rows: int) -> None:
    pair, luck = Pair.of(window=20), np.random.default_rng(rows)
    for t in range(25):
        pair.tell(t, luck.random(2), float(luck.normal()), t)
    pair.come_to(25)
    for _ in range(10):
        pair.assert_agree(25, luck.random((rows, 2)))


def test_equal_candidates_go_to_the_first() -> None:
    pair = Pair.of(window=20)
    rows = np.full((40, 2), 0.5)
    assert pair.choose(0, rows) == 0
    pair.tell(0, rows[0], -1.0, 0)
    rows[33:] = 0.9
    assert pair.choose(1, rows) == 33


@pytest.mark.parametrize("horizon", [0, 500])
def test_confidence_follows_the_horizon(horizon: int) -> None:
    pair = Pair.of(PROBLEM._replace(horizon=horizon), window=10)
    pair.tell(0, np.array([0.2, 0.2]), 1.0, 0)
    pair.come_to(1)
    pair.assert_agree(1, np.random.default_rng(0).random((9, 2)))
    assert pair.state.delta[0] == (1.0 / horizon if horizon else 0.01)


# ---- the factor ----


def whole_error(pair: Pair) -> float:
    """|L L' - A| / rho, computed at once."""
    process, window = pair.state.process, pair.state.window
    held = int(process.n_pairs[0])
    points = window.features[process.slots[:held]]
    upper = np.triu(process.factor[:held, :held])
    gap = upper.T @ upper - pair.twin.kernel(points, points) - pair.twin.rho() * np.eye(held)
    return float(np.linalg.norm(gap) / pair.twin.rho())


def feed(pair: Pair, rounds: range, luck: np.random.Generator, spread: float = 1.0) -> None:
    """Rewards that come at once."""
    for t in rounds:
        pair.tell(t, 0.5 + spread * (luck.random(2) - 0.5), float(luck.normal()), t)
        pair.come_to(t + 1)


def test_errors_do_not_grow_with_time() -> None:
    """A window of close points: after 60 passes the error is what it was after six, with no fresh factor between."""
    pair, luck = Pair.of(window=50, ridge=1e-3, length=0.5), np.random.default_rng(3)
    feed(pair, range(300), luck, spread=0.3)
    early = whole_error(pair)
    feed(pair, range(300, 3000), luck, spread=0.3)
    assert whole_error(pair) < 3.0 * early < 1e-10
    assert pair.state.process.repairs[0] == 0


def test_a_wrong_factor_is_found_at_once_and_mended() -> None:
    pair, luck = Pair.of(window=30, ridge=0.1), np.random.default_rng(4)
    feed(pair, range(60), luck)
    pair.state.process.factor[11, 17] += 1e-6
    assert whole_error(pair) > TOLERANCE
    feed(pair, range(60, 61), luck)
    assert pair.state.process.repairs[0] == 1
    assert pair.state.process.error[0] == pair.state.process.fresh[0] < 1e-13
    assert whole_error(pair) < 1e-13
    pair.assert_agree(61, luck.random((9, 2)))
    feed(pair, range(61, 90), luck)
    assert pair.state.process.repairs[0] == 1


def test_the_error_felt_has_the_mean_square_of_the_error_there_is() -> None:
    """Over 400 turns; the mean of their squares has a relative standard error of at most sqrt(2 / 400) = 7%."""
    pair, luck = Pair.of(window=12, ridge=0.5), np.random.default_rng(5)
    feed(pair, range(24), luck)
    pair.state.process.factor[2, 7] += 1e-10  # below what is mended
    felt = []
    for turn in range(400):
        audit(pair.state.process, turn)
        felt.append(pair.state.process.error[0])
    assert np.mean(np.square(felt)) == pytest.approx(whole_error(pair) ** 2, rel=0.35)
    assert pair.state.process.repairs[0] == 0


def test_small_noise_is_served_and_too_small_noise_refused() -> None:
    pair, luck = Pair.of(window=40, ridge=1e-7), np.random.default_rng(6)
    feed(pair, range(200), luck)
    assert whole_error(pair) < HOPELESS
    assert pair.state.process.repairs[0] < 10  # a fresh factor has rounding errors too: it is not made again and again
    hopeless = Pair.of(window=40, ridge=1e-17)
    with pytest.raises(FloatingPointError, match="raise the ridge"):
        feed(hopeless, range(40), luck, spread=0.0)


def test_features_that_are_not_numbers_are_refused() -> None:
    pair = Pair.of(window=10)
    with pytest.raises(FloatingPointError, match="raise the ridge"):
        feed(pair, range(3), np.random.default_rng(0), spread=np.nan)


def test_the_factor_is_made_again_when_features_leave() -> None:
    """A third feature that was no use goes: the rest is as if it had never been."""
    problem, luck = PROBLEM._replace(dim=3), np.random.default_rng(7)
    policy = cast(SlidingGPUCB(window=15))
    wide, pair = policy.init(problem), Pair.of(window=15)
    for t in range(20):
        x, y = luck.random(3), float(luck.normal())
        update(policy, wide, Decision(t, 0, np.nan, x, at(key(0), t)), Outcome(y), t)
        pair.tell(t, np.delete(x, 1), y, t)
    narrow = regroup(wide, policy.init(PROBLEM), range(PROBLEM.n_arms), columns=[0, 2])
    moved = pair._replace(state=narrow)
    for now in (20, 24, 40):  # rounds leave before the factor is made again, and after
        moved.come_to(now)
        moved.assert_agree(now, luck.random((9, 2)))
    again = regroup(wide, policy.init(PROBLEM), range(PROBLEM.n_arms), columns=[0, 2])
    late = pair._replace(state=again)
    late.tell(20, np.array([0.3, 0.3]), 1.0, 20)
    late.come_to(21)
    late.assert_agree(21, luck.random((9, 2)))


# ---- as a policy ----


def test_restart_makes_a_state_as_new_with_another_window() -> None:
    used, luck = Pair.of(window=30), np.random.default_rng(8)
    feed(used, range(50), luck)
    restart(used.policy, used.state, 9, 9)
    assert used.state.window.clock[0] == 0
    fresh = Pair.of(window=9)
    again = fresh._replace(policy=used.policy, state=used.state)
    for t, arrived in told(60, luck):
        again.come_to(t)
        again.assert_agree(t, luck.random((9, 2)))
        for when, x, y in arrived:
            again.tell(when, x, y, t)


def test_windows_for_a_known_variation() -> None:
    assert SlidingGPUCB.for_variation(horizon=1000, gain=8.0).window == 400
    assert SlidingGPUCB.for_variation(horizon=1000, gain=8.0, variation=8.0).window == 100
    assert SlidingGPUCB.for_variation(horizon=1000, gain=8.0, variation=0.0).window == 1000
    assert SlidingGPUCB.for_variation(horizon=50, gain=100.0).window == 50
    line = np.linspace(0.0, 1.0, 10)[:, None]
    gain = most_gain(line, 1000, length=0.3, variance=2.0, ridge=0.25)
    policy = SlidingGPUCB.for_points(line, horizon=1000, noise=0.5, variation=40.0, length=0.3, variance=2.0, ridge=0)
    assert policy.window == int((gain * 1000 / 40.0) ** (2 / 3))
    assert (policy.length, policy.variance, policy.ridge) == (0.3, 2.0, 0.0)
    for wrong in ({"points": [1.0, 2.0]}, {"points": [[np.nan]]}, {"noise": 0.0}, {"length": -1.0}, {"horizon": 0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            SlidingGPUCB.for_points(**{"points": line, "horizon": 10, "noise": 0.5} | wrong)  # type: ignore[arg-type]


def test_no_choice_of_points_gains_more_information() -> None:
    """Against every multiset of four points out of five."""
    points = np.random.default_rng(9).random((5, 2))
    pair = Pair.of(ridge=0.1, length=0.3)
    gains = []
    for chosen in itertools.combinations_with_replacement(range(5), 4):
        matrix = pair.twin.kernel(points[list(chosen)], points[list(chosen)])
        gains.append(0.5 * np.linalg.slogdet(np.eye(4) + matrix / 0.1)[1])
    bound = most_gain(points, 4, length=0.3, variance=1.0, ridge=0.1)
    assert max(gains) <= bound
    assert bound * (1.0 - np.exp(-1.0)) <= max(gains) + CLOSE


@pytest.mark.parametrize(
    ("parameters", "problem", "word"),
    [
        ({"window": 0}, PROBLEM, "window=0"),
        ({"window": 2000}, PROBLEM, "window=2000"),
        ({"length": 0.0}, PROBLEM, "length=0"),
        ({"variance": -1.0}, PROBLEM, "variance=-1"),
        ({"norm": 0.0}, PROBLEM, "norm=0"),
        ({"ridge": -0.1}, PROBLEM, "ridge=-0.1"),
        ({"confidence": 1.0}, PROBLEM, "confidence=1"),
        ({"scale": 0.0}, PROBLEM, "scale=0"),
        ({}, PROBLEM._replace(noise=-0.1), "noise=-0.1"),
        ({"ridge": 0.0}, PROBLEM._replace(noise=0.0), "ridge=0 takes the square of the noise, which is not known"),
        ({"ridge": 0.0}, PROBLEM._replace(unit=0.0), "ridge=0 takes the square of the noise, which is not known"),
        ({}, PROBLEM._replace(dim=0), "dim=0"),
    ],
)
def test_refuses_nonsense(parameters: dict[str, Any], problem: Problem, word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        SlidingGPUCB(**parameters).init(problem)


# ---- the surface ----


@pytest.mark.parametrize(
    "parameters", [{"dim": 0}, {"n_actions": 1}, {"turns": 0.0}, {"length": -1.0}, {"height": 0.0}, {"sd": 0.0}]
)
def test_the_world_refuses_nonsense(parameters: dict[str, Any]) -> None:
    (name,) = parameters
    with pytest.raises(ParameterError, match=name):
        DriftingSurface(**parameters)


@pytest.mark.parametrize("part", [0.0, 0.13, 0.6])
def test_at_any_time_the_surface_is_a_draw_of_the_process(part: float) -> None:
    """The square f' K^-1 f is chi-square with a degree for each point; 300 worlds of 5 points."""
    world, rounds, total = DriftingSurface(n_actions=5, length=0.3, height=1.7), 100, 0.0
    for seed in range(300):
        tape, _ = world.draw(rounds, seed)
        points, heights = tape.sets[0], tape.path[int(part * rounds)]
        squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
        total += heights @ np.linalg.solve(1.7**2 * np.exp(-squares / (2.0 * 0.3**2)), heights)
    assert 5e-6 < stats.chi2.cdf(total, 300 * 5) < 1.0 - 5e-6


def test_the_surface_glides_comes_back_and_pays_what_it_shows() -> None:
    world = DriftingSurface(n_actions=8, turns=2.0, sd=0.2)
    tape, nature = world.draw(1000, seed=1)
    np.testing.assert_allclose(tape.path[:500], tape.path[500:], atol=1e-12)
    np.testing.assert_allclose(tape.path[0], -tape.path[250], atol=1e-12)
    length = np.linalg.norm(np.diff(tape.path, axis=0), axis=1)
    assert length.max() < 2.0 * np.pi * 2.0 / 1000 * np.linalg.norm(world.surfaces(1)[1])
    np.testing.assert_array_equal(tape.path, tape.levels.table[tape.levels.rows])
    assert world.changes(1000, 1) == []
    shown = tape.sets[tape.which[3]]
    np.testing.assert_array_equal(shown, world.surfaces(1)[0])
    assert ((shown >= 0.0) & (shown <= 1.0)).all()
    paid = np.array([respond(tape, nature, t, 5).reward for t in range(1000)])
    noise = (paid - tape.path[:, 5]) / 0.2
    assert 5e-6 < stats.chi2.cdf(noise @ noise, 1000) < 1.0 - 5e-6
    pieces = list(world.tapes(1000, 1, size=64))
    np.testing.assert_array_equal(np.concatenate([piece.path for piece in pieces]), tape.path)
    np.testing.assert_array_equal(np.concatenate([piece.noise for piece in pieces]), tape.noise)


# ---- together ----

WORLD = DriftingSurface(n_actions=40)
ROUNDS = 1500


def played(policy: Any) -> tuple[Any, Any, Any]:
    """State, trace and tape of a run."""
    policy, (tape, nature) = cast(policy), WORLD.draw(ROUNDS, seed=2)
    state, trace = policy.init(WORLD.problem(ROUNDS)), new_trace(0, ROUNDS)
    assert play(policy, state, tape, nature, key(2), trace, ROUNDS) == ROUNDS
    return state, trace, tape


def missed(trace: Any, tape: Any) -> float:
    """Regret as a share of that of choosing blindly."""
    lost = tape.path.max(axis=1) - tape.path[np.arange(ROUNDS), trace.actions]
    return float(lost.sum() / (tape.path.max(axis=1) - tape.path.mean(axis=1)).sum())


@pytest.mark.deep
def test_the_loop_plays_what_the_twin_would_and_follows_the_surface() -> None:
    policy = SlidingGPUCB(window=80)
    state, trace, tape = played(policy)
    twin = SlidingGPUCBTwin(cast(policy), WORLD.problem(ROUNDS))
    for t in range(ROUNDS):
        if t < 20 or t % 50 == 0:
            indices = twin.indices(t, tape.sets[0])
            assert indices[trace.actions[t]] >= indices.max() - CLOSE
        twin.learn(t, tape.sets[0][trace.actions[t]], trace.rewards[t])
    assert missed(trace, tape) < 0.25  # seen: 0.13
    before = clone(state)
    select(cast(policy), state, ROUNDS, tape.sets[0], at(key(0), 0))
    assert equal(before, state)
    assert equal(load(dump(state), cast(policy).init(WORLD.problem(ROUNDS))), state)


@pytest.mark.deep
@pytest.mark.parametrize("literal", [0, 1])
def test_bandit_over_bandit_learns_the_window(literal: int) -> None:
    state, trace, tape = played(BanditOverBandit(policy=SlidingGPUCB(), literal=literal))
    block = int(2 * np.sqrt(ROUNDS))
    assert state.hedge.block[0] == block
    memory = block if literal else state.hedge.windows[state.hedge.chosen[0]]
    assert state.inner.window.size[0] == memory
    inside = ROUNDS - state.start[0]
    assert state.inner.process.n_pairs[0] == min(inside, memory)
    assert state.total[0] == pytest.approx(trace.rewards[-inside:].sum())
    assert missed(trace, tape) < 1.0
