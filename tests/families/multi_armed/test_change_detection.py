"""The policies that restart on an alarm agree with their slow twins, and their tests with brute force.

Seeds are fixed: every test gives the same answer each time. The one that speaks of luck (`test_detectors_see_...`)
states the chance of a false alarm if the seeds were renewed.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special

from driftwise.agent import Agent
from driftwise.core.loop import play
from driftwise.core.seeding import at, key
from driftwise.core.types import Decision, Floats, Outcome, Problem, new_trace
from driftwise.core.validation import cast
from driftwise.errors import ParameterError
from driftwise.families import POLICIES, Abrupt, MultiArmed
from driftwise.numerics import detectors
from tests.families.multi_armed.twins.glr_kl_ucb import GLRKLUCBTwin
from tests.families.multi_armed.twins.glr_kl_ucb import price as slow_price
from tests.families.multi_armed.twins.pair import Pair
from tests.fixtures.everyday import deep_unless, is_compared
from tests.fixtures.verbs import advance, select, update

CLOSE = 1e-9
INFINITE = Problem(3, -np.inf, np.inf, noise=0.7)
NAMES = ("cusum-ucb", "page-hinkley-ucb", "m-ucb", "glr-kl-ucb", "practical-ad-switch")
WALKERS = NAMES[:2]


# ---- a policy and its twin, led through the same history ----


class History(NamedTuple):
    """Means that are drawn anew every `phase` rounds, and what becomes of rewards."""

    n_arms: int = 3
    rounds: int = 400
    phase: int = 130
    rewards: str = "bernoulli"
    arrivals: str = "immediate"
    seed: int = 0

    @property
    def problem(self) -> Problem:
        if self.rewards == "gaussian":
            return Problem(self.n_arms, -np.inf, np.inf, noise=0.4)
        return Problem(self.n_arms, -1.0, 3.0) if self.rewards == "elsewhere" else Problem(self.n_arms)


def drive(pair: Pair, history: History) -> None:
    """Play the policy's own choices (now and then another), and compare it with its twin."""
    plays_along = pair.name == "practical-ad-switch"  # as its twin does
    luck, rng = np.random.default_rng(history.seed), key(history.seed, "change")
    due: dict[int, list[tuple[Decision, float]]] = {}
    means = luck.random(history.n_arms)
    for t in range(history.rounds):
        if t % history.phase == 0:
            means = luck.permutation(np.linspace(0.05, 0.95, history.n_arms))
        own = at(rng, t)
        advance(pair.policy, pair.state, t, own)
        chosen, propensity = select(pair.policy, pair.state, t, (), own)
        if plays_along or is_compared(t):
            COMPARE[pair.name](pair, t, chosen, propensity)
        arm = chosen if luck.random() < 0.8 else int(luck.integers(history.n_arms))
        reward = random_reward(history.rewards, means[arm], luck)
        for delay in random_delays(history.arrivals, luck):
            due.setdefault(t + delay, []).append((Decision(t, arm, propensity, (), own), reward))
        arrived = due.pop(t, [])
        for i in luck.permutation(len(arrived)):
            decision, paid = arrived[i]
            update(pair.policy, pair.state, decision, Outcome(paid), t)
            pair.twin.learn(decision.t, decision.action, paid, t, int(decision.rng))


def random_reward(rewards: str, mean: float, luck: np.random.Generator) -> float:
    if rewards == "gaussian":
        return float(luck.normal(mean, 0.4))
    if rewards == "fractional":
        return float(luck.beta(8.0 * mean, 8.0 * (1.0 - mean)))
    success = float(luck.random() < mean)
    return 4.0 * success - 1.0 if rewards == "elsewhere" else success


def random_delays(arrivals: str, luck: np.random.Generator) -> tuple[int, ...]:
    late = int(luck.integers(0, 25))
    return {
        "immediate": (0,),
        "shuffled": (late,),
        "lost": () if luck.random() < 0.3 else (late,),
        "duplicated": (0, late),
    }[arrivals]


# ---- what is compared ----


