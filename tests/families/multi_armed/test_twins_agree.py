"""Every compiled policy agrees with its slow twin in `tests/families/*/twins`, round by round, whatever its rewards do.

Choices are compared with exact chances by chi-square at 20,000 draws. Seeds are fixed, so a run gives the same answer
every time; were the streams renewed, each such test would raise a false alarm with probability ALARM = 1e-5, and all
of them together (fewer than 50) with probability below 5e-4.
"""

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from driftwise.core import verbs
from driftwise.core.kernel import kernel
from driftwise.core.loop import play
from driftwise.core.random import stream
from driftwise.core.seeding import at, key
from driftwise.core.types import Decision, Floats, Ints, Outcome, Problem, new_trace
from driftwise.errors import ParameterError
from driftwise.families import POLICIES, Abrupt
from driftwise.families.composite.worlds.delayed import Delayed
from driftwise.families.multi_armed import beta_thompson as beta_race
from tests.families.multi_armed.twins.log import readable
from tests.families.multi_armed.twins.pair import Pair
from tests.fixtures.by_family import ARMED
from tests.fixtures.everyday import is_compared
from tests.fixtures.twins import TWINS
from tests.fixtures.verbs import advance, select, update

ALARM = 1e-5
DRAWS = 20_000
CLOSE = 1e-9
INDEX = ("ucb1", "sliding-ucb")
BETA = ("thompson", "sliding-thompson")
NORMAL = ("gaussian-thompson", "sliding-gaussian-thompson")
FAMILIAR = ("uniform", *INDEX, *BETA, *NORMAL)  # the others are compared in test files of their own
WINDOWED = tuple(name for name in POLICIES if "window" in POLICIES[name]._fields)
WINDOWS = (1, 2, 7, 50)


def test_every_policy_has_a_twin() -> None:
    assert set(TWINS) == set(ARMED)


# ---- the state of a policy, as its twin would say it ----


def assert_agree(pair: Pair, t: int) -> None:
    """What the compiled state holds at decision `t` is what the twin computes from the whole log."""
    if pair.name in INDEX:
        np.testing.assert_allclose(compiled_indices(pair, t), pair.twin.indices(t), rtol=CLOSE, atol=CLOSE)
    elif pair.name in BETA:
        a, b = pair.twin.posteriors(t).T
        successes, trials = beta_counts(pair)
        prior = np.array([[getattr(pair.policy, end, 1.0)] for end in ("prior_a", "prior_b")])
        np.testing.assert_allclose(np.stack([successes, trials - successes]) + prior, [a, b], rtol=CLOSE)
        np.testing.assert_allclose(pair.state.heights, -special.betaln(a, b), rtol=CLOSE, atol=CLOSE)
    elif pair.name in NORMAL:
        beliefs = np.stack([readable(pair.state.beliefs.centres), pair.state.beliefs.spreads], axis=1)
        np.testing.assert_allclose(beliefs, pair.twin.posteriors(t), rtol=CLOSE, atol=CLOSE)
    else:
        np.testing.assert_array_equal(pair.state.counts, [len(entries) for entries in pair.twin.by_arm(t)])
    if pair.name in WINDOWED:
        assert pair.state.window.stale[0] == pair.twin.stale()


def compiled_indices(pair: Pair, t: int) -> Floats:
    """The bounds the kernel compares: those it caches once the window is full, else the sum of their two parts."""
    if pair.name == "sliding-ucb" and t >= pair.policy.window:
        return np.array(readable(pair.state.indices))
    scale = pair.state.span[0] * np.sqrt(pair.policy.xi * np.log(max(t, 1)))
    return np.array(readable(pair.state.means + scale * pair.state.roots))


def beta_counts(pair: Pair) -> tuple[Floats, Ints]:
    if pair.name == "thompson":
        return pair.state.successes, pair.state.trials
    return pair.state.window.sums, pair.state.window.counts


