"""Policies for linear rewards agree with their slow twins, whatever their rewards do, and are what they say they are.

Seeds are fixed, so a run gives the same answer every time. Were the streams renewed, each test of choices or draws by
chance would raise a false alarm with probability ALARM = 1e-5, and all of them (fewer than 30) with one below 3e-4.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from driftwise.core.loop import play
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, dump, equal, load
from driftwise.core.types import Decision, Floats, Outcome, Problem, new_trace
from driftwise.core.validation import cast
from driftwise.core.verbs import restart
from driftwise.errors import ParameterError
from driftwise.families import (
    POLICIES,
    DiscountedLinThompson,
    DiscountedLinUCB,
    KalmanMixture,
    LinThompson,
    LinUCB,
    PiecewiseLinear,
    Rotating,
    SlidingLinThompson,
    SlidingLinUCB,
)
from driftwise.families.composite.worlds.delayed import LOST, Delayed
from tests.fixtures.by_family import FEATURED
from tests.fixtures.everyday import deep_unless, latin
from tests.fixtures.twins import FEATURE_TWINS
from tests.fixtures.verbs import advance, select, settle, update

ALARM = 1e-5
CLOSE = 1e-9
SLIDING = ("sliding-lin-ucb", "sliding-lin-thompson")
FADING = ("discounted-lin-ucb", "discounted-lin-thompson")
OPTIMISTIC = ("lin-ucb", "sliding-lin-ucb", "discounted-lin-ucb")
RANDOM = ("lin-thompson", "sliding-lin-thompson", "discounted-lin-thompson")
EVERY = (*OPTIMISTIC, *RANDOM, "kalman-mixture")
SHORT: dict[str, dict[str, Any]] = {
    **{name: {} for name in EVERY},
    **{name: {"window": 20} for name in SLIDING},
    **{name: {"gamma": 0.9} for name in FADING},
}


def test_every_policy_with_features_has_a_twin() -> None:
    assert set(FEATURE_TWINS) == set(FEATURED)


# ---- a policy beside its twin ----


class Pair(NamedTuple):
    """A policy with its state, and its twin."""

    name: str
    policy: Any
    state: Any
    twin: Any

    @classmethod
    def of(cls, name: str, problem: Problem, **parameters: Any) -> "Pair":
        policy = cast(POLICIES[name](**SHORT[name] | parameters))
        return cls(name, policy, policy.init(problem), FEATURE_TWINS[name](policy, problem))

    def tell(self, t: int, x: Floats, y: float, now: int) -> None:
        """The same reward to both."""
        update(self.policy, self.state, Decision(t, 0, np.nan, x, at(key(0), t)), Outcome(y), now)
        self.twin.learn(t, x, y, now)


def believed(pair: Pair) -> tuple[Floats, Floats]:
    """The estimate, and how it spreads, that the last `select` worked with."""
    if pair.name == "kalman-mixture":
        return pair.state.mean, pair.state.covariance
    ridge = pair.state.ridge
    return ridge.theta, ridge.inverse @ ridge.gram @ ridge.inverse if pair.name in FADING else ridge.inverse


def assert_agree(pair: Pair, t: int, context: Floats) -> None:
    """At decision `t` the compiled policy believes what the twin computes from the whole log, and chooses by it."""
    row, propensity = select(pair.policy, pair.state, t, context, at(key(1), t))
    for found, expected in zip(believed(pair), pair.twin.estimate(t), strict=True):
        np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=CLOSE)
    if pair.name in RANDOM:
        assert math.isnan(propensity)
        assert row == np.argmax(context @ pair.state.draw)
    else:
        assert propensity == 1.0
        indices = pair.twin.indices(t, context)
        assert indices[row] >= indices.max() - CLOSE
    if pair.name in SLIDING:
        assert pair.state.window.stale[0] == pair.twin.stale()


Show = Callable[[np.random.Generator], Floats]
SHOWN: dict[str, tuple[int, Show]] = {
    "unit vectors": (3, lambda luck: directions(luck, 6, 3)),
    "arms": (4, lambda luck: np.eye(4)),
    "one feature": (1, lambda luck: luck.uniform(-1.0, 1.0, (3, 1))),
    "blocks": (6, lambda luck: np.array(np.kron(np.eye(3), luck.uniform(-1.0, 1.0, (1, 2))), float)),
}
ARRIVALS: dict[str, Callable[[np.random.Generator], tuple[int, ...]]] = {
    "at once": lambda luck: (0,),
    "delayed": lambda luck: (3,),
    "shuffled": lambda luck: (int(luck.integers(30)),),
    "lost": lambda luck: () if luck.random() < 0.4 else (int(luck.integers(5)),),
    "duplicated": lambda luck: tuple(int(delay) for delay in luck.integers(0, 30, 2)),
}


def directions(luck: np.random.Generator, count: int, dim: int) -> Floats:
    rows = luck.standard_normal((count, dim))
    return np.array(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def drive(pair: Pair, rounds: int, seed: int, shown: str = "unit vectors", arrivals: str = "at once") -> None:
    """Lead policy and twin through the same rounds, comparing as they go; the parameter turns."""
    luck, show, fate = np.random.default_rng(seed), SHOWN[shown][1], ARRIVALS[arrivals]
    dim, noise = pair.twin.problem.dim, pair.twin.problem.noise or 0.3
    often = 9 if pair.name == "kalman-mixture" else 1  # a slow twin
    due: dict[int, list[tuple[int, Floats, float]]] = {}
    for t in range(rounds + 1):
        advance(pair.policy, pair.state, t, at(key(1), t))
        context = show(luck)
        if t % often == 0 or t == rounds:
            assert_agree(pair, t, context)
        x = context[luck.integers(len(context))]
        theta = np.cos(t / 20.0 + np.arange(dim))
        for delay in fate(luck):
            due.setdefault(t + delay, []).append((t, x, float(x @ theta + noise * luck.standard_normal())))
        arrived = due.pop(t, [])
        for i in luck.permutation(len(arrived)):
            pair.tell(*arrived[int(i)], now=t)


@pytest.mark.parametrize(("name", "shown", "arrivals"), latin(EVERY, [*SHOWN], [*ARRIVALS]))
def test_policy_agrees_with_its_twin(name: str, shown: str, arrivals: str) -> None:
    problem = Problem(6, -np.inf, np.inf, noise=0.3, horizon=1000, dim=SHOWN[shown][0], unit=1.0, family="contextual")
    drive(Pair.of(name, problem), 60, 7, shown, arrivals)


DECLARED: dict[str, dict[str, Any]] = {
    "a range": {"low": -20.0, "high": 5.0},
    "a range and the noise": {"low": -20.0, "high": 5.0, "noise": 0.2},
    "the noise": {"noise": 0.2},
    "the unit": {"unit": 4.0},
    "nothing": {},
}


@pytest.mark.parametrize(("name", "arrivals", "declared"), latin(EVERY, ["at once", "duplicated"], [*DECLARED]))
def test_policy_agrees_with_its_twin_on_how_large_rewards_are(name: str, arrivals: str, declared: str) -> None:
    told = {"low": -np.inf, "high": np.inf} | DECLARED[declared]
    drive(Pair.of(name, Problem(6, **told, horizon=1000, dim=3, family="contextual")), 60, 9, "unit vectors", arrivals)


VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("lin-ucb", {"ridge": 0.2, "norm": 3.0, "reach": 2.0, "confidence": 0.1, "scale": 0.3}),
    ("sliding-lin-ucb", {"window": 1, "ridge": 5.0}),
    ("sliding-lin-ucb", {"window": 7, "ridge": 0.2, "norm": 3.0, "reach": 2.0, "confidence": 0.1, "scale": 0.3}),
    ("discounted-lin-ucb", {"gamma": 1.0}),
    ("discounted-lin-ucb", {"gamma": 0.3, "ridge": 0.2, "norm": 3.0, "reach": 2.0, "confidence": 0.1, "scale": 0.3}),
    ("lin-thompson", {"ridge": 0.2, "scale": 2.0, "confidence": 0.1}),
    ("sliding-lin-thompson", {"window": 5, "ridge": 0.2, "scale": 2.0}),
    ("discounted-lin-thompson", {"gamma": 1.0, "ridge": 0.2, "scale": 2.0}),
    ("kalman-mixture", {"width": 0.5, "share": 0.2, "models": 3, "prior_sd": 0.4, "reach": 0.5}),
]


@pytest.mark.parametrize(("name", "parameters"), VARIANTS, ids=str)
@pytest.mark.parametrize("horizon", [0, 500])
def test_policy_agrees_with_its_twin_for_other_parameters(name: str, parameters: dict[str, Any], horizon: int) -> None:
    problem = Problem(6, -np.inf, np.inf, noise=0.7, horizon=horizon, dim=3, unit=1.0, family="contextual")
    drive(Pair.of(name, problem, **parameters), 60, 8, arrivals="shuffled")


@pytest.mark.parametrize("name", [deep_unless(name == "sliding-lin-ucb", name) for name in EVERY])
def test_the_compiled_loop_agrees_with_the_twin(name: str) -> None:
    """`play` in a world that delays and loses rewards: the twin reads the delays off the tape."""
    rounds, world = 200, Delayed(world=Rotating(dim=3, n_actions=5), delay=6.0, kind="geometric", lost=0.2)
    pair = Pair.of(name, world.problem(rounds))
    tape, nature = world.draw(rounds, seed=2)
    trace = new_trace(0, rounds)
    assert play(pair.policy, pair.state, tape, nature, key(5), trace, rounds) == rounds
    for t in range(rounds):
        if name not in RANDOM and t % (20 if name == "kalman-mixture" else 1) == 0:
            indices = pair.twin.indices(t, tape.tape.sets[t])
            assert indices[trace.actions[t]] >= indices.max() - CLOSE
        pair.twin.pend(t, tape.tape.sets[t, trace.actions[t]])
        for s in range(t + 1):
            if s + (world.longest if tape.delays[s] == LOST else tape.delays[s]) == t:
                pair.twin.settle(s)
            if tape.delays[s] != LOST and s + tape.delays[s] == t:
                pair.twin.learn(s, tape.tape.sets[s, trace.actions[s]], trace.rewards[s], t)
    for s, x in list(pair.twin.pending.items()):  # nothing more will come
        settle(pair.policy, pair.state, Decision(s, 0, np.nan, x, at(key(5), s)))
        pair.twin.settle(s)
    advance(pair.policy, pair.state, rounds, key(0))
    assert_agree(pair, rounds, directions(np.random.default_rng(0), 5, 3))


@pytest.mark.parametrize("name", [deep_unless(name == "sliding-lin-ucb", name) for name in EVERY])
def test_a_run_saved_and_loaded_goes_on_the_same(name: str) -> None:
    rounds, world = 300, Delayed(world=Rotating(dim=3, n_actions=5), delay=6.0, kind="geometric", lost=0.2)
    policy = cast(POLICIES[name](**SHORT[name]))
    straight, broken = (policy.init(world.problem(rounds)) for _ in range(2))
    natures = world.nature(), world.nature()
    for tape in world.tapes(rounds, seed=3, size=75):
        one, other = (new_trace(tape.start, len(tape.delays)) for _ in range(2))
        play(policy, straight, tape, natures[0], key(5), one, rounds)
        play(policy, broken, tape, natures[1], key(5), other, rounds)
        np.testing.assert_array_equal(one.actions, other.actions)
        broken = load(dump(broken), policy.init(world.problem(rounds)))
    assert equal(straight, broken)


@pytest.mark.parametrize("name", EVERY)
def test_select_reads_only(name: str) -> None:
    pair = Pair.of(
        name,
        Problem(6, noise=0.3, horizon=100, dim=3, family="contextual"),
        **({"scale": 9.0} if name in RANDOM else {}),
    )
    drive(pair, 30, 9)
    before, context = clone(pair.state), directions(np.random.default_rng(1), 6, 3)
    chosen = {select(pair.policy, pair.state, 31, context, at(key(2), i))[0] for i in range(50)}
    assert equal(before, pair.state)
    assert len(chosen) > 1 if name in RANDOM else len(chosen) == 1


@pytest.mark.parametrize("name", EVERY)
def test_of_equal_rows_the_first_is_chosen(name: str) -> None:
    pair = Pair.of(name, Problem(6, noise=0.3, horizon=100, dim=3, family="contextual"))
    for t in range(20):
        context = directions(np.random.default_rng(t), 3, 3).repeat(2, axis=0)
        assert select(pair.policy, pair.state, t, context, at(key(2), t))[0] % 2 == 0
        pair.tell(t, context[0], 1.0, t)
        advance(pair.policy, pair.state, t + 1, key(0))
    if name not in RANDOM:
        fresh = Pair.of(name, Problem(6, noise=0.3, horizon=100, dim=3, family="contextual"))
        assert select(fresh.policy, fresh.state, 0, np.eye(3), key(0))[0] == fresh.twin.choose(0, np.eye(3)) == 0


# ---- how optimistic ----


@pytest.mark.parametrize("name", [*OPTIMISTIC, "kalman-mixture"])
@pytest.mark.parametrize("rounds", [1, 40])
def test_the_bonus_is_as_large_as_the_twin_says(name: str, rounds: int) -> None:
    """With the factor on it that makes two rows equal in the twin, a little more or less decides between them."""
    factor = "width" if name == "kalman-mixture" else "scale"
    context = np.array([[1.0, 0.0], [0.2, 1.0]])

    def told(value: float) -> Pair:
        pair = Pair.of(name, Problem(2, noise=0.3, horizon=1000, dim=2, family="contextual"), **{factor: value})
        for t in range(rounds):
            row = int(t % 7 == 3)
            pair.tell(t, context[row], 0.4 - 0.1 * row, t)
        advance(pair.policy, pair.state, rounds, key(0))
        return pair

    none, one = (told(value).twin.indices(rounds, context) for value in (1e-300, 1.0))
    even = (none[0] - none[1]) / ((one - none)[1] - (one - none)[0])
    assert even > 0.0
    for value, row in ((even * (1 - 1e-9), 0), (even * (1 + 1e-9), 1)):
        pair = told(value)
        assert select(pair.policy, pair.state, rounds, context, key(0))[0] == row


def test_the_radius_by_hand() -> None:
    """Before anything is seen the index of x is beta |x| / sqrt(lambda)."""
    problem = Problem(2, noise=2.0, horizon=100, dim=1, family="contextual")
    twin: Any = FEATURE_TWINS["lin-ucb"](LinUCB(ridge=4.0, norm=0.5), problem)
    beta = 2.0 * math.sqrt(math.log(1.25 / 0.01)) + 1.0
    np.testing.assert_allclose(twin.indices(0, np.array([[3.0]])), 1.5 * beta)
    faded: Any = FEATURE_TWINS["discounted-lin-ucb"](DiscountedLinUCB(gamma=0.5, ridge=4.0, norm=0.5), problem)
    assert faded.radius(0) == pytest.approx(1.0 + 2.0 * math.sqrt(2.0 * math.log(100.0)))
    assert faded.radius(2) == pytest.approx(1.0 + 2.0 * math.sqrt(2.0 * math.log(100.0) + math.log(1.0 + 1.25 / 4.0)))


def test_without_fading_discounted_is_undiscounted() -> None:
    problem = Problem(6, noise=0.3, horizon=1000, dim=3, family="contextual")
    plain, faded = Pair.of("lin-ucb", problem), Pair.of("discounted-lin-ucb", problem, gamma=1.0)
    for pair in (plain, faded):
        drive(pair, 50, 3)
        assert_agree(pair, 51, np.eye(3))
    for one, other in zip(believed(plain), believed(faded), strict=True):
        np.testing.assert_allclose(one, other, rtol=CLOSE)


def test_discounts_for_a_known_variation() -> None:
    for kind in (DiscountedLinUCB, DiscountedLinThompson):
        assert kind.for_variation(1000, 8, 1.0) == kind(gamma=1.0 - 1.0 / 400.0)
        assert kind.for_variation(1000, 8, 0.0).gamma == 1.0


def test_a_long_silence_fades_all_and_not_the_ridge() -> None:
    pair = Pair.of("discounted-lin-ucb", Problem(2, noise=0.3, dim=2, family="contextual"), gamma=0.5)
    pair.tell(0, np.array([1.0, 0.0]), 1.0, 0)
    advance(pair.policy, pair.state, 5000, key(0))
    select(pair.policy, pair.state, 5000, np.eye(2), key(0))
    np.testing.assert_array_equal(pair.state.ridge.inverse, np.eye(2))


# ---- choices by chance ----


DRAWS = 4000


@pytest.mark.parametrize("rounds", [0, 3, 60])
@pytest.mark.parametrize("shown", ["unit vectors", "arms", "one feature"])
@pytest.mark.parametrize("name", RANDOM)
def test_draws_have_the_law_of_the_posterior(name: str, shown: str, rounds: int) -> None:
    """Lengths and places of the whitened draws, and by chi-square the rows chosen against their chances."""
    dim = SHOWN[shown][0]
    pair = Pair.of(name, Problem(4, noise=0.3, horizon=1000, dim=dim, family="contextual"), scale=1.5)
    drive(pair, rounds, 4, shown)
    t, context = rounds + 1, SHOWN[shown][1](np.random.default_rng(5))[: dim + 1]
    advance(pair.policy, pair.state, t, key(0))
    draws, chosen = np.empty((DRAWS, dim)), np.zeros(len(context))
    for i in range(DRAWS):
        row, _ = select(pair.policy, pair.state, t, context, at(key(3), i))
        draws[i] = pair.state.draw
        chosen[row] += 1
    mean, covariance = pair.twin.posterior(t)
    white = np.linalg.solve(np.linalg.cholesky(covariance), (draws - mean).T)
    squares = {"lengths": (white**2).sum(), "places": DRAWS * (white.mean(axis=1) ** 2).sum()}
    freedom = {"lengths": DRAWS * dim, "places": dim}
    for what, square in squares.items():
        assert ALARM / 2.0 < stats.chi2.cdf(square, freedom[what]) < 1.0 - ALARM / 2.0, what
    turned = np.corrcoef(white)[np.triu_indices(dim, 1)] if dim > 1 else np.zeros(0)
    assert (np.abs(turned) * math.sqrt(DRAWS) < stats.norm.isf(ALARM / (2.0 * dim**2))).all()
    chances = pair.twin.win_probabilities(t, context)
    np.testing.assert_allclose(chances.sum(), 1.0, atol=1e-4)
    often = chances * DRAWS >= 5.0
    if often.sum() > 1:
        expected = chances[often] / chances[often].sum() * chosen[often].sum()
        assert stats.chisquare(chosen[often], expected).pvalue > ALARM


def test_the_theorem_draws_as_wide_as_it_says() -> None:
    """Before anything is seen, one stream gives the posterior's draw times sqrt(9 d ln(t / delta))."""
    problem, draws = Problem(2, noise=0.5, dim=2, family="contextual"), []
    for pair in (Pair.of("lin-thompson", problem), Pair.of("lin-thompson", problem, confidence=0.1)):
        select(pair.policy, pair.state, 9, np.eye(2), at(key(4), 9))
        draws.append(pair.state.draw)
    np.testing.assert_allclose(draws[1] / draws[0], math.sqrt(9.0 * 2.0 * math.log(10.0 / 0.1)))