def compare_restarts(pair: Pair, t: int) -> Any:
    """Counts, sums, restarts, alarms and stale rewards; the twin's reading of the log."""
    reading, state = pair.twin.read(t), pair.state
    np.testing.assert_array_equal(state.counts, [len(each) for each in reading.rewards])
    np.testing.assert_allclose(state.sums, [math.fsum(each) for each in reading.rewards], rtol=CLOSE, atol=CLOSE)
    starts = state.starts if hasattr(state, "starts") else np.full(len(state.counts), state.start[0])
    np.testing.assert_array_equal(starts, reading.starts)
    assert (state.alarms[0], state.stale[0]) == (reading.alarms, reading.stale)
    return reading


def compare_choice(pair: Pair, t: int, chosen: int) -> None:
    """The twin's choice, unless the best two indices are within rounding."""
    indices = pair.twin.indices(t)
    if np.isinf(indices).any():
        assert chosen == int(np.argmax(indices))
    else:
        assert indices[chosen] >= indices.max() - CLOSE


def compare_walks(pair: Pair, t: int, chosen: int, propensity: float) -> None:
    reading = compare_restarts(pair, t)
    for k, rewards in enumerate(reading.rewards):
        walks = pair.state.walks
        if len(rewards) > pair.policy.warmup:
            np.testing.assert_allclose([walks.rises[k], walks.falls[k]], pair.twin.walks(rewards), atol=CLOSE)
        else:
            assert walks.rises[k] == walks.falls[k] == 0.0
    indices = pair.twin.indices(t)
    close = np.isfinite(indices).all() and (indices > indices.max() - CLOSE).sum() > 1
    if not close:  # a tie within rounding may go either way
        assert propensity == pytest.approx(pair.twin.probabilities(t)[chosen], abs=1e-12)


def compare_halves(pair: Pair, t: int, chosen: int, propensity: float) -> None:
    reading, half = compare_restarts(pair, t), pair.policy.window // 2
    for k, rewards in enumerate(reading.rewards):
        newer, older = math.fsum(rewards[-half:]), math.fsum(rewards[-2 * half : -half])
        assert pair.state.halves.newer[k] == pytest.approx(newer, abs=CLOSE)
        assert pair.state.halves.older[k] == pytest.approx(older, abs=CLOSE)
    compare_choice(pair, t, chosen)
    assert propensity == 1.0


def compare_ratios(pair: Pair, t: int, chosen: int, propensity: float) -> None:
    reading, prefixes = compare_restarts(pair, t), pair.state.prefixes
    for k, rewards in enumerate(reading.rewards):
        kept = pair.twin.kept(rewards)
        assert prefixes.n_rewards[k] == len(kept)
        np.testing.assert_allclose(prefixes.sums[k, : len(kept) + 1], np.cumsum([0.0, *kept]), rtol=CLOSE, atol=CLOSE)
        assert prefixes.bounds[k] >= pair.twin.ratios(kept).max(initial=0.0) - CLOSE
    compare_choice(pair, t, chosen)
    assert propensity == 1.0


def compare_episode(pair: Pair, t: int, chosen: int, propensity: float) -> None:
    twin, state = pair.twin, pair.state
    episode = twin.episode
    assert (state.alarms[0], state.stale[0], state.start[0]) == (twin.alarms, twin.stale, episode.start)
    arms = range(len(state.counts))
    np.testing.assert_array_equal(state.counts, [len(episode.facts[k]) for k in arms])
    np.testing.assert_array_equal(state.good, [k not in episode.bad for k in arms])
    np.testing.assert_array_equal(state.owed, [episode.owed(k) for k in arms])
    np.testing.assert_allclose(state.noted, [episode.bad.get(k, (0.0, 0.0)) for k in arms], atol=CLOSE)
    assert chosen == twin.choose(t)
    assert propensity == 1.0
    twin.play(t, chosen)


COMPARE: dict[str, Callable[[Pair, int, int, float], None]] = {
    "cusum-ucb": compare_walks,
    "page-hinkley-ucb": compare_walks,
    "m-ucb": compare_halves,
    "glr-kl-ucb": compare_ratios,
    "practical-ad-switch": compare_episode,
}


# ---- through random histories ----

