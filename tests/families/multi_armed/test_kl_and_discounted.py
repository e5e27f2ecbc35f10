"""The divergence and its bounds, KL-UCB with and without a window, the discounted policies, and epsilon-greedy.

Seeds are fixed. Were they renewed, each chi-square test would raise a false alarm with probability ALARM = 1e-5.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special, stats

from driftwise.agent import Agent
from driftwise.core import verbs
from driftwise.core.kernel import kernel
from driftwise.core.loop import play
from driftwise.core.random import stream
from driftwise.core.seeding import at, key
from driftwise.core.serialization import arrays, clone, equal
from driftwise.core.types import Decision, Floats, Ints, Outcome, Problem, new_trace
from driftwise.errors import ParameterError
from driftwise.families import KLUCB, POLICIES, Abrupt, DiscountedThompson, DiscountedUCB, EpsilonGreedy, SlidingKLUCB
from driftwise.families.composite.worlds.delayed import Delayed
from driftwise.families.multi_armed.policies.discounted_ucb import FAINT
from driftwise.numerics import kl as kl_module
from driftwise.numerics.discount import LIMIT, fade, new_discount, weight
from driftwise.numerics.kl import exploration, gap_of, information, kl, kl_gap, kl_upper, most_optimistic
from tests.families.multi_armed.twins.kl_ucb import divergence, upper
from tests.families.multi_armed.twins.log import readable, tries
from tests.families.multi_armed.twins.pair import Pair
from tests.fixtures.everyday import deep_unless, is_compared
from tests.fixtures.verbs import advance, select, update

ALARM = 1e-5
DRAWS = 20_000
CLOSE = 1e-9
KL = ("kl-ucb", "sliding-kl-ucb")
INDEX = (*KL, "discounted-ucb")
EVERY = (*INDEX, "discounted-thompson", "epsilon-greedy")

MEANS = [0.0, 1e-310, 1e-12, 1e-5, 0.01, 0.2, 1 / 3, 0.5, 0.77, 0.999, 1.0 - 1e-9, 1.0]
LEVELS = [1e-30, 1e-14, 1e-9, 1e-5, 1e-3, 0.03, 0.3, 1.0, 5.0, 30.0, 700.0]


# ---- the divergence ----


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("q", [0.0, 1e-9, 0.1, 0.5, 0.75, 1.0])
def test_kl_is_the_relative_entropy_also_at_the_ends(p: float, q: float) -> None:
    known = special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q)
    np.testing.assert_allclose(kl(p, q), known, rtol=1e-12, atol=1e-16)


def test_kl_by_hand_and_without_cancellation() -> None:
    assert kl(0.25, 0.5) == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    assert kl(1e-310, 0.5) == pytest.approx(math.log(2.0))
    x = 1e-7
    assert kl(0.3, 0.3 + x) == pytest.approx(x * x / (2.0 * 0.3 * 0.7), rel=1e-6)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("level", LEVELS)
def test_kl_upper_is_what_a_root_finder_finds(mean: float, level: float) -> None:
    bound = kl_upper(mean, level)
    assert mean <= bound <= 1.0
    assert bound == pytest.approx(upper(mean, level), abs=1e-12 + 2e-16 / math.sqrt(level))  # the twin cancels digits


def test_kl_upper_at_random() -> None:
    luck = np.random.default_rng(0)
    for mean, exponent in zip(luck.random(3000), luck.uniform(-6, 1.5, 3000), strict=True):
        assert kl_upper(mean, 10.0**exponent) == pytest.approx(upper(mean, 10.0**exponent), abs=2e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_kl_upper_is_exact_at_the_ends(level: float) -> None:
    assert kl_gap(0.0, level) == math.exp(-level)
    assert kl_upper(1.0, level) == 1.0
    assert kl_upper(0.4, 0.0) == kl_upper(0.4, 1e-40) == 0.4
    assert kl_gap(0.0, 0.0) == 1.0


@pytest.mark.parametrize(("mean", "level"), [(0.5, 20.0), (0.65, 90.0), (0.9, 60.0), (0.99998, 0.009), (0.2, 300.0)])
def test_a_gap_far_below_rounding_has_all_its_digits(mean: float, level: float) -> None:
    gap = kl_gap(mean, level)
    assert 0.0 < gap < 1e-16
    rest = 1.0 - mean
    assert rest * math.log(rest / gap) + mean * math.log(mean) == pytest.approx(level, rel=1e-13)
    assert kl_upper(mean, level) == 1.0


def test_a_gap_below_all_numbers_is_no_gap() -> None:
    assert kl_gap(1.0 - 1e-12, 5.0) == 0.0


def test_gaps_shrink_with_the_level_and_with_the_mean() -> None:
    levels = np.geomspace(1e-8, 40.0, 2000)
    for mean in (1e-6, 0.1, 0.5, 0.9):
        assert (np.diff([kl_gap(mean, level) for level in levels]) < 0.0).all()
    means = np.linspace(0.0, 0.99, 2000)
    for level in (1e-4, 0.1, 2.0):
        assert (np.diff([kl_gap(mean, level) for mean in means]) < 0.0).all()


@pytest.mark.parametrize("part", [1e-250, 1e-9, 0.3, 0.999999])
@pytest.mark.parametrize("mean", [1e-9, 0.03, 0.5, 0.98])
@pytest.mark.parametrize("level", [1e-6, 0.02, 1.0])
def test_the_bracket_saves_a_bad_start(part: float, mean: float, level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = kl_gap(mean, level)
    monkeypatch.setattr(kl_module, "_start", lambda mean, rest, level: part * rest)
    assert kl_gap.function(mean, level) == pytest.approx(compiled, rel=1e-12, abs=1e-15)


def test_three_steps_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut to three, the solver gives the same bits: what is said of its cost is true."""
    luck = np.random.default_rng(1)
    cases = [(float(m), float(d)) for m, d in zip(luck.random(2000), 10.0 ** luck.uniform(-9, 1.5, 2000), strict=True)]
    whole = [kl_gap.function(*case) for case in cases]
    monkeypatch.setattr(kl_module, "range", lambda n: range(3), raising=False)
    assert [kl_gap.function(*case) for case in cases] == whole