def assert_chosen_well(pair: Pair, t: int, arm: int) -> None:
    """An index policy takes the twin's choice, unless the best two are within rounding; untried arms in order."""
    if pair.name not in INDEX:
        return
    indices = pair.twin.indices(t)
    if np.isinf(indices).any():
        assert arm == pair.twin.choose(t)
    else:
        assert indices[arm] >= indices.max() - CLOSE


# ---- the same history for both ----


class Round(NamedTuple):
    """What becomes of a decision: an arm to play (None: the policy's own choice), its reward, and when it is told."""

    arm: int | None
    reward: float
    delays: tuple[int, ...]


def drive(pair: Pair, rounds: list[Round], seed: int = 0) -> None:
    """Lead a policy and its twin through the same rounds, comparing them."""
    rng, shuffle = key(seed, "twins"), np.random.default_rng(seed)
    due: dict[int, list[tuple[Decision, float]]] = {}
    for t, each in enumerate(rounds):
        own = at(rng, t)
        advance(pair.policy, pair.state, t, own)
        chosen, propensity = select(pair.policy, pair.state, t, (), own)
        if is_compared(t):
            assert_agree(pair, t)
            assert_chosen_well(pair, t, chosen)
        arm = chosen if each.arm is None else each.arm
        for delay in each.delays:
            due.setdefault(t + delay, []).append((Decision(t, arm, propensity, (), own), each.reward))
        arrived = due.pop(t, [])
        for i in shuffle.permutation(len(arrived)):
            decision, reward = arrived[i]
            update(pair.policy, pair.state, decision, Outcome(reward), t)
            pair.twin.learn(decision.t, decision.action, reward, t, int(decision.rng))
    advance(pair.policy, pair.state, len(rounds), at(rng, len(rounds)))
    assert_agree(pair, len(rounds))


ARRIVALS = ("immediate", "delayed", "shuffled", "lost", "duplicated")
REWARDS = ("bernoulli", "fractional", "gaussian")


def random_rounds(n_arms: int, n_rounds: int, rewards: str, arrivals: str, seed: int) -> list[Round]:
    """Half of the arms the policy's own choice, half at random; rewards and arrivals as they are called."""
    luck = np.random.default_rng(seed)
    return [
        Round(
            arm=None if luck.random() < 0.5 else int(luck.integers(n_arms)),
            reward=random_reward(rewards, luck),
            delays=random_delays(arrivals, luck),
        )
        for _ in range(n_rounds)
    ]


def random_reward(rewards: str, luck: np.random.Generator) -> float:
    if rewards == "gaussian":
        return float(luck.normal(0.3, 0.7))
    return float(luck.integers(2)) if rewards == "bernoulli" else float(luck.random())


def random_delays(arrivals: str, luck: np.random.Generator) -> tuple[int, ...]:
    late = tuple(int(delay) for delay in luck.integers(0, 12, size=2))
    return {
        "immediate": (0,),
        "delayed": (3,),
        "shuffled": late[:1],
        "lost": () if luck.random() < 0.4 else late[:1],
        "duplicated": late,
    }[arrivals]


def problem_for(rewards: str, n_arms: int) -> Problem:
    return Problem(n_arms, -np.inf, np.inf, noise=0.7) if rewards == "gaussian" else Problem(n_arms)


def scenarios() -> Iterator[Any]:
    """Every policy with every kind of reward it takes and every fate of rewards; arms and windows take turns."""
    for name in FAMILIAR:
        kinds = REWARDS[:2] if name in BETA else REWARDS
        for i, (rewards, arrivals) in enumerate((r, a) for r in kinds for a in ARRIVALS):
            for window in WINDOWS if name in WINDOWED else (0,):
                parameters = {"window": window} if window else {}
                n_arms = 2 + (i + window) % 5
                label = f"{name}-{rewards}-{arrivals}-{n_arms} arms" + (f"-window {window}" if window else "")
                rounds = random_rounds(n_arms, 120, rewards, arrivals, seed=100 * i + window)
                yield pytest.param(name, problem_for(rewards, n_arms), parameters, rounds, id=label)