EAGER: dict[str, tuple[dict[str, Any], ...]] = {  # so that 400 rounds see alarms; h off the grid that ties would lie on
    "cusum-ucb": ({"warmup": 12, "h": 3.217}, {"warmup": 1, "h": 2.717, "epsilon": 0.25, "alpha": 0.3, "xi": 1.0}),
    "page-hinkley-ucb": ({"warmup": 12, "h": 3.217}, {"warmup": 0, "h": 2.717, "epsilon": 0.0, "alpha": 0.3}),
    "m-ucb": ({"window": 20, "b": 5.5, "gamma": 0.2}, {"window": 2, "b": 0.9, "gamma": 1.0, "xi": 0.5}),
    "glr-kl-ucb": (
        {"alpha": 0.2, "delta": 0.1},
        {"alpha": 0.1, "delta": 0.3, "local": 0, "c": 3.0},
        {"alpha": 0.2, "delta": 0.2, "memory": 25, "every": 3, "stride": 4},
        {"alpha": 0.0, "delta": 0.9, "memory": 4},
    ),
    "practical-ad-switch": (
        {"scale": 0.3, "width": 0.15},
        {"scale": 0.1, "width": 0.05, "horizon": 900, "reach": 16.0},
        {"scale": 0.05, "width": 0.3, "horizon": 60, "reach": 0.4},
    ),
}
KINDS = ("bernoulli", "fractional", "gaussian", "elsewhere")
ARRIVALS = ("immediate", "shuffled", "lost", "duplicated")
BOUNDED = ("glr-kl-ucb", "practical-ad-switch")


def scenarios() -> Iterator[Any]:
    """Every policy and structure with every kind of reward it takes; arms and what becomes of rewards take turns."""
    for name, settings in EAGER.items():
        for i, parameters in enumerate(settings):
            for j, rewards in enumerate(kind for kind in KINDS if name not in BOUNDED or kind != "gaussian"):
                history = History(2 + (i + 2 * j) % 5, 400, 130, rewards, ARRIVALS[(i + j) % 4], seed=10 * i + j)
                label = f"{name}-{i}-{rewards}-{history.arrivals}-{history.n_arms} arms"
                yield deep_unless((i + j) % 2 == 0, name, parameters, history, id=label)


@pytest.mark.parametrize(("name", "parameters", "history"), [*scenarios()])
def test_policy_agrees_with_its_twin(name: str, parameters: dict[str, Any], history: History) -> None:
    pair = Pair.of(name, history.problem, **parameters)
    drive(pair, history)
    if history.arrivals == "shuffled" and pair.state.alarms[0] > 3:
        assert pair.state.stale[0] > 0


@pytest.mark.parametrize("name", NAMES)
def test_policy_agrees_with_its_twin_at_its_defaults(name: str) -> None:
    """One arm, and thirty: the edges of the loops over arms."""
    for n_arms in (1, 30):
        drive(Pair.of(name, Problem(n_arms)), History(n_arms, 300, 100, seed=n_arms))


@pytest.mark.parametrize("name", NAMES)
def test_the_histories_above_see_alarms_and_stale_rewards(name: str) -> None:
    """So that agreement is not agreement about nothing."""
    pair = Pair.of(name, Problem(3), **EAGER[name][0])
    drive(pair, History(arrivals="shuffled", rounds=800))
    assert pair.state.alarms[0] >= 2
    assert pair.state.stale[0] >= 1


def test_the_histories_above_evict_arms_and_check_them() -> None:
    pair = Pair.of("practical-ad-switch", Problem(3), **EAGER["practical-ad-switch"][0])
    evicted = checked = 0
    for t in range(400):
        advance(pair.policy, pair.state, t, at(key(1), t))
        arm, _ = select(pair.policy, pair.state, t, (), at(key(1), t))
        paid = float(np.random.default_rng(t).random() < (0.2, 0.8, 0.5)[arm])
        update(pair.policy, pair.state, Decision(t, arm, 1.0, (), at(key(1), t)), Outcome(paid), t)
        evicted, checked = max(evicted, int((~pair.state.good).sum())), checked + int(not pair.state.good[arm])
    assert evicted == 2
    assert checked > 10


# ---- late rewards ----