def test_exploration_by_hand() -> None:
    assert [exploration(t, 3.0) for t in (0, 1, 2)] == [0.0, 0.0, 0.0]
    assert exploration(3, 3.0) == pytest.approx(1.0986122887 + 3 * 0.0940478276)
    assert exploration(1000, 3.0) == pytest.approx(6.9077552790 + 3 * 1.9326447339)
    assert [exploration(t, 0.0) for t in (1, 2, 50)] == pytest.approx([0.0, math.log(2), math.log(50)])


def test_information_is_minus_the_entropy_and_takes_sums_outside_by_rounding() -> None:
    assert information(8, 2.0) == pytest.approx(-8 * stats.bernoulli(0.25).entropy())
    assert [information(5, total) for total in (0.0, 5.0, -1e-17)] == [0.0] * 3
    assert information(5, 5.0 + 1e-15) == pytest.approx(0.0, abs=1e-14)
    assert gap_of(5, -1e-17, 2.0) == math.exp(-0.4)
    assert gap_of(5, 5.0 + 1e-15, 2.0) == 0.0


# ---- the first of the largest bounds ----


def every_bound(counts: Ints, sums: Floats, level: float) -> int:
    """The long way: solve for every arm."""
    gaps = [gap_of(n, s, level) if n else -1.0 for n, s in zip(counts.tolist(), sums.tolist(), strict=True)]
    return int(np.argmin(gaps))


def informed(counts: Ints | Floats, sums: Floats) -> Floats:
    return np.array([information(n, s) for n, s in zip(counts.tolist(), sums.tolist(), strict=True)])


@pytest.mark.parametrize("kind", ["bernoulli", "few values", "fractional", "close"])
@pytest.mark.parametrize("n_arms", [1, 2, 3, 10, 60])
def test_the_skip_test_never_changes_the_winner(kind: str, n_arms: int) -> None:
    luck = np.random.default_rng([n_arms, len(kind)])
    for _ in range(150):
        counts = luck.integers(1, 10 ** luck.integers(1, 7), n_arms)
        sums = luck.binomial(counts, luck.random(n_arms)).astype(float)
        if kind == "few values":  # many exact ties
            counts = luck.integers(1, 3, n_arms)
            sums = luck.integers(0, counts + 1).astype(float)
        elif kind == "fractional":
            sums = counts * luck.random(n_arms)
        elif kind == "close":
            counts = np.full(n_arms, counts[0])
            sums = np.clip(sums[0] + luck.integers(-1, 2, n_arms), 0.0, counts.astype(float))
        for level in (0.0, luck.exponential(3.0), 20.0):
            chosen = most_optimistic(counts.astype(float), sums, informed(counts, sums), level)
            assert chosen == every_bound(counts, sums, level)