def test_the_chances_of_the_twin_are_right_where_they_are_known() -> None:
    twin: Any = FEATURE_TWINS["lin-thompson"](LinThompson(), Problem(3, noise=0.5, dim=3, family="contextual"))
    np.testing.assert_allclose(twin.win_probabilities(0, np.eye(3)), 1.0 / 3.0, atol=1e-4)
    twin.learn(0, np.eye(3)[0], 1.0)
    ahead = stats.norm.cdf(0.5 / (0.5 * math.sqrt(1.5)))  # N(1/2, 1/8) against N(0, 1/4)
    chances = twin.win_probabilities(1, np.eye(3)[:2])
    np.testing.assert_allclose(chances, [ahead, 1.0 - ahead], atol=1e-6)


# ---- started over ----


@pytest.mark.parametrize("name", SLIDING)
@pytest.mark.parametrize("memory", [1, 9, 20])
def test_started_over_it_is_as_new_with_another_memory(name: str, memory: int) -> None:
    problem = Problem(6, noise=0.3, horizon=1000, dim=3, family="contextual")
    used, fresh = Pair.of(name, problem), Pair.of(name, problem, window=memory)
    drive(used, 50, 3)
    restart(used.policy, used.state, memory, memory)
    luck = np.random.default_rng(6)
    for t in range(60):
        context, own = directions(luck, 6, 3), at(key(7), t)
        rows = []
        for pair in (used, fresh):
            advance(pair.policy, pair.state, t, own)
            rows.append(select(pair.policy, pair.state, t, context, own)[0])
        for one, other in zip(believed(used), believed(fresh), strict=True):
            np.testing.assert_array_equal(one, other)
        assert rows[0] == rows[1]
        y = float(luck.standard_normal())
        for pair in (used, fresh):
            update(pair.policy, pair.state, Decision(t, rows[0], np.nan, context[rows[0]], own), Outcome(y), t)