@pytest.mark.parametrize("name", NAMES)
def test_a_reward_older_than_the_restart_is_stale_and_changes_nothing(name: str) -> None:
    """Arm 0 pays 1, then 0: an alarm. A decision from before it is dropped, one from after it counts."""
    policy = cast(POLICIES[name](**EAGER[name][0]))
    state, t = policy.init(Problem(2)), 0
    while state.alarms[0] == 0:
        assert t < 1000
        advance(policy, state, t, at(key(1), t))
        update(policy, state, Decision(t, 0, 1.0, (), at(key(1), t)), Outcome(float(t < 60)), t)
        t += 1
    assert t > 60
    assert state.counts[0] == 0
    advance(policy, state, t, at(key(1), t))
    update(policy, state, Decision(t - 1, 0, 1.0, (), at(key(1), t - 1)), Outcome(1.0), t)
    assert (state.counts[0], state.stale[0]) == (0, 1)
    update(policy, state, Decision(t, 0, 1.0, (), at(key(1), t)), Outcome(1.0), t)
    assert (state.counts[0], state.stale[0], state.sums[0]) == (1, 1, 1.0)


@pytest.mark.parametrize(
    ("name", "parameters", "all_arms"),
    [
        ("cusum-ucb", {"h": 3.3, "warmup": 10}, False),
        ("page-hinkley-ucb", {"h": 3.3, "warmup": 10}, False),
        ("m-ucb", {"window": 20, "b": 8.0}, True),
        ("glr-kl-ucb", {"local": 1}, False),
        ("glr-kl-ucb", {"local": 0}, True),
        ("practical-ad-switch", {"horizon": 1000}, True),
    ],
)
def test_an_alarm_restarts_the_arm_or_all_arms(name: str, parameters: dict[str, Any], all_arms: bool) -> None:
    policy = cast(POLICIES[name](**parameters))
    state, t = policy.init(Problem(2)), 0
    while state.alarms[0] == 0:
        assert t < 1000
        advance(policy, state, t, at(key(2), t))
        reward = 0.0 if t % 2 else float(t < 150)  # arm 1 always pays 0, arm 0 stops paying
        update(policy, state, Decision(t, t % 2, 1.0, (), at(key(2), t)), Outcome(reward), t)
        t += 1
    assert state.counts[0] == 0
    assert (state.counts[1] == 0) == all_arms


# ---- schedules ----


def test_m_ucb_gives_every_arm_its_turn_from_each_restart_on() -> None:
    """K = 3 and gamma = 0.3: of every 10 rounds the first three are turns. The rest go to the best index."""
    policy = POLICIES["m-ucb"](window=4, b=1.5, gamma=0.3)
    state = policy.init(Problem(3))
    chosen = []
    for t in range(40):
        arm, _ = select(policy, state, t, (), at(key(0), t))
        chosen.append(arm)
        update(policy, state, Decision(t, arm, 1.0, (), at(key(0), t)), Outcome(float(arm == 1 and t < 15)), t)
    assert chosen[:3] == [0, 1, 2]
    assert chosen[10:13] == [0, 1, 2]
    start = int(state.start[0])
    assert state.alarms[0] == 1
    assert 15 < start < 40  # arm 1 stopped paying
    assert chosen[start : start + 3] == [0, 1, 2]


def test_m_ucb_takes_halves_that_are_exactly_b_apart_for_the_same() -> None:
    for b, alarms in ((1.0, 0), (0.99, 1)):
        policy = POLICIES["m-ucb"](window=2, b=b)
        state = policy.init(Problem(1))
        for t, reward in enumerate((1.0, 0.0)):
            update(policy, state, Decision(t, 0, 1.0, (), at(key(0), t)), Outcome(reward), t)
        assert state.alarms[0] == alarms