@pytest.mark.parametrize(
    ("counts", "sums", "level", "winner"),
    [
        ([3, 0, 4, 0], [3.0, 0.0, 4.0, 0.0], 2.0, 1),  # untried, lowest first
        ([2, 5, 5], [2.0, 5.0, 5.0], 2.0, 0),  # bounds of one: the lowest arm, though another has the largest sum
        ([2, 5, 5], [0.0, 0.0, 0.0], 0.0, 0),  # bounds of zero
        ([4, 9], [1.0, 3.0], 0.0, 1),  # no exploration: the larger mean
        ([4, 400], [1.0, 200.0], 5.0, 0),  # little tried, though of the smaller mean
        ([10, 10, 10], [6.0, 7.0, 7.0], 5.0, 1),  # a tie
        ([5, 5], [4.7, 4.8], 20.0, 1),  # bounds that round to one are told apart by their gaps
    ],
)
def test_winners_by_hand(counts: list[int], sums: list[float], level: float, winner: int) -> None:
    n, s = np.array(counts), np.array(sums)
    assert most_optimistic(n.astype(float), s, informed(n, s), level) == winner


# ---- a policy beside its twin ----


def kl_indices(pair: Pair, t: int) -> Floats:
    """The bounds the kernel compares: those it caches once the window is full, else solved from its sums."""
    if pair.name == "sliding-kl-ucb" and t >= pair.policy.window:
        return np.array(readable(1.0 + pair.state.scores))
    trials, totals = pair.state.trials, pair.state.totals
    level = exploration(pair.twin.plays(t), pair.policy.c)
    np.testing.assert_allclose(pair.state.informations, informed(trials, totals), rtol=CLOSE, atol=CLOSE)
    pairs = zip(trials.tolist(), totals.tolist(), strict=True)
    return np.array([1.0 - gap_of(n, s, level) if n else np.inf for n, s in pairs])


def assert_agree(pair: Pair, t: int) -> None:
    """What the compiled state holds at decision `t` is what the twin computes from the whole log."""
    state, twin = pair.state, pair.twin
    if pair.name in KL:
        np.testing.assert_allclose(kl_indices(pair, t), twin.indices(t), rtol=CLOSE, atol=CLOSE)
    elif pair.name == "discounted-ucb":
        growth = state.discount.growth[0]
        counts = twin.counts(t)
        alive = counts > 1e-190
        np.testing.assert_allclose(state.counts / growth, counts, rtol=CLOSE, atol=1e-190)
        seen = np.array([*map(tries, counts, twin.weights_under_way(t), map(len, twin.under_way(t)))])
        np.testing.assert_allclose(state.roots[alive] * math.sqrt(growth), seen[alive] ** -0.5, rtol=CLOSE)
        np.testing.assert_allclose(readable(state.means), twin.means(t), rtol=CLOSE, atol=CLOSE)
    elif pair.name == "discounted-thompson":
        growth, policy = state.discount.growth[0], pair.policy
        shapes = np.stack([policy.alpha0 + state.successes / growth, policy.beta0 + state.failures / growth], axis=1)
        np.testing.assert_allclose(shapes, twin.posteriors(t), rtol=CLOSE)
    else:
        values = readable(state.values)
        np.testing.assert_allclose(values, twin.values(t), rtol=CLOSE, atol=CLOSE)
    if pair.name == "sliding-kl-ucb":
        assert state.window.stale[0] == twin.stale()


def assert_chosen_well(pair: Pair, t: int, arm: int, propensity: float) -> None:
    """Of arms within rounding of the best any will do, but of exact equals only the lowest."""
    if pair.name in INDEX:
        indices = pair.twin.indices(t)
        near = np.flatnonzero(indices >= indices.max() - CLOSE)
        assert arm in near
        if (indices[near] == indices.max()).all():
            assert arm == pair.twin.choose(t)
        assert propensity == 1.0
    elif pair.name == "epsilon-greedy":
        assert propensity == pytest.approx(pair.twin.win_probabilities(t)[arm])
    else:
        assert math.isnan(propensity)


def drive(pair: Pair, rounds: int, seed: int, answer: "Answer") -> list[int]:
    """Play `rounds` rounds, mostly as the policy chooses, comparing it with its twin; the arms chosen."""
    rng, luck = key(seed, "twins"), np.random.default_rng(seed)
    n_arms, chosen = pair.twin.problem.n_arms, []
    due: dict[int, list[tuple[Decision, float]]] = {}
    for t in range(rounds):
        own = at(rng, t)
        advance(pair.policy, pair.state, t, own)
        arm, propensity = select(pair.policy, pair.state, t, (), own)
        if is_compared(t):
            assert_agree(pair, t)
            assert_chosen_well(pair, t, arm, propensity)
        chosen.append(arm)
        if luck.random() < 0.1:
            arm = int(luck.integers(n_arms))
        reward = answer.reward(luck, t, arm, rounds)
        for delay in answer.delays(luck):
            due.setdefault(t + delay, []).append((Decision(t, arm, propensity, (), own), reward))
        arrived = due.pop(t, [])
        for i in luck.permutation(len(arrived)):
            decision, reward = arrived[i]
            update(pair.policy, pair.state, decision, Outcome(reward), t)
            pair.twin.learn(decision.t, decision.action, reward, t, int(decision.rng))
    advance(pair.policy, pair.state, rounds, at(rng, rounds))
    assert_agree(pair, rounds)
    return chosen