# ---- the mixture of filters ----


def test_the_slowest_filter_is_bayesian_regression() -> None:
    """With a pace of R^2 / 10^8 forty rounds are as good as none: the posterior under N(0, s_0^2 I)."""
    pair = Pair.of("kalman-mixture", Problem(6, noise=0.3, dim=3, family="contextual"), prior_sd=2.0)
    drive(pair, 40, 2)
    rows, rewards = pair.twin.pairs(41)
    precision = np.eye(3) / 4.0 + rows.T @ rows / 0.09
    np.testing.assert_allclose(pair.state.covariances[0], np.linalg.inv(precision), atol=1e-6)
    np.testing.assert_allclose(pair.state.means[0], np.linalg.solve(precision, rows.T @ rewards / 0.09), atol=1e-5)


def test_a_late_reward_is_blurred_by_the_walk_since() -> None:
    """By hand: R = s_0 = 1, q = 1 for the fastest; a reward of 3 for x = 1, two rounds late, that nobody waited for."""
    pair = Pair.of("kalman-mixture", Problem(2, noise=1.0, dim=1, family="contextual"), models=2, share=0.5)
    advance(pair.policy, pair.state, 2, key(0))
    pair.tell(0, np.ones(1), 3.0, 2)
    np.testing.assert_allclose(pair.state.means[1], 3.0 / (1.0 + 1.0 + 2.0))
    np.testing.assert_allclose(pair.state.covariances[1], 0.75)
    slow, fast = (stats.norm.pdf(3.0, 0.0, math.sqrt(v)) for v in (2.0 + 2e-8, 4.0))
    np.testing.assert_allclose(
        pair.state.weights, [0.5 * slow / (slow + fast) + 0.25, 0.5 * fast / (slow + fast) + 0.25]
    )