@pytest.mark.parametrize("name", ["m-ucb", "glr-kl-ucb"])
def test_without_forced_exploration_only_the_first_rounds_are_turns(name: str) -> None:
    share = {"m-ucb": "gamma", "glr-kl-ucb": "alpha"}[name]
    policy = cast(POLICIES[name](**{share: 0}))
    state = policy.init(Problem(3))
    for t in range(200):
        arm, _ = select(policy, state, t, (), at(key(0), t))
        update(policy, state, Decision(t, arm, 1.0, (), at(key(0), t)), Outcome(float(arm == 2)), t)
    assert state.counts[2] > 150
    forced = POLICIES[name](**{share: 1.0})
    state = forced.init(Problem(3))
    assert [select(forced, state, t, (), at(key(0), t))[0] for t in range(6)] == [0, 1, 2, 0, 1, 2]


def test_glr_kl_ucb_explores_by_the_clock_whatever_the_restarts() -> None:
    policy = POLICIES["glr-kl-ucb"](alpha=0.3)
    state = policy.init(Problem(3))
    state.starts[:] = 17
    state.counts[:], state.sums[:] = 10, [9.0, 1.0, 1.0]
    state.informations[:] = [10 * (p * math.log(p) + (1 - p) * math.log(1 - p)) for p in (0.9, 0.1, 0.1)]
    assert [select(policy, state, t, (), at(key(0), t))[0] for t in range(20, 30)] == [0, 1, 2] + 7 * [0]


# ---- the detectors alone ----


def test_walks_by_hand() -> None:
    """Baseline 0.5 from (1, 0); slack 0.1. Page-Hinkley's means are 1, 1/2, 2/3, 3/4."""
    walks = detectors.new_walks(1)
    heights = [detectors.cusum(walks, 0, y, n + 1, 2, 0.1) for n, y in enumerate((1.0, 0.0, 1.0, 1.0, 0.0))]
    np.testing.assert_allclose(heights, [0.0, 0.0, 0.4, 0.8, 0.4], atol=1e-12)
    detectors.stop_walks(walks, 0)
    assert [float(each[0]) for each in walks] == [0.0, 0.0, 0.0]
    walks = detectors.new_walks(1)
    heights = [detectors.page_hinkley(walks, 0, y, n + 1, 0, 0.1) for n, y in enumerate((1.0, 0.0, 1.0, 1.0))]
    np.testing.assert_allclose(heights, [0.0, 0.4, 1 / 3 - 0.1, 1 / 3 - 0.1 + 0.25 - 0.1], atol=1e-12)


def test_halves_keep_no_rounding() -> None:
    """After 40,000 rewards of all sizes, the sums are those of the last ones."""
    halves, luck = detectors.new_halves(2, 100), np.random.default_rng(0)
    rewards = luck.random(40_000) * 10.0 ** luck.integers(-12, 9, size=40_000)
    rewards[-100:] = luck.random(100)
    for reward in rewards:
        apart = detectors.slide_halves(halves, 1, reward)
    newer, older = math.fsum(rewards[-50:]), math.fsum(rewards[-100:-50])
    np.testing.assert_allclose([halves.newer[1], halves.older[1]], [newer, older], rtol=1e-13)
    assert apart == pytest.approx(abs(newer - older), abs=1e-12)
    assert halves.newer[0] == halves.older[0] == 0.0


def changing(n: int, kind: str, luck: np.random.Generator) -> Floats:
    """Rewards whose mean changes at a random moment, perhaps by nothing."""
    before, after = luck.permutation([luck.uniform(0.0, 0.2), luck.uniform(0.8, 1.0)])
    if luck.random() < 0.3:
        after = before
    means = np.where(np.arange(n) < luck.integers(n), before, after)
    if kind == "bernoulli":
        return np.asarray(luck.random(n) < means, np.float64)
    return np.clip(means + luck.normal(0.0, 0.2, n), 0.0, 1.0) if kind == "fractional" else np.full(n, before)


def brute_alarms(twin: GLRKLUCBTwin, rewards: Floats) -> list[int]:
    """When the full test alarms, starting over each time."""
    alarms, since = [], 0
    for n in range(1, len(rewards) + 1):
        if twin.alarm([*rewards[since:n]]):
            alarms.append(n)
            since = n
    return alarms