class Answer(NamedTuple):
    """How rewards are drawn, and when they are told."""

    reward: Callable[[np.random.Generator, int, int, int], float]
    delays: Callable[[np.random.Generator], tuple[int, ...]]


def coin(luck: np.random.Generator, t: int, arm: int, rounds: int) -> float:
    """Bernoulli; the best arm becomes the worst half way."""
    mean = 0.9 / (1.0 + arm)
    return float(luck.random() < (mean if t < rounds / 2 else 1.0 - mean))


def fraction(luck: np.random.Generator, t: int, arm: int, rounds: int) -> float:
    return float(luck.random() ** (1 + arm % 3))


def wide(luck: np.random.Generator, t: int, arm: int, rounds: int) -> float:
    """In [-2, 5]."""
    return 7.0 * coin(luck, t, arm, rounds) * luck.integers(1, 3) / 2 - 2.0


def gaussian(luck: np.random.Generator, t: int, arm: int, rounds: int) -> float:
    return float(luck.normal(0.3 * arm, 0.7))


def late(luck: np.random.Generator) -> tuple[int, ...]:
    return (int(luck.integers(0, 15)),)


ANSWERS = {
    "coin at once": Answer(coin, lambda luck: (0,)),
    "fraction at once": Answer(fraction, lambda luck: (0,)),
    "coin late": Answer(coin, late),
    "fraction late, lost": Answer(fraction, lambda luck: late(luck) if luck.random() < 0.6 else ()),
    "coin twice": Answer(coin, lambda luck: (*late(luck), *late(luck))),
}

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "kl-ucb": [{}, {"c": 0.0}],
    "sliding-kl-ucb": [{"window": 1}, {"window": 7}, {"window": 50, "c": 0.0}, {"window": 150}, {"window": 1000}],
    "discounted-ucb": [{}, {"gamma": 0.95}, {"gamma": 0.5}, {"gamma": 1.0, "xi": 0.1}, {"gamma": 1e-3}],
    "discounted-thompson": [{}, {"gamma": 0.9}, {"gamma": 0.5, "alpha0": 0.3, "beta0": 2.0}, {"gamma": 1.0}],
    "epsilon-greedy": [{}, {"epsilon": 0.5, "step": 0.9}, {"epsilon": 0.0}, {"epsilon": 1.0, "step": 1.0}],
}


def histories() -> Iterator[Any]:
    """Every policy and variant with every kind of answer, every day with one; the number of arms takes turns."""
    for name in EVERY:
        for i, parameters in enumerate(VARIANTS[name]):
            for j, (label, answer) in enumerate(ANSWERS.items()):
                n_arms = (2, 3, 5, 10)[(i + j) % 4]
                values = name, parameters, n_arms, answer, i * 10 + j
                yield deep_unless((i + j) % 4 == 0, *values, id=f"{name}-{parameters}-{label}")


@pytest.mark.parametrize(("name", "parameters", "n_arms", "answer", "seed"), [*histories()])
def test_policy_agrees_with_its_twin(
    name: str, parameters: dict[str, Any], n_arms: int, answer: Answer, seed: int
) -> None:
    chosen = drive(Pair.of(name, Problem(n_arms), **parameters), 300, seed, answer)
    assert len(set(chosen)) > 1


@pytest.mark.parametrize("name", EVERY)
def test_policy_agrees_with_its_twin_when_rewards_lie_elsewhere(name: str) -> None:
    parameters = {"window": 40} if name == "sliding-kl-ucb" else {}
    drive(Pair.of(name, Problem(4, low=-2.0, high=5.0), **parameters), 300, 5, Answer(wide, late))


@pytest.mark.parametrize("name", ["discounted-ucb", "epsilon-greedy"])
def test_policy_agrees_with_its_twin_on_unbounded_rewards(name: str) -> None:
    drive(Pair.of(name, Problem(3, -np.inf, np.inf, noise=0.7)), 300, 6, Answer(gaussian, late))