@pytest.mark.parametrize(("name", "problem", "parameters", "rounds"), [*scenarios()])
def test_policy_agrees_with_its_twin(
    name: str, problem: Problem, parameters: dict[str, int], rounds: list[Round]
) -> None:
    drive(Pair.of(name, problem, **parameters), rounds)


@pytest.mark.parametrize("name", FAMILIAR)
@pytest.mark.parametrize("window", [7, 200])
def test_policy_agrees_with_its_twin_on_120_arms(name: str, window: int) -> None:
    parameters = {"window": window} if name in WINDOWED else {}
    pair = Pair.of(name, Problem(120), **parameters)
    drive(pair, random_rounds(120, 450, "bernoulli", "shuffled", seed=7))


def test_sliding_ucb_agrees_when_all_of_120_arms_stay_in_the_window() -> None:
    """Every index is finite, so the winner tree has real matches to play."""
    pair = Pair.of("sliding-ucb", Problem(120), window=400)
    luck = np.random.default_rng(3)
    drive(pair, [Round(t % 120 if t % 2 else None, float(luck.random()), (0,)) for t in range(700)])
    assert np.isfinite(pair.state.indices).all()
    assert pair.state.tree[1] >= 0


def test_the_bonus_of_sliding_ucb_grows_until_the_window_is_full() -> None:
    """In round 3 arm 0 leads with ln 3 in the bonus, and would not with ln 4."""
    pair = Pair.of("sliding-ucb", Problem(2), window=4)
    drive(pair, [Round(0, 0.25, (0,)), Round(1, 0.0, (0,)), Round(0, 0.25, (0,)), Round(None, 0.0, (0,))])
    assert pair.twin.choose(3) == pair.twin.log[3].arm == 0


@pytest.mark.parametrize("name", FAMILIAR)
def test_policy_agrees_with_its_twin_when_rewards_lie_elsewhere(name: str) -> None:
    parameters = {"window": 20} if name in WINDOWED else {}
    pair = Pair.of(name, Problem(3, low=-2.0, high=5.0), **parameters)
    luck = np.random.default_rng(11)
    drive(pair, [Round(None, float(luck.uniform(-2.0, 5.0)), (int(luck.integers(5)),)) for _ in range(120)])


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ucb1", {"xi": 0.3}),
        ("sliding-ucb", {"xi": 1.7, "window": 9}),
        ("gaussian-thompson", {"noise": 0.2, "prior_mean": -1.0, "prior_sd": 3.0}),
        ("sliding-gaussian-thompson", {"noise": 0.2, "prior_mean": 4.0, "prior_sd": 0.5, "window": 9}),
    ],
)
def test_policy_agrees_with_its_twin_for_other_parameters(name: str, parameters: dict[str, Any]) -> None:
    pair = Pair.of(name, problem_for("gaussian", 4), **parameters)
    drive(pair, random_rounds(4, 130, "gaussian", "shuffled", seed=5))


FATES = st.lists(
    st.builds(
        Round,
        arm=st.none() | st.integers(0, 2),
        reward=st.sampled_from([0.0, 0.25, 1.0]),
        delays=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    ),
    max_size=40,
)


@pytest.mark.parametrize("name", FAMILIAR)
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(rounds=FATES, window=st.sampled_from(WINDOWS))
def test_policy_agrees_with_its_twin_on_any_history(name: str, rounds: list[Round], window: int) -> None:
    parameters = {"window": window} if name in WINDOWED else {}
    drive(Pair.of(name, Problem(3), **parameters), rounds)


@pytest.mark.parametrize("name", FAMILIAR)
def test_the_compiled_loop_agrees_with_the_twin(name: str) -> None:
    """`play` in a world that delays and loses rewards: the twin reads the delays off the tape."""
    rounds, n_arms = 300, 4
    world = Delayed(world=Abrupt(n_arms=n_arms, phases=3), delay=6.0, kind="geometric", lost=0.2)
    pair = Pair.of(name, world.problem(), **({"window": 40} if name in WINDOWED else {}))
    tape, nature = world.draw(rounds, seed=2)
    trace, rng = new_trace(0, rounds), key(5, "loop")
    assert play(pair.policy, pair.state, tape, nature, rng, trace, rounds) == rounds
    for t in range(rounds):
        assert_chosen_well(pair, t, int(trace.actions[t]))
        pair.end_round(world, tape, trace, rng, t)
    advance(pair.policy, pair.state, rounds, at(rng, rounds))
    assert_agree(pair, rounds)