@pytest.mark.parametrize("kind", ["bernoulli", "fractional", "constant"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"memory": 64}, {"memory": 51, "stride": 7}, {"every": 10, "stride": 10}, {"proven": 1}, {"stride": 500}],
    ids=str,
)
def test_likelihood_ratio_gives_the_alarms_of_the_full_test(kind: str, parameters: dict[str, int]) -> None:
    policy = POLICIES["glr-kl-ucb"](**{"delta": 0.1, "memory": 300, **parameters})
    twin, luck, total = GLRKLUCBTwin(policy, Problem(1)), np.random.default_rng(5), 0
    for _ in range(6):
        rewards = changing(250, kind, luck)
        prefixes, alarms, count = policy.init(Problem(2)).prefixes, [], 0
        for n, reward in enumerate(rewards, start=1):
            count += 1
            if detectors.likelihood_ratio(prefixes, 1, reward, count % policy.every == 0, policy.stride):
                detectors.forget_prefixes(prefixes, 1)
                alarms.append(n)
                count = 0
        assert alarms == brute_alarms(twin, rewards)
        total += len(alarms)
    assert (total > 0) == (kind != "constant" and policy.stride < 500)


@pytest.mark.parametrize(("total", "count"), [(0.0, 5), (5.0, 5), (2.0, 5), (2.7, 5), (0.001, 7), (299.0, 300)])
def test_the_best_fit_is_minus_the_entropy(total: float, count: int) -> None:
    powers = detectors.new_prefixes(1, np.zeros(301)).powers
    mean = total / count
    expected = -count * (special.entr(mean) + special.entr(1.0 - mean))
    assert detectors.best_fit(powers, total, count) == pytest.approx(expected, abs=1e-12)


def test_thresholds() -> None:
    assert detectors.practical_threshold(100, 0.01) == pytest.approx(math.log(300_000.0))
    for x in (0.0, 0.01, 0.3, 1.0, 2.0, 3.0, 8.0, 40.0, 900.0):
        assert detectors.price(x) == pytest.approx(slow_price(x), rel=1e-6)
    for x in (5.0, 20.0, 200.0):  # the approximation the authors give for x of at least 5
        assert detectors.price(x) == pytest.approx(x + 4.0 * math.log(1.0 + x + math.sqrt(2.0 * x)), rel=0.1)
    expected = 2.0 * slow_price(math.log(3.0 * 50**1.5 / 0.2) / 2.0) + 6.0 * math.log(1.0 + math.log(50))
    assert detectors.proven_threshold(50, 0.2) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", NAMES[:4])
def test_detectors_see_a_large_change_soon_and_none_where_there_is_none(name: str) -> None:
    """One arm at the defaults, 20 runs: 400 rewards without a change, then 300 from 0.8 down to 0.2.

    A run has a false alarm with probability below 0.1 (measured over 2000 runs: cusum-ucb 0.08, page-hinkley-ucb 0.04,
    the others 0.001), so more than 8 of 20 would be luck of probability below 1e-4.
    """
    policy = cast(POLICIES[name]())
    false = missed = 0
    for run in range(20):
        luck, rng, state = np.random.default_rng(run), key(run), policy.init(Problem(1))
        rewards = np.concatenate([luck.random(400) < 0.8, luck.random(300) < 0.2])
        for t, reward in enumerate(rewards):
            update(policy, state, Decision(t, 0, 1.0, (), at(rng, t)), Outcome(float(reward)), t)
            if t == 399:
                false += int(state.alarms[0] > 0)
                before = int(state.alarms[0])
        missed += int(state.alarms[0] == before)
    assert false <= 8
    assert missed == 0


# ---- practical AdSwitch ----


def run_ad_switch(
    means: Callable[[int], tuple[float, ...]], rounds: int, seed: int, **parameters: Any
) -> Iterator[Any]:
    """The state after every round, with the arm that was played and whether it was good then."""
    policy = cast(POLICIES["practical-ad-switch"](**parameters))
    luck, state = np.random.default_rng(seed), policy.init(Problem(len(means(0))))
    for t in range(rounds):
        advance(policy, state, t, at(key(seed), t))
        arm, _ = select(policy, state, t, (), at(key(seed), t))
        was_good = bool(state.good[arm])
        paid = float(luck.random() < means(t)[arm])
        update(policy, state, Decision(t, arm, 1.0, (), at(key(seed), t)), Outcome(paid), t)
        yield state, arm, was_good