@pytest.mark.parametrize("window", [150, 400])
def test_sliding_kl_ucb_agrees_with_its_twin_on_120_arms(window: int) -> None:
    """Where the winner tree stands in for the scan."""
    pair = Pair.of("sliding-kl-ucb", Problem(120), window=window)
    drive(pair, 500, 7, ANSWERS["fraction at once"])
    assert pair.state.tree[1] >= 0


@pytest.mark.parametrize("name", EVERY)
def test_the_compiled_loop_agrees_with_the_twin(name: str) -> None:
    """`play` in a world that delays and loses rewards: the twin reads the delays off the tape."""
    rounds, n_arms = 400, 4
    world = Delayed(world=Abrupt(n_arms=n_arms, phases=3), delay=6.0, kind="geometric", lost=0.2)
    pair = Pair.of(name, world.problem(), **({"window": 40} if name == "sliding-kl-ucb" else {}))
    tape, nature = world.draw(rounds, seed=2)
    trace, rng = new_trace(0, rounds), key(5, "loop")
    assert play(pair.policy, pair.state, tape, nature, rng, trace, rounds) == rounds
    for t in range(rounds):
        if name in INDEX:
            assert_chosen_well(pair, t, int(trace.actions[t]), 1.0)
        pair.end_round(world, tape, trace, rng, t)
    advance(pair.policy, pair.state, rounds, at(rng, rounds))
    assert_agree(pair, rounds)


def test_sliding_kl_ucb_is_kl_ucb_until_its_window_is_full() -> None:
    world, rounds = Abrupt(n_arms=6, phases=3), 500
    chosen = []
    for policy in (KLUCB(), SlidingKLUCB(window=rounds)):
        tape, nature = world.draw(rounds, seed=3)
        trace = new_trace(0, rounds)
        play(policy, policy.init(world.problem()), tape, nature, key(1), trace, rounds)
        chosen.append(trace.actions.tolist())
    assert chosen[0] == chosen[1]


# ---- fading ----


def tell(policy: Any, state: Any, t: int, arm: int, reward: float, now: int) -> None:
    update(policy, state, Decision(t, arm, 1.0, (), at(key(9), t)), Outcome(reward), now)


def test_discounted_ucb_by_hand() -> None:
    """Three rewards, gamma = 1/2: N is 1/8 + 1/2 and 1/4 at decision 3, so n < 1 and there is no bonus."""
    policy = DiscountedUCB(gamma=0.5)
    state = policy.init(Problem(2))
    for t, (arm, reward) in enumerate([(0, 1.0), (1, 0.5), (0, 0.0)]):
        tell(policy, state, t, arm, reward, t)
    np.testing.assert_allclose(state.counts / state.discount.growth, [0.625, 0.25])
    np.testing.assert_allclose(state.means, [0.2, 0.5])
    assert select(policy, state, 3, (), at(key(0), 3)) == (1, 1.0)


def test_discounted_ucb_has_the_bonus_of_the_paper() -> None:
    """Arm 0 leads by its mean, arm 1 by its bonus; the xi where the lead changes is computed by hand."""
    gamma, log = [(0, 0.8), (0, 0.8), (0, 0.8), (1, 0.3)], []
    counts = np.array([0.9**4 + 0.9**3 + 0.9**2, 0.9])
    gain = 2.0 * math.sqrt(math.log(counts.sum())) * (counts[1] ** -0.5 - counts[0] ** -0.5)
    even = (0.5 / gain) ** 2
    for xi in (0.99 * even, 1.01 * even):
        policy = DiscountedUCB(gamma=0.9, xi=xi)
        state = policy.init(Problem(2))
        for t, (arm, reward) in enumerate(gamma):
            tell(policy, state, t, arm, reward, t)
        log.append(select(policy, state, 4, (), at(key(0), 4))[0])
    assert log == [0, 1]


@pytest.mark.parametrize("gamma", [0.5, 0.9])
@pytest.mark.parametrize("name", ["discounted-ucb", "discounted-thompson"])
def test_fading_agrees_with_the_twin_through_many_rescalings(name: str, gamma: float) -> None:
    """Long enough for what is kept to be divided more than once, and rewards that come late across the cut."""
    pair, rounds, resets = Pair.of(name, Problem(3), gamma=gamma), 5000 if gamma > 0.5 else 1500, 0
    luck, rng = np.random.default_rng(2), key(3)
    waiting: list[tuple[Decision, float]] = []
    for t in range(rounds):
        before = float(pair.state.discount.growth[0])
        own = at(rng, t)
        advance(pair.policy, pair.state, t, own)
        arm, propensity = select(pair.policy, pair.state, t, (), own)
        waiting.append((Decision(t, arm, propensity, (), own), float(luck.random())))
        while waiting and luck.random() < 0.6:
            decision, reward = waiting.pop(int(luck.integers(len(waiting))))
            update(pair.policy, pair.state, decision, Outcome(reward), t)
            pair.twin.learn(decision.t, decision.action, reward, t, int(decision.rng))
        resets += float(pair.state.discount.growth[0]) < before
        if t % 250 == 249:
            advance(pair.policy, pair.state, t + 1, at(rng, t + 1))
            assert_agree(pair, t + 1)
    assert resets >= 2
    assert pair.state.discount.growth[0] <= LIMIT