# ---- choices by chance ----


@kernel
def count_choices(policy: Any, state: Any, t: int, rng: Any, draws: int, counts: Ints) -> None:
    for i in range(draws):
        arm, _ = verbs.select(policy, state, t, (), stream(rng, i))
        counts[arm] += 1


def frequencies(pair: Pair, t: int, seed: int) -> Ints:
    counts = np.zeros(pair.twin.problem.n_arms, np.int64)
    count_choices(pair.policy, pair.state, t, key(seed, "choices"), DRAWS, counts)
    return counts


def p_value(counts: Ints, chances: Floats) -> float:
    """Chi-square; arms expected fewer than five times are counted together."""
    np.testing.assert_allclose(chances.sum(), 1.0, atol=1e-4)
    rare = chances * DRAWS < 5.0
    observed, expected = counts[~rare], chances[~rare] * DRAWS
    rest = DRAWS - expected.sum()
    if rest >= 5.0:
        observed, expected = np.append(observed, counts[rare].sum()), np.append(expected, rest)
    elif stats.binom.sf(counts[rare].sum() - 1, DRAWS, rest / DRAWS) < ALARM:
        return 0.0
    if len(observed) == 1:
        return 1.0
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


class Beliefs(NamedTuple):
    """Successes and trials of every arm."""

    successes: tuple[int, ...]
    trials: tuple[int, ...]


STATES = {
    "nothing seen": Beliefs((0, 0, 0), (0, 0, 0)),
    "one success": Beliefs((1, 0), (1, 0)),
    "two equal arms": Beliefs((30, 30), (50, 50)),
    "an arm with no trials": Beliefs((12, 0, 5), (20, 0, 9)),
    "all failures": Beliefs((0, 0, 0, 0), (1, 2, 9, 40)),
    "all successes": Beliefs((3, 8, 1, 0), (3, 8, 1, 0)),
    "failures against successes": Beliefs((0, 6, 0), (6, 6, 1)),
    "thousands of successes": Beliefs((3000, 1980, 40), (4000, 2600, 50)),
    "a clear leader": Beliefs((900, 100, 0), (1000, 300, 12)),
    "a leader by trials, not by mean": Beliefs((500, 9, 1), (1000, 10, 1)),
    "fifty arms alike": Beliefs((2,) * 50, (4,) * 50),
    "fifty arms apart": Beliefs(tuple(k % 7 for k in range(50)), tuple(6 + k % 5 for k in range(50))),
}


def believing(name: str, beliefs: Beliefs, **parameters: float) -> tuple[Pair, int]:
    """A policy that has seen just this, and the next round; arms are answered in turn, successes first."""
    n_arms, rounds = len(beliefs.trials), sum(beliefs.trials)
    window = {"window": rounds + 1} if name in WINDOWED else {}
    pair = Pair.of(name, Problem(n_arms), **window, **parameters)
    log = [
        (arm, float(i < wins))
        for arm, (wins, trials) in enumerate(zip(beliefs.successes, beliefs.trials, strict=True))
        for i in range(trials)
    ]
    for t, (arm, reward) in enumerate(log):
        update(pair.policy, pair.state, Decision(t, arm, np.nan, (), np.uint64(t)), Outcome(reward), t)
        pair.twin.learn(t, arm, reward, t, t)
    advance(pair.policy, pair.state, rounds, np.uint64(rounds))
    assert_agree(pair, rounds)
    return pair, rounds


@pytest.mark.parametrize("name", BETA)
@pytest.mark.parametrize("beliefs", [*STATES.values()], ids=[*STATES])
def test_beta_choices_have_exactly_the_chances_of_the_race(name: str, beliefs: Beliefs) -> None:
    pair, t = believing(name, beliefs)
    assert p_value(frequencies(pair, t, seed=1), pair.twin.win_probabilities(t)) > ALARM