def test_a_bad_arm_that_rises_is_found_by_its_checks() -> None:
    """Arm 0 stays where it is: only a check of arm 1 can tell. Any alarm before round 1000 would be false."""
    found = None
    for t, (state, arm, was_good) in enumerate(
        run_ad_switch(lambda t: (0.6, 0.2 if t < 1000 else 0.95), 4000, seed=1, horizon=4000)
    ):
        assert t >= 1000 or state.alarms[0] == 0
        if state.alarms[0] == 1 and found is None:
            found = (arm, was_good)
            assert state.good.all()
    assert found == (1, False)


def test_a_good_arm_that_falls_is_found_at_once() -> None:
    for t, (state, arm, was_good) in enumerate(
        run_ad_switch(lambda t: (0.9 if t < 1000 else 0.3, 0.2), 1200, seed=2, horizon=4000)
    ):
        assert t >= 1000 or state.alarms[0] == 0
        if state.alarms[0] == 1:
            assert (arm, was_good) == (0, True)
            assert t < 1100
            return
    raise AssertionError("the change was not seen")


def test_good_arms_take_turns_and_an_evicted_one_waits_for_its_checks() -> None:
    played = [arm for _, arm, _ in run_ad_switch(lambda t: (0.5, 0.5, 0.5), 60, seed=3, horizon=10**6)]
    assert played == 20 * [0, 1, 2]
    bad = [arm for state, arm, _ in run_ad_switch(lambda t: (0.9, 0.1), 3000, seed=4, horizon=10**9)]
    assert set(bad[:10]) == {0, 1}
    assert sum(bad[500:]) == 0  # checks are rare when so much time is left


def test_when_the_last_good_arm_is_retired_a_new_episode_starts() -> None:
    agent = Agent(POLICIES["practical-ad-switch"](), MultiArmed(["a", "b", "c"], horizon=10**9), seed=1)
    luck = np.random.default_rng(0)
    for _ in range(1500):
        decision = agent.decide()
        agent.learn(decision, float(luck.random() < (0.95 if decision.action == "b" else 0.1)))
    assert agent.state.good.tolist() == [False, True, False]
    agent.retire_arm("b")
    chosen = [agent.decide().action for _ in range(10)]
    assert sorted(set(chosen)) == ["a", "c"]
    assert agent.state.good.all()
    assert agent.state.alarms[0] == 0


# ---- parameters ----


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("cusum-ucb", {"alpha": -0.1}),
        ("cusum-ucb", {"alpha": 1.1}),
        ("cusum-ucb", {"epsilon": -0.1}),
        ("cusum-ucb", {"h": 0.0}),
        ("cusum-ucb", {"warmup": 0}),
        ("cusum-ucb", {"xi": 0.0}),
        ("page-hinkley-ucb", {"warmup": -1}),
        ("page-hinkley-ucb", {"h": -1.0}),
        ("m-ucb", {"window": 61}),
        ("m-ucb", {"b": 0.0}),
        ("m-ucb", {"gamma": 1.5}),
        ("m-ucb", {"xi": 0.0}),
        ("glr-kl-ucb", {"alpha": 2.0}),
        ("glr-kl-ucb", {"delta": 0.0}),
        ("glr-kl-ucb", {"delta": 1.0}),
        ("glr-kl-ucb", {"local": 2}),
        ("glr-kl-ucb", {"proven": -1}),
        ("glr-kl-ucb", {"c": -1.0}),
        ("glr-kl-ucb", {"memory": 3}),
        ("glr-kl-ucb", {"every": 0}),
        ("glr-kl-ucb", {"stride": 0}),
        ("practical-ad-switch", {"horizon": -1}),
        ("practical-ad-switch", {"scale": 0.0}),
        ("practical-ad-switch", {"width": 0.0}),
        ("practical-ad-switch", {"reach": 0.0}),
    ],
    ids=str,
)
def test_a_parameter_outside_its_rule_is_refused_by_name(name: str, parameters: dict[str, Any]) -> None:
    ((field, value),) = parameters.items()
    with pytest.raises(ParameterError, match=f"{field}={value}"):
        POLICIES[name](**parameters).init(Problem(3))