@pytest.mark.parametrize("name", ["discounted-ucb", "discounted-thompson"])
def test_it_does_not_matter_when_a_reward_comes(name: str) -> None:
    policy = POLICIES[name](gamma=0.8)
    in_time, at_the_end = (policy.init(Problem(4)) for _ in range(2))
    luck = np.random.default_rng(4)
    log = [(t, int(luck.integers(4)), float(luck.random())) for t in range(60)]
    for t, arm, reward in log:
        tell(policy, in_time, t, arm, reward, t)
    for i in luck.permutation(60):
        t, arm, reward = log[i]
        tell(policy, at_the_end, t, arm, reward, 59)
    for (path, one), (_, other) in zip(arrays(in_time), arrays(at_the_end), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, err_msg=path)


@pytest.mark.parametrize("name", ["discounted-ucb", "discounted-thompson"])
def test_time_may_leap(name: str) -> None:
    policy = POLICIES[name](gamma=0.9)
    walking, leaping = (policy.init(Problem(2)) for _ in range(2))
    for state in (walking, leaping):
        tell(policy, state, 0, 0, 1.0, 0)
    for t in range(1, 5000):
        advance(policy, walking, t, at(key(0), t))
    advance(policy, leaping, 4999, at(key(0), 4999))
    tell(policy, walking, 4999, 1, 1.0, 4999)
    tell(policy, leaping, 4999, 1, 1.0, 4999)
    seen = {"discounted-ucb": "means", "discounted-thompson": "successes"}[name]
    np.testing.assert_array_equal(walking.discount.clock, leaping.discount.clock)
    scales = walking.discount.growth[0], leaping.discount.growth[0]
    assert getattr(walking, seen)[1] / (scales[0] if seen == "successes" else 1.0) == pytest.approx(1.0)
    assert getattr(leaping, seen)[1] / (scales[1] if seen == "successes" else 1.0) == pytest.approx(1.0)
    assert select(policy, leaping, 5000, (), at(key(1), 1)) == pytest.approx(
        select(policy, walking, 5000, (), at(key(1), 1)), nan_ok=True
    )


def test_a_leap_beyond_all_numbers_forgets_and_breaks_nothing() -> None:
    discount = new_discount()
    assert fade(discount, 0.5, 10) == 1.0
    assert weight(discount, 0.5, 10) == 1024.0
    assert weight(discount, 0.5, 9) == 512.0
    assert weight(discount, 0.5, 0) == 1.0
    assert fade(discount, 0.5, 10) == fade(discount, 0.5, 3) == 1.0  # time does not go back
    assert fade(discount, 0.5, 10**6) == 0.0
    assert (discount.clock[0], discount.growth[0]) == (10**6, 1.0)
    assert weight(discount, 0.5, 0) == 0.0


def test_the_means_of_discounted_ucb_outlive_their_weights() -> None:
    """Rewards that never come again: no bonus is left, the last means decide, whatever the number of rounds."""
    policy = DiscountedUCB(gamma=0.5)
    state = policy.init(Problem(3))
    for t, reward in enumerate((0.25, 0.75, 0.5)):
        tell(policy, state, t, t, reward, t)
    for t in range(3, 3000):
        advance(policy, state, t, at(key(0), t))
    np.testing.assert_array_equal(state.means, [0.25, 0.75, 0.5])
    assert (state.counts == FAINT).all()
    assert select(policy, state, 2999, (), at(key(0), 0))[0] == 1
    tell(policy, state, 2999, 1, 0.0, 2999)
    assert state.means[1] == pytest.approx(0.0, abs=1e-99)


def test_discounted_thompson_forgets_down_to_its_prior() -> None:
    policy = DiscountedThompson(gamma=0.5)
    state = policy.init(Problem(2))
    tell(policy, state, 0, 0, 1.0, 0)
    assert state.successes[0] / state.discount.growth[0] == 1.0  # the newest trial counts one
    for t in range(1, 5000):
        advance(policy, state, t, at(key(0), t))
    assert state.successes[0] / state.discount.growth[0] < 1e-300
    assert np.isfinite(state.successes).all()