@pytest.mark.parametrize("prior", [(3.0, 1.0), (1.0, 20.0), (2.5, 4.25)])
@pytest.mark.parametrize("label", ["nothing seen", "an arm with no trials", "a clear leader", "fifty arms apart"])
def test_a_prior_counts_as_rewards_seen_before(label: str, prior: tuple[float, float]) -> None:
    pair, t = believing("sliding-thompson", STATES[label], prior_a=prior[0], prior_b=prior[1])
    assert p_value(frequencies(pair, t, seed=4), pair.twin.win_probabilities(t)) > ALARM


def test_a_prior_below_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="prior_a=0"):
        POLICIES["sliding-thompson"](prior_a=0.5).init(Problem(3))


@pytest.mark.parametrize("name", NORMAL)
@pytest.mark.parametrize("label", ["nothing seen", "an arm with no trials", "a clear leader", "fifty arms apart"])
def test_normal_choices_have_exactly_the_chances_of_the_race(name: str, label: str) -> None:
    pair, t = believing(name, STATES[label])
    assert p_value(frequencies(pair, t, seed=2), pair.twin.win_probabilities(t)) > ALARM


@pytest.mark.parametrize("n_arms", [2, 3, 50])
def test_uniform_choices_are_uniform(n_arms: int) -> None:
    pair = Pair.of("uniform", Problem(n_arms))
    assert p_value(frequencies(pair, 0, seed=3), pair.twin.win_probabilities(0)) > ALARM


def test_the_chances_of_the_twins_are_right_where_they_are_known() -> None:
    """Against closed forms: two uniforms, Beta(2, 1) against a uniform (2/3), and two normals."""
    thompson, gaussian = (told_twin(name, [(0, 1.0)]) for name in ("thompson", "gaussian-thompson"))
    np.testing.assert_allclose(thompson.win_probabilities(0), 0.5, atol=1e-9)
    np.testing.assert_allclose(thompson.win_probabilities(1), [2 / 3, 1 / 3], atol=1e-6)
    (m0, s0), (m1, s1) = gaussian.posteriors(1)
    known = stats.norm.cdf((m0 - m1) / np.hypot(s0, s1))
    np.testing.assert_allclose(gaussian.win_probabilities(1), [known, 1.0 - known], atol=1e-6)


def told_twin(name: str, answers: list[tuple[int, float]]) -> Any:
    twin = TWINS[name](POLICIES[name](), Problem(2))
    for t, (arm, reward) in enumerate(answers):
        twin.learn(t, arm, reward, t)
    return twin


def test_the_states_above_take_every_line_of_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no branch of the kernel goes unmeasured: the race is run uncompiled, and its lines are watched."""
    labels = ("all failures", "failures against successes", "an arm with no trials", "a clear leader")
    pairs = [believing("thompson", STATES[label]) for label in labels]
    chosen = [[select(p.policy, p.state, t, (), at(key(8), i))[0] for i in range(200)] for p, t in pairs]
    for draw in ("uniform", "positive_uniform", "exponential", "beta"):
        monkeypatch.setattr(beta_race, draw, unsigned(getattr(beta_race, draw)))
    code = beta_race.race.function.__code__
    everything = {line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno + 1}
    seen: set[int] = set()

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not code:
            return None
        seen.add(frame.f_lineno)
        return watch

    for (pair, _), arms in zip(pairs, chosen, strict=True):
        for i in range(200):
            own, state = at(key(8), i), pair.state
            sys.settrace(watch)
            try:
                arm = beta_race.race.function(state.successes, state.trials, state.heights, 0.0, 0.0, own)
            finally:
                sys.settrace(None)
            assert arm == arms[i]
    assert everything <= seen


def unsigned(draw: Any) -> Any:
    """A random kernel for use from Python, where its stream would come back as a signed whole number."""

    def wrapped(*args: Any) -> tuple[float, np.uint64]:
        value, rng = draw(*args)
        return value, np.uint64(rng)

    return wrapped