@pytest.mark.parametrize("exponent", [-6, -4, -2])
def test_rewards_tell_the_pace(exponent: int) -> None:
    """When a parameter has walked for long, the model of its pace or a neighbour has most of the weight."""
    policy, problem, luck = (
        KalmanMixture(prior_sd=10.0),
        Problem(2, noise=0.5, dim=1, family="contextual"),
        np.random.default_rng(1),
    )
    state, theta = policy.init(problem), 0.0
    for t in range(20_000 if exponent == -6 else 2000):
        theta += 0.5 * 10.0 ** (exponent / 2.0) * luck.standard_normal()
        y = theta + 0.5 * luck.standard_normal()
        update(policy, state, Decision(t, 0, 1.0, np.ones(1), np.uint64(0)), Outcome(y), t)
    near = slice(exponent + 8 - 1, exponent + 8 + 2)
    assert state.weights[near].sum() > 0.5
    assert state.weights.sum() == pytest.approx(1.0)


def test_variances_stay_below_the_prior_and_covariances_symmetric() -> None:
    pair = Pair.of("kalman-mixture", Problem(6, noise=0.8, dim=3, family="contextual"), prior_sd=0.7)
    drive(pair, 100, 5, arrivals="lost")
    advance(pair.policy, pair.state, 200, key(0))
    covariances = pair.state.covariances
    assert (np.diagonal(covariances, axis1=1, axis2=2) <= 0.49 * (1.0 + 1e-15)).all()
    np.testing.assert_array_equal(covariances, np.swapaxes(covariances, 1, 2))
    assert (np.linalg.eigvalsh(covariances) > 0.0).all()
    np.testing.assert_allclose(covariances[-1], 0.49 * np.eye(3), atol=1e-9)  # the fastest has forgotten all


