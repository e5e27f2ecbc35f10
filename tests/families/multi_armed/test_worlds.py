"""Worlds drift as they say, whatever blocks their tapes are cut into, and a delayed reward is the same reward later.

Statistical tests have fixed seeds and a false-alarm rate of ALARM = 1e-5 each, below 3e-4 together.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from driftwise.core import verbs
from driftwise.core.kernel import kernel
from driftwise.core.loop import play
from driftwise.core.random import integers
from driftwise.core.seeding import at, key
from driftwise.core.serialization import arrays, equal
from driftwise.core.types import Decision, Floats, Ints, Outcome, Problem, new_trace
from driftwise.core.validation import cast
from driftwise.errors import ParameterError
from driftwise.families import Abrupt, RandomWalk, Sinusoidal, Stationary
from driftwise.families.composite.worlds.delayed import LOST, Delayed
from tests.fixtures import verbs as calls
from tests.fixtures.by_family import ARMED, ARMED_WORLDS

ALARM = 1e-5
HORIZON = 150
EVERY_WORLD: dict[str, Any] = {
    **{
        f"{name} {rewards}": kind(rewards=rewards)
        for name, kind in ARMED_WORLDS.items()
        for rewards in ("bernoulli", "gaussian")
    },
    "delayed abrupt": Delayed(world=Abrupt(), delay=3),
    "delayed random walk": Delayed(world=RandomWalk(rewards="gaussian"), delay=4.0, kind="geometric", lost=0.3),
}
every_world = pytest.mark.parametrize("world", [*EVERY_WORLD.values()], ids=[*EVERY_WORLD])


class Rounds(NamedTuple):
    """A tape, round by round: means of all arms, the noise, the delays (none: zeros)."""

    means: Floats
    noise: Floats
    delays: Ints


def rounds_of(world: Any, *, horizon: int = HORIZON, seed: int = 1, size: int = 0) -> Rounds:
    """Every round of a world, put together from blocks; checks that the blocks are of the asked size, in order."""
    blocks: list[Rounds] = []
    size = size or horizon
    for tape in world.tapes(horizon, seed, size):
        inner = getattr(tape, "tape", tape)
        assert tape.start == inner.start == sum(len(block.noise) for block in blocks)
        assert len(inner.noise) == len(inner.levels.rows) == min(size, horizon - tape.start)
        means, delays = inner.levels.table[inner.levels.rows], getattr(tape, "delays", np.zeros(len(inner.noise), int))
        blocks.append(Rounds(means, inner.noise, delays))
    return Rounds(*(np.concatenate(columns) for columns in zip(*blocks, strict=True)))


# ---- tapes ----


@every_world
@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_join_to_the_same_bits(world: Any, size: int) -> None:
    whole, cut = rounds_of(world), rounds_of(world, size=size)
    assert len(whole.noise) == HORIZON
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(one, other)


@every_world
def test_a_tape_is_a_function_of_its_seed(world: Any) -> None:
    one, again, other = rounds_of(world), rounds_of(world), rounds_of(world, seed=2)
    for first, second in zip(one, again, strict=True):
        np.testing.assert_array_equal(first, second)
    assert (one.noise != other.noise).all()


@pytest.mark.parametrize("kind", [Stationary, Abrupt, RandomWalk], ids=lambda kind: kind.__name__)
def test_another_seed_has_other_means(kind: Any) -> None:
    assert (rounds_of(kind()).means[0] != rounds_of(kind(), seed=2).means[0]).all()


@every_world
def test_draw_is_the_whole_as_one_tape(world: Any) -> None:
    tape, nature = world.draw(HORIZON, 1)
    inner = getattr(tape, "tape", tape)
    np.testing.assert_array_equal(inner.levels.table[inner.levels.rows], rounds_of(world).means)
    np.testing.assert_array_equal(inner.noise, rounds_of(world).noise)
    assert verbs.observe(tape, nature, 0) == ((), True)


@every_world
@pytest.mark.parametrize("seed", range(5))
def test_means_are_chances(world: Any, seed: int) -> None:
    means = rounds_of(world, seed=seed).means
    assert ((means >= 0.0) & (means <= 1.0)).all()
    assert means.shape == (HORIZON, world.problem().n_arms)


@pytest.mark.parametrize("name", ARMED_WORLDS)
def test_bernoulli_rewards_are_one_when_the_noise_lies_below_the_mean(name: str) -> None:
    world = ARMED_WORLDS[name]()
    tape, nature = world.draw(HORIZON, 3)
    means, noise, _ = rounds_of(world, seed=3)
    for t in range(0, HORIZON, 5):
        rewards = [verbs.respond(tape, nature, t, arm).reward for arm in range(world.n_arms)]
        assert rewards == [float(noise[t] < mean) for mean in means[t]]


@pytest.mark.parametrize("name", ARMED_WORLDS)
def test_gaussian_rewards_are_the_mean_and_the_noise_scaled(name: str) -> None:
    world = ARMED_WORLDS[name](rewards="gaussian", sd=0.4)
    tape, nature = world.draw(HORIZON, 3)
    means, noise, _ = rounds_of(world, seed=3)
    for t in range(0, HORIZON, 5):
        rewards = [verbs.respond(tape, nature, t, arm).reward for arm in range(world.n_arms)]
        np.testing.assert_allclose(rewards, means[t] + 0.4 * noise[t], rtol=1e-15)


def test_noise_is_uniform_or_normal() -> None:
    draws = rounds_of(Stationary(), horizon=50_000)
    assert stats.kstest(draws.noise, stats.uniform.cdf).pvalue > ALARM
    draws = rounds_of(Stationary(rewards="gaussian"), horizon=50_000)
    assert stats.kstest(draws.noise, stats.norm.cdf).pvalue > ALARM


def test_the_problem_tells_the_range_or_the_noise() -> None:
    assert Stationary(n_arms=7).problem(horizon=9) == Problem(7, 0.0, 1.0, horizon=9)
    gaussian = Stationary(rewards="gaussian", sd=0.3).problem()
    assert (gaussian.low, gaussian.high, gaussian.noise, gaussian.horizon) == (-math.inf, math.inf, 0.3, 0)
    assert Delayed(world=Stationary(n_arms=7)).problem(horizon=9) == Stationary(n_arms=7).problem(horizon=9)


# ---- drift ----


def test_stationary_means_stand_still_and_are_uniform() -> None:
    assert (rounds_of(Stationary()).means == rounds_of(Stationary()).means[0]).all()
    starts = np.array([rounds_of(Stationary(n_arms=10), horizon=1, seed=seed).means[0] for seed in range(200)])
    assert stats.kstest(starts.ravel(), stats.uniform.cdf).pvalue > ALARM


@pytest.mark.parametrize("phases", [1, 2, 4, 7, HORIZON])
@pytest.mark.parametrize("n_arms", [2, 5])
def test_abrupt_means_change_at_the_changes_only_and_always_the_best_arm(phases: int, n_arms: int) -> None:
    world = Abrupt(phases=phases, n_arms=n_arms)
    for seed in range(5):
        means = rounds_of(world, seed=seed).means
        moves = [t for t in range(1, HORIZON) if (means[t] != means[t - 1]).any()]
        assert moves == world.changes(HORIZON, seed) == [phase * HORIZON // phases for phase in range(1, phases)]
        best = means.argmax(axis=1)
        assert all(best[t] != best[t - 1] for t in moves)


def test_abrupt_phases_are_of_equal_length() -> None:
    lengths = np.diff([0, *Abrupt(phases=7).changes(1000, 0), 1000])
    assert lengths.max() - lengths.min() <= 1
    assert len(lengths) == 7


def test_delayed_changes_are_those_of_the_world_behind() -> None:
    world = Abrupt(phases=4)
    assert Delayed(world=world, delay=5).changes(100, 1) == world.changes(100, 1) == [25, 50, 75]


def test_only_abrupt_worlds_tell_changes() -> None:
    assert [Stationary().changes(100, 0), Sinusoidal().changes(100, 0), RandomWalk().changes(100, 0)] == [[], [], []]


def test_sinusoidal_means_follow_the_formula() -> None:
    world = Sinusoidal(n_arms=4, cycles=3.0, middle=0.45, amplitude=0.3)
    means = rounds_of(world).means
    for t in range(0, HORIZON, 11):
        for k in range(4):
            angle = 2.0 * math.pi * (3.0 * t / HORIZON - k / 4)
            assert means[t, k] == pytest.approx(0.45 + 0.3 * math.sin(angle), abs=1e-12)


def test_a_random_walk_steps_with_its_standard_deviation() -> None:
    """Squared steps against chi-square; a step of 1e-3 is folded at a border too seldom to show."""
    for step, horizon in ((1e-3, 5000), (0.0, 40_000)):
        expected = step or 2.0 / math.sqrt(horizon)
        means = rounds_of(RandomWalk(n_arms=4, step=step), horizon=horizon).means
        inside = np.all(np.abs(means - 0.5) < 0.5 - 6.0 * expected, axis=1)
        steps = np.diff(means, axis=0)[np.flatnonzero(inside[:-1])] / expected
        tail = stats.chi2.cdf((steps**2).sum(), steps.size)
        assert ALARM / 2.0 < tail < 1.0 - ALARM / 2.0
        assert stats.kstest(steps.ravel(), stats.norm.cdf).pvalue > ALARM


def test_a_random_walk_is_reflected_and_not_held_at_its_borders() -> None:
    """Long walks spend the same time everywhere in [0, 1]: their law at the end is uniform."""
    ends = [rounds_of(RandomWalk(n_arms=50, step=0.2), horizon=80, seed=seed).means[-1] for seed in range(40)]
    assert stats.kstest(np.concatenate(ends), stats.uniform.cdf).pvalue > ALARM
    means = rounds_of(RandomWalk(n_arms=50, step=0.01), horizon=2000).means
    assert np.abs(np.diff(means, axis=0)).max() < 0.01 * 7.0  # no jumps across


def test_arms_of_a_random_walk_step_independently() -> None:
    means = rounds_of(RandomWalk(n_arms=2, step=1e-4), horizon=20_000).means
    steps = np.diff(means, axis=0)
    bound = stats.norm.isf(ALARM / 2.0) / math.sqrt(len(steps))
    assert abs(stats.pearsonr(steps[:, 0], steps[:, 1]).statistic) < bound
    assert abs(stats.pearsonr(steps[1:, 0], steps[:-1, 1]).statistic) < bound


# ---- delays ----


def test_fixed_delays_are_fixed() -> None:
    assert (rounds_of(Delayed(world=Stationary(), delay=7)).delays == 7).all()
    assert (rounds_of(Delayed(world=Stationary())).delays == 0).all()


@pytest.mark.parametrize("mean", [0.2, 1.0, 12.5])
def test_geometric_delays_are_geometric_with_the_given_mean(mean: float) -> None:
    delays = rounds_of(Delayed(world=Stationary(), delay=mean, kind="geometric"), horizon=100_000).delays
    law = stats.geom(1.0 / (1.0 + mean), loc=-1)
    last = int(law.isf(1e-3))
    chances = np.append(law.pmf(np.arange(last)), law.sf(last - 1))
    counts = np.bincount(np.minimum(delays, last), minlength=last + 1)
    assert stats.chisquare(counts, chances * len(delays)).pvalue > ALARM


@pytest.mark.parametrize("mean", [0.01, 0.1, 1.0, 3.0, 100.0])
def test_the_longest_geometric_delay_cuts_off_less_than_one_in_a_trillion(mean: float) -> None:
    world = Delayed(world=Stationary(), delay=mean, kind="geometric")
    assert stats.geom(1.0 / (1.0 + mean), loc=-1).sf(world.longest) < 1e-12


@pytest.mark.parametrize("lost", [0.0, 0.05, 0.5, 0.99])
def test_the_given_share_of_rewards_is_lost(lost: float) -> None:
    delays = rounds_of(Delayed(world=Stationary(), delay=2, lost=lost), horizon=50_000).delays
    gone = int((delays == LOST).sum())
    assert set(delays) <= {2, LOST}
    assert gone == 0 if lost == 0.0 else stats.binomtest(gone, len(delays), lost).pvalue > ALARM


def test_losses_do_not_depend_on_delays() -> None:
    world = Delayed(world=Stationary(), delay=5.0, kind="geometric", lost=0.4)
    lossless = rounds_of(Delayed(world=Stationary(), delay=5.0, kind="geometric"), horizon=20_000).delays
    gone = rounds_of(world, horizon=20_000).delays == LOST
    table = [[(gone & (lossless > 4)).sum(), (gone & (lossless <= 4)).sum()]]
    table += [[(~gone & (lossless > 4)).sum(), (~gone & (lossless <= 4)).sum()]]
    assert stats.chi2_contingency(table).pvalue > ALARM


def test_a_delayed_world_is_the_same_world() -> None:
    behind, delayed = rounds_of(Abrupt()), rounds_of(Delayed(world=Abrupt(), delay=9))
    np.testing.assert_array_equal(behind.means, delayed.means)
    np.testing.assert_array_equal(behind.noise, delayed.noise)


class WitnessState(NamedTuple):
    """Every call of `update`, in order: the decision's round, arm and stream, the reward, and the round it came in."""

    calls: Ints
    rounds: Ints
    arms: Ints
    streams: NDArray[np.uint64]
    rewards: Floats
    arrivals: Ints