# ---- choices by chance ----


@kernel
def count_choices(policy: Any, state: Any, t: int, rng: Any, draws: int, counts: Ints) -> None:
    for i in range(draws):
        arm, _ = verbs.select(policy, state, t, (), stream(rng, i))
        counts[arm] += 1


def p_value(pair: Pair, t: int, seed: int) -> float:
    """Chi-square of the arms chosen against the twin's chances."""
    counts = np.zeros(pair.twin.problem.n_arms, np.int64)
    count_choices(pair.policy, pair.state, t, key(seed, "choices"), DRAWS, counts)
    chances = pair.twin.win_probabilities(t)
    np.testing.assert_allclose(chances.sum(), 1.0, atol=1e-4)
    rare = chances * DRAWS < 5.0
    observed, expected = counts[~rare], chances[~rare] * DRAWS
    if rare.any() and stats.binom.sf(counts[rare].sum() - 1, DRAWS, chances[rare].sum()) < ALARM:
        return 0.0
    if len(observed) == 1:
        return 1.0
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("gamma", [1.0, 0.99, 0.6])
@pytest.mark.parametrize("prior", [{}, {"alpha0": 0.4, "beta0": 1.5}])
@pytest.mark.parametrize("rounds", [0, 9, 90])
def test_discounted_thompson_chooses_with_the_chances_of_its_posteriors(
    gamma: float, prior: dict[str, float], rounds: int
) -> None:
    pair = Pair.of("discounted-thompson", Problem(4), gamma=gamma, **prior)
    drive(pair, rounds, 8, ANSWERS["coin at once"])
    assert p_value(pair, rounds, seed=1) > ALARM


@pytest.mark.parametrize("parameters", VARIANTS["epsilon-greedy"], ids=str)
@pytest.mark.parametrize("rounds", [0, 2, 60])
def test_epsilon_greedy_chooses_with_the_chances_it_tells(parameters: dict[str, float], rounds: int) -> None:
    pair = Pair.of("epsilon-greedy", Problem(4), **parameters)
    drive(pair, rounds, 9, ANSWERS["coin at once"])
    assert p_value(pair, rounds, seed=2) > ALARM


def test_epsilon_greedy_by_hand() -> None:
    policy = EpsilonGreedy(epsilon=0.0, step=0.25)
    state = policy.init(Problem(3))
    chosen = []
    for t, reward in enumerate((0.5, 0.8, 0.2, 0.0, 0.0)):
        arm, propensity = select(policy, state, t, (), at(key(0), t))
        assert propensity == 1.0
        chosen.append(arm)
        tell(policy, state, t, arm, reward, t)
    assert chosen == [0, 1, 2, 1, 1]  # untried in order, then the best: 0.8, then 0.6
    np.testing.assert_allclose(state.values, [0.5, 0.45, 0.2])
    assert select(policy, state, 5, (), at(key(0), 5))[0] == 0
    explorer = EpsilonGreedy(epsilon=0.3)
    told = {select(explorer, state, 5, (), at(key(0), i)) for i in range(200)}
    assert {arm: round(propensity, 12) for arm, propensity in told} == {0: 0.8, 1: 0.1, 2: 0.1}


def test_epsilon_greedy_leaves_the_lowest_untried_arm_to_the_greedy_choice() -> None:
    policy = EpsilonGreedy(epsilon=0.2)
    state = policy.init(Problem(4))
    tell(policy, state, 0, 0, 1.0, 0)
    told = {select(policy, state, 1, (), at(key(0), i)) for i in range(300)}
    assert {arm: round(propensity, 12) for arm, propensity in told} == {0: 0.05, 1: 0.85, 2: 0.05, 3: 0.05}


# ---- in a drifting world ----


def regret(policy: Any, seed: int, rounds: int = 20_000) -> float:
    world = Abrupt(n_arms=5, phases=4)
    tape, nature = world.draw(rounds, seed)
    trace = new_trace(0, rounds)
    play(policy, policy.init(world.problem(rounds)), tape, nature, key(seed), trace, rounds)
    means = tape.levels.table[tape.levels.rows]
    return float((means.max(axis=1) - means[np.arange(rounds), trace.actions]).sum())