@pytest.mark.parametrize(("noise", "size"), [(0.1, 1e8), (1e-9, 1.0), (1e-9, 1e5), (1e6, 1e-3)])
def test_no_size_of_features_or_noise_breaks_it(noise: float, size: float) -> None:
    policy, luck = KalmanMixture(), np.random.default_rng(2)
    state = policy.init(Problem(3, noise=noise, dim=3, family="contextual"))
    for t in range(500):
        x = size * luck.standard_normal(3)
        y = x.sum() + noise * luck.standard_normal()
        update(policy, state, Decision(t, 0, 1.0, x, np.uint64(0)), Outcome(float(y)), t)
        advance(policy, state, t + 1, key(0))
        assert (np.linalg.eigvalsh(state.covariances) > 0.0).all()
    select(policy, state, 500, np.eye(3), key(0))
    assert np.isfinite(state.weights).all()
    np.testing.assert_allclose(state.mean, 1.0, atol=1.5 if noise > size else 1e-3)


# ---- in a drifting world ----


def regret(policy: Any, world: Any, rounds: int, seed: int) -> float:
    state, total = policy.init(world.problem(rounds)), 0.0
    for tape in world.tapes(rounds, seed):
        trace = new_trace(tape.start, len(tape.noise))
        play(policy, state, tape, world.nature(), key(seed), trace, rounds)
        means = tape.levels.table[tape.levels.rows]
        total += float((means.max(axis=1) - means[np.arange(len(means)), trace.actions]).sum())
    return total


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        deep_unless(False, SlidingLinThompson(window=300), LinThompson()),
        deep_unless(False, DiscountedLinUCB(gamma=0.995), LinUCB()),
        deep_unless(False, DiscountedLinThompson(gamma=0.995), LinThompson()),
        (KalmanMixture(), SlidingLinUCB(window=300)),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_following_pays_when_the_parameter_moves(better: Any, worse: Any) -> None:
    """Paired over 12 worlds, 4 standard errors: if it did not pay, each would pass by chance about once in 1000."""
    world = PiecewiseLinear(dim=3, n_actions=10, breaks=5)
    gains = np.array([regret(worse, world, 5000, seed) - regret(better, world, 5000, seed) for seed in range(12)])
    assert gains.mean() > 4.0 * gains.std(ddof=1) / math.sqrt(len(gains))