def test_the_papers_tunings() -> None:
    cusum = POLICIES["cusum-ucb"].for_changes(horizon=10_000, changes=10)
    assert cusum.h == pytest.approx(math.log(1000.0), rel=1e-5)
    assert cusum.alpha == pytest.approx(math.sqrt(0.001 * math.log(1000.0)), rel=1e-5)
    assert POLICIES["page-hinkley-ucb"].for_changes(10_000, 10)[::2] == cusum[::2]  # alpha, h and xi
    m_ucb = POLICIES["m-ucb"].for_changes(horizon=10_000, changes=3, n_arms=4, window=100)
    assert m_ucb.b == pytest.approx(math.sqrt(50.0 * math.log(8e8)), rel=1e-5)
    assert m_ucb.gamma == pytest.approx(math.sqrt(3 * 4 * (2.0 * m_ucb.b + 30.0) / 20_000.0), rel=1e-5)
    assert POLICIES["m-ucb"].for_changes(100, 50, 10).gamma == 1.0
    assert POLICIES["m-ucb"].for_changes(100, 0, 10).gamma == 0.0
    for local, restarts in ((1, 5 * 4), (0, 4)):  # an arm's own restarts are tuned for the changes of every arm
        glr = POLICIES["glr-kl-ucb"].for_changes(horizon=10_000, changes=4, n_arms=5, local=local)
        assert glr.alpha == pytest.approx(0.1 * math.sqrt(restarts * math.log(10_000) / 10_000), rel=1e-5)
        assert glr.delta == pytest.approx(1.0 / math.sqrt(restarts * 10_000), rel=1e-5)
        assert glr.local == local
    for wrong in ({"changes": 0}, {"changes": 100}, {"changes": 1.5}):
        with pytest.raises(ParameterError, match="changes"):
            POLICIES["cusum-ucb"].for_changes(100, **wrong)
    with pytest.raises(ParameterError, match="window=7 is not even"):
        POLICIES["m-ucb"].for_changes(100, 1, 2, window=7)
    with pytest.raises(ParameterError, match="horizon"):
        POLICIES["glr-kl-ucb"].for_changes(1, n_arms=2)


@pytest.mark.parametrize("name", NAMES)
def test_rewards_without_a_range_are_scaled_by_their_noise_or_refused(name: str) -> None:
    policy = POLICIES[name]()
    if name in BOUNDED:
        with pytest.raises(ParameterError, match=f"{name} needs rewards in a bounded range"):
            policy.init(INFINITE)
        return
    assert policy.init(INFINITE).range.tolist() == [0.0, 1.4]
    assert policy.init(Problem(2, -1.0, 4.0)).range.tolist() == [-1.0, 5.0]
    with pytest.raises(ParameterError, match="empty"):
        policy.init(Problem(2, 1.0, 1.0))


def test_ad_switch_takes_the_horizon_from_where_it_is_known() -> None:
    policy = POLICIES["practical-ad-switch"]
    assert policy(horizon=5).init(Problem(2, horizon=9)).horizon[0] == 5
    assert policy().init(Problem(2, horizon=9)).horizon[0] == 9
    assert policy().init(Problem(2)).horizon[0] == 0


# ---- what it is all for ----


@pytest.mark.parametrize("name", NAMES)
def test_policy_beats_ucb1_where_means_jump(name: str) -> None:
    """Five phases in 20,000 rounds, ten worlds: a third less regret than UCB1 at least."""
    world, rounds, regret = Abrupt(n_arms=5, phases=5), 20_000, {name: 0.0, "ucb1": 0.0}
    for run in range(10):
        tape, nature = world.draw(rounds, seed=run)
        means = tape.levels.table[tape.levels.rows]
        for each in regret:
            policy = cast(POLICIES[each]())
            state, trace = policy.init(world.problem(rounds)), new_trace(0, rounds)
            play(policy, state, tape, nature, key(run, each), trace, rounds)
            regret[each] += float((means.max(axis=1) - means[np.arange(rounds), trace.actions]).sum())
    assert regret[name] < 0.67 * regret["ucb1"]