@pytest.mark.parametrize(
    ("forgets", "remembers"),
    [
        (SlidingKLUCB(window=1500), KLUCB()),
        (DiscountedUCB(gamma=0.999, xi=0.05), DiscountedUCB(gamma=1.0, xi=0.05)),
        (DiscountedThompson(gamma=0.999), DiscountedThompson(gamma=1.0)),
        (EpsilonGreedy(step=0.05), EpsilonGreedy(step=1e-4)),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_forgetting_pays_when_the_world_changes(forgets: Any, remembers: Any) -> None:
    """Paired over 30 worlds, 3 standard errors: if it did not pay, each would pass by chance about once in 400."""
    gains = np.array([regret(remembers, seed) - regret(forgets, seed) for seed in range(30)])
    assert gains.mean() > 3.0 * gains.std(ddof=1) / math.sqrt(len(gains))


# ---- arms, agents, parameters ----


@pytest.mark.parametrize("name", EVERY)
def test_select_does_not_write_before_anything_is_known(name: str) -> None:
    policy = POLICIES[name]()
    state = policy.init(Problem(3))
    before = clone(state)
    assert 0 <= select(policy, state, 0, (), at(key(0), 0))[0] < 3
    assert equal(before, state)


@pytest.mark.parametrize("name", INDEX)
def test_an_arm_that_joins_late_is_tried_next(name: str) -> None:
    agent = Agent(POLICIES[name](), ["a", "b"], seed=1)
    for _ in range(50):
        agent.learn(agent.decide(), 1.0)
    agent.add_arm("c")
    assert agent.decide().action == "c"


def test_tunings_of_discounted_ucb() -> None:
    assert DiscountedUCB.for_changes(10_000, 4).gamma == pytest.approx(1.0 - math.sqrt(4 / 10_000) / 4)
    assert DiscountedUCB.for_changes(10_000, 4, span=5.0, xi=0.7) == DiscountedUCB(gamma=0.999, xi=0.7)
    assert DiscountedUCB.for_changes(100, 0).gamma == 1.0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: DiscountedUCB.for_changes(0, 1), "horizon=0 is not a whole number"),
        (lambda: DiscountedUCB.for_changes(10, 11), "changes=11 is not a whole number of at least 0 and at most 10"),
        (lambda: DiscountedUCB.for_changes(10, 1, span=0.0), r"span=0.0 is outside \(0, inf\)"),
        (lambda: DiscountedUCB.for_changes(10, 10, span=0.1).init(Problem(2)), r"gamma=-1.5 is outside \(0, 1\]"),
        (lambda: DiscountedUCB(gamma=0.0).init(Problem(2)), r"gamma=0.0 is outside \(0, 1\]"),
        (lambda: DiscountedUCB(gamma=1.2).init(Problem(2)), r"gamma=1.2 is outside \(0, 1\]"),
        (lambda: DiscountedUCB(xi=0.0).init(Problem(2)), r"xi=0.0 is outside \(0, inf\)"),
        (lambda: DiscountedThompson(gamma=1.1).init(Problem(2)), r"gamma=1.1 is outside \(0, 1\]"),
        (lambda: DiscountedThompson(alpha0=0.0).init(Problem(2)), r"alpha0=0.0 is outside \(0, inf\)"),
        (lambda: DiscountedThompson(beta0=-1.0).init(Problem(2)), r"beta0=-1.0 is outside \(0, inf\)"),
        (lambda: DiscountedThompson().init(Problem(2, 0.0, np.inf)), "discounted-thompson needs rewards in a bounded"),
        (lambda: KLUCB(c=-0.1).init(Problem(2)), r"c=-0.1 is outside \[0, inf\)"),
        (lambda: KLUCB().init(Problem(2, -np.inf, np.inf)), "kl-ucb needs rewards in a bounded range"),
        (lambda: SlidingKLUCB(window=0).init(Problem(2)), "window=0 is not a whole number of at least 1"),
        (lambda: SlidingKLUCB(c=math.nan).init(Problem(2)), "c=nan is outside"),
        (lambda: SlidingKLUCB().init(Problem(2, 1.0, 1.0)), "the reward range"),
        (lambda: EpsilonGreedy(epsilon=1.1).init(Problem(2)), r"epsilon=1.1 is outside \[0, 1\]"),
        (lambda: EpsilonGreedy(step=0.0).init(Problem(2)), r"step=0.0 is outside \(0, 1\]"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        make()


def test_the_slow_bound_is_right_where_it_is_known() -> None:
    assert divergence(0.0, 0.5) == pytest.approx(math.log(2.0))
    assert upper(0.0, 1.0) == pytest.approx(1.0 - math.exp(-1.0))
    assert upper(0.5, -0.5 * math.log(4 * 0.8 * 0.2)) == pytest.approx(0.8)
    assert (upper(0.3, 0.0), upper(1.0, 2.0), upper(0.5, 100.0)) == (0.3, 1.0, 1.0)