def test_the_mixture_pays_what_was_measured() -> None:
    """259 over ten worlds like this one, with a standard deviation of 15: five of them to either side."""
    assert 184.0 < regret(KalmanMixture(), PiecewiseLinear(), 100_000, 0) < 334.0


@pytest.mark.parametrize("name", [deep_unless(name in ("lin-ucb", "kalman-mixture"), name) for name in EVERY])
def test_linear_policies_learn_what_stands_still(name: str) -> None:
    """Half of the rounds, half of the regret would be no learning; they pay the second half less than a fifth."""
    world = Rotating(dim=3, n_actions=10, turns=1e-9)
    policy = POLICIES[name]() if name not in SLIDING else POLICIES[name](window=2000)
    early, whole = (regret(policy, world, rounds, 1) for rounds in (2000, 4000))
    assert whole - early < early / 5.0


# ---- parameters ----


FEATURES = Problem(4, dim=3, horizon=1000, family="contextual")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LinUCB(ridge=0.0).init(FEATURES), r"ridge=0.0 is outside \(0, inf\)"),
        (lambda: LinUCB(confidence=1.0).init(FEATURES), r"confidence=1.0 is outside \[0, 1\)"),
        (lambda: LinUCB().init(Problem(4)), "dim=0 is not a whole number of at least 1"),
        (lambda: LinUCB().init(Problem(0, dim=2, family="contextual")), "n_arms=0 is not a whole number"),
        (lambda: LinThompson(scale=-1.0).init(FEATURES), r"scale=-1.0 is outside \(0, inf\)"),
        (lambda: LinThompson(confidence=1.0).init(FEATURES), r"confidence=1.0 is outside \[0, 1\)"),
        (lambda: SlidingLinThompson(window=0).init(FEATURES), "window=0 is not a whole number of at least 1"),
        (lambda: SlidingLinThompson(window=1001).init(FEATURES), "window=1001 does not fit the horizon 1000"),
        (lambda: SlidingLinThompson(ridge=math.nan).init(FEATURES), "ridge=nan is outside"),
        (lambda: DiscountedLinUCB(gamma=0.0).init(FEATURES), r"gamma=0.0 is outside \(0, 1\]"),
        (lambda: DiscountedLinUCB(gamma=1.1).init(FEATURES), r"gamma=1.1 is outside \(0, 1\]"),
        (lambda: DiscountedLinUCB.for_variation(10, 2, 20.0), r"variation=20.0 is outside \[0, 20\)"),
        (lambda: DiscountedLinUCB.for_variation(0, 2, 1.0), "horizon=0 is not a whole number"),
        (lambda: DiscountedLinThompson(gamma=1.1).init(FEATURES), r"gamma=1.1 is outside \(0, 1\]"),
        (lambda: DiscountedLinThompson(ridge=0.0).init(FEATURES), r"ridge=0.0 is outside \(0, inf\)"),
        (lambda: KalmanMixture(share=1.0).init(FEATURES), r"share=1.0 is outside \(0, 1\)"),
        (lambda: KalmanMixture(models=1).init(FEATURES), "models=1 is not a whole number of at least 2"),
        (lambda: KalmanMixture(width=0.0).init(FEATURES), r"width=0.0 is outside \(0, inf\)"),
        (lambda: KalmanMixture(prior_sd=0.0).init(FEATURES), r"prior_sd=0.0 is outside \(0, inf\)"),
        (lambda: KalmanMixture().init(FEATURES._replace(noise=-1.0)), r"noise=-1.0 is outside \[0, inf\)"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        make()