class Witness(NamedTuple):
    """A policy that chooses at random and writes down what it is told."""

    def init(self, problem: Problem) -> WitnessState:
        places = 10_000
        return WitnessState(
            np.zeros(1, np.int64),
            np.zeros(places, np.int64),
            np.zeros(places, np.int64),
            np.zeros(places, np.uint64),
            np.zeros(places),
            np.zeros(places, np.int64),
        )


@kernel
def _choose(policy: Witness, state: WitnessState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    arm, rng = integers(5, rng)
    return arm, 0.2


@kernel
def _write_down(policy: Witness, state: WitnessState, decision: Decision, outcome: Outcome, now: int) -> None:
    i = state.calls[0]
    state.rounds[i] = decision.t
    state.arms[i] = decision.action
    state.streams[i] = decision.rng
    state.rewards[i] = outcome.reward
    state.arrivals[i] = now
    state.calls[0] += 1


verbs.register(Witness, select=_choose, update=_write_down)


@pytest.mark.parametrize(
    "world",
    [
        Stationary(),
        Delayed(world=Stationary(), delay=0),
        Delayed(world=Stationary(), delay=1),
        Delayed(world=Abrupt(), delay=17),
        Delayed(world=Abrupt(rewards="gaussian"), delay=6.0, kind="geometric"),
        Delayed(world=RandomWalk(), delay=0.4, kind="geometric", lost=0.2),
        Delayed(world=Stationary(), delay=40.0, kind="geometric", lost=0.6),
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [7, 2000])
def test_every_reward_is_delivered_once_when_due_the_oldest_first(world: Any, size: int) -> None:
    horizon, rng, policy = 2000, key(1, "witness"), Witness()
    state, nature, actions, rewards = policy.init(world.problem()), world.nature(), [], []
    for tape in world.tapes(horizon, 4, size):
        trace = new_trace(tape.start, min(size, horizon - tape.start))
        play(policy, state, tape, nature, rng, trace, horizon)
        actions += trace.actions.tolist()
        rewards += trace.rewards.tolist()
    delays = rounds_of(world, horizon=horizon, seed=4).delays
    due = sorted((t + delay, t) for t, delay in enumerate(delays.tolist()) if delay != LOST and t + delay < horizon)
    calls = int(state.calls[0])
    assert list(zip(state.arrivals[:calls].tolist(), state.rounds[:calls].tolist(), strict=True)) == due
    assert state.arms[:calls].tolist() == [actions[t] for _, t in due]
    assert state.rewards[:calls].tolist() == [rewards[t] for _, t in due]
    assert state.streams[:calls].tolist() == [int(at(rng, t)) for _, t in due]


@pytest.mark.parametrize("name", ARMED)
@pytest.mark.parametrize("delay", [0, 1, 13])
def test_a_fixed_delay_in_the_loop_is_update_called_that_much_later_by_hand(name: str, delay: int) -> None:
    horizon, rng = 200, key(3, "by hand")
    policy = cast(ARMED[name](**({"window": 40} if "window" in ARMED[name]._fields else {})))
    world = Abrupt(phases=2)
    late = Delayed(world=world, delay=delay)
    state, by_hand = policy.init(late.problem(horizon)), policy.init(world.problem(horizon))
    (tape, nature), trace = late.draw(horizon, 6), new_trace(0, horizon)
    play(policy, state, tape, nature, rng, trace, horizon)

    tape, nature = world.draw(horizon, 6)
    waiting: list[tuple[Decision, Outcome]] = []
    for t in range(horizon):
        own = at(rng, t)
        calls.advance(policy, by_hand, t, own)
        arm, propensity = calls.select(policy, by_hand, t, (), own)
        assert arm == trace.actions[t]
        waiting.append((Decision(t, arm, propensity, (), own), verbs.respond(tape, nature, t, arm)))
        calls.pend(policy, by_hand, waiting[-1][0])
        if t >= delay:
            decision, outcome = waiting.pop(0)
            calls.settle(policy, by_hand, decision)
            calls.update(policy, by_hand, decision, outcome, t)
    assert equal(state, by_hand)
    assert any(array.any() for _, array in arrays(by_hand))


# ---- nonsense ----


@pytest.mark.parametrize(
    ("kind", "parameters", "said"),
    [
        (Stationary, {"n_arms": 1}, "n_arms=1 is not a whole number of at least 2"),
        (Stationary, {"n_arms": 2.5}, "n_arms=2.5 is not a whole number"),
        (Stationary, {"n_arms": "5"}, "n_arms=5 is not a whole number"),
        (Stationary, {"n_arms": True}, "n_arms=True is not a whole number"),
        (Stationary, {"sd": 0.0}, r"sd=0.0 is outside \(0, inf\)"),
        (Stationary, {"sd": math.nan}, r"sd=nan is not a finite number"),
        (Stationary, {"rewards": "poisson"}, "rewards=poisson is not one of bernoulli, gaussian"),
        (Abrupt, {"phases": 0}, "phases=0 is not a whole number of at least 1"),
        (Sinusoidal, {"cycles": -1.0}, r"cycles=-1.0 is outside \(0, inf\)"),
        (Sinusoidal, {"amplitude": 0.0}, r"amplitude=0.0 is outside \(0, inf\)"),
        (Sinusoidal, {"middle": math.inf}, r"middle=inf is not a finite number"),
        (Sinusoidal, {"middle": 0.9}, r"means from 0.5 to 1.3 are outside \[0, 1\]"),
        (RandomWalk, {"step": -0.1}, r"step=-0.1 is outside \[0, inf\)"),
        (Delayed, {"world": Stationary(), "delay": -1}, "delay=-1 is not a whole number of at least 0"),
        (Delayed, {"world": Stationary(), "delay": 1.5}, "delay=1.5 is not a whole number"),
        (Delayed, {"world": Stationary(), "kind": "geometric", "delay": -0.5}, r"delay=-0.5 is outside \[0, 1e\+07\]"),
        (Delayed, {"world": Stationary(), "kind": "random"}, "'random' is not one of fixed, geometric"),
        (Delayed, {"world": Stationary(), "lost": 1.0}, r"lost=1.0 is outside \[0, 1\)"),
        (Delayed, {"world": Stationary(), "lost": -0.1}, r"lost=-0.1 is outside \[0, 1\)"),
    ],
)
def test_nonsense_is_refused_by_value_and_rule(kind: Any, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        kind(**parameters)


@every_world
@pytest.mark.parametrize("horizon", [0, -5, 2.5, math.nan])
def test_a_senseless_horizon_is_refused(world: Any, horizon: Any) -> None:
    with pytest.raises(ParameterError, match=f"horizon={horizon} is not a whole number of at least 1"):
        world.draw(horizon, 0)


def test_more_phases_than_rounds_are_refused() -> None:
    with pytest.raises(ParameterError, match="phases=5 does not fit the horizon 4"):
        Abrupt(phases=5).changes(4, 0)


def test_gaussian_means_may_lie_anywhere() -> None:
    means = rounds_of(Sinusoidal(rewards="gaussian", middle=3.0, amplitude=2.0)).means
    assert means.max() > 4.5
    assert means.min() < 1.5
