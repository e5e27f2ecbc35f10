"""What is pending counts: compiled policies agree with their slow twins while rewards are under way, lost or cancelled.

Seeds are fixed: every test gives the same answer each time.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from driftwise.core.loop import play
from driftwise.core.seeding import at, key
from driftwise.core.types import Decision, Floats, Outcome, Problem, SlateOutcome, new_trace
from driftwise.core.validation import cast
from driftwise.core.verbs import VERBS
from driftwise.families import POLICIES, Abrupt, SlidingSlateUCB
from driftwise.families.composite.worlds.delayed import Delayed
from tests.families.multi_armed.twins.log import readable
from tests.families.multi_armed.twins.pair import Pair
from tests.families.slate.twins.sliding_slate_ucb import SlidingSlateUCBTwin
from tests.fixtures.by_family import ARMED
from tests.fixtures.everyday import deep_unless, is_compared
from tests.fixtures.verbs import advance, pend, select, settle, update

CLOSE = 1e-9
COUNTING = [name for name in ARMED if POLICIES[name] in VERBS["pend"].kernels and "thompson" not in name]
DRAWING = ("gaussian-thompson", "sliding-gaussian-thompson")
BOUNDED = ("kl-ucb", "sliding-kl-ucb", "glr-kl-ucb")
BELL = {"low": -np.inf, "high": np.inf, "noise": 0.4}
EAGER: dict[str, dict[str, Any]] = {  # so that a few hundred rounds see alarms
    "cusum-ucb": {"warmup": 12, "h": 3.217},
    "page-hinkley-ucb": {"warmup": 12, "h": 3.217},
    "m-ucb": {"window": 20, "b": 5.5, "gamma": 0.2},
    "glr-kl-ucb": {"alpha": 0.2, "delta": 0.1},
    "discounted-ucb": {"gamma": 0.97},
}


class Fate(NamedTuple):
    """What becomes of decisions: rewards `longest` rounds late at most, some cancelled, some never heard of again."""

    n_arms: int = 4
    rounds: int = 260
    longest: int = 12
    cancelled: float = 0.0
    silent: float = 0.0
    seed: int = 0


def drive(pair: Pair, fate: Fate) -> None:
    """Play the policy's own choices, now and then another, and compare it with its twin."""
    luck, rng = np.random.default_rng(fate.seed), key(fate.seed, "pending")
    means = luck.permutation(np.linspace(0.1, 0.9, fate.n_arms))
    ends: dict[int, list[tuple[Decision, float | None]]] = {}
    for t in range(fate.rounds):
        if t % 90 == 89:
            means = luck.permutation(means)
        own = at(rng, t)
        if hasattr(pair.twin, "begin"):
            pair.twin.begin(t, int(own))
        advance(pair.policy, pair.state, t, own)
        chosen, propensity = select(pair.policy, pair.state, t, (), own)
        if is_compared(t):
            assert_chosen_well(pair, t, chosen, propensity)
        arm = chosen if luck.random() < 0.9 else int(luck.integers(fate.n_arms))
        decision = Decision(t, arm, propensity, (), own)
        pend(pair.policy, pair.state, decision)
        pair.twin.pend(t, arm)
        fortune, end = luck.random(), t + int(luck.integers(fate.longest + 1))
        reward = random_reward(pair.twin.problem, means[arm], luck)
        if fortune > fate.silent:
            ends.setdefault(end, []).append((decision, None if fortune < fate.silent + fate.cancelled else reward))
        for ended, paid in ends.pop(t, []):
            settle(pair.policy, pair.state, ended)
            pair.twin.settle(ended.t, t)
            if paid is not None:
                update(pair.policy, pair.state, ended, Outcome(paid), t)
                pair.twin.learn(ended.t, ended.action, paid, t, int(ended.rng))


def random_reward(problem: Problem, mean: float, luck: np.random.Generator) -> float:
    if not problem.bounded:
        return float(luck.normal(mean, 0.4)) - 50.0
    return problem.low + (problem.high - problem.low) * float(luck.random() < mean)


def assert_chosen_well(pair: Pair, t: int, chosen: int, propensity: float) -> None:
    """The twin's choice, or the twin's chance of it, unless the best two are within rounding."""
    twin = pair.twin
    if pair.name in DRAWING:
        beliefs = np.stack([readable(pair.state.beliefs.centres), pair.state.beliefs.spreads], axis=1)
        np.testing.assert_allclose(beliefs, twin.posteriors(t), rtol=CLOSE, atol=CLOSE)
        return
    if hasattr(twin, "indices") or hasattr(twin, "values"):
        indices: Floats = twin.indices(t) if hasattr(twin, "indices") else twin.values(t)
        finite = indices[np.isfinite(indices)]
        tied = np.isfinite(indices.max()) and (finite > finite.max() - CLOSE).sum() > 1
        if tied:
            return
    chances = next((name for name in ("probabilities", "win_probabilities") if hasattr(twin, name)), None)
    if chances:
        assert propensity == pytest.approx(getattr(twin, chances)(t)[chosen], abs=1e-12)
    else:
        assert chosen == twin.choose(t)


def scenarios() -> Iterator[Any]:
    for i, name in enumerate((*COUNTING, *DRAWING)):
        parameters = EAGER.get(name, {})
        windows = (7, 40, 400) if "window" in POLICIES[name]._fields and name != "m-ucb" else (0,)
        for j, fate in enumerate((Fate(), Fate(cancelled=0.3), Fate(silent=0.3), Fate(longest=60, silent=0.1))):
            for k, window in enumerate(windows):
                problem = Problem(2 + (i + j + window) % 9)
                if name not in BOUNDED and name != "bandit-over-bandit" and j == 1:
                    problem = problem._replace(**BELL)  # type: ignore[arg-type]
                made = parameters | ({"window": window} if window else {})
                label = f"{name}-{j}-{problem.n_arms} arms" + (f"-window {window}" if window else "")
                luck = fate._replace(n_arms=problem.n_arms, seed=9 * i + j)
                yield deep_unless((i + j + k) % 2 == 0, name, problem, made, luck, id=label)


@pytest.mark.parametrize(("name", "problem", "parameters", "fate"), [*scenarios()])
def test_policy_agrees_with_its_twin_while_rewards_are_under_way(
    name: str, problem: Problem, parameters: dict[str, Any], fate: Fate
) -> None:
    horizon = fate.rounds if name == "bandit-over-bandit" else 0
    drive(Pair.of(name, problem._replace(horizon=horizon), **parameters), fate)


@pytest.mark.parametrize("name", ["sliding-ucb", "sliding-kl-ucb", "sliding-armed-ucb"])
@pytest.mark.parametrize("n_arms", [9, 120])
def test_arms_that_left_the_window_are_tried_in_turn(name: str, n_arms: int) -> None:
    """With more arms than the window has rounds: from the lowest on, then whichever was tried longest ago."""
    policy = cast(POLICIES[name](window=5))
    state = policy.init(Problem(n_arms))
    for t in range(3 * n_arms):
        own = at(key(1), t)
        advance(policy, state, t, own)
        arm, propensity = select(policy, state, t, (), own)
        assert arm == t % n_arms
        update(policy, state, Decision(t, arm, propensity, (), own), Outcome(0.0), t)


@pytest.mark.parametrize("name", [deep_unless(name != "bandit-over-bandit", name) for name in COUNTING])
def test_a_world_that_delays_and_loses_rewards_says_what_is_pending(name: str) -> None:
    """`play` beside the twin, which reads the delays off the tape; what is lost pends for the longest delay."""
    rounds, n_arms = 200, 4
    world = Delayed(world=Abrupt(n_arms=n_arms, phases=3), delay=3.0, kind="geometric", lost=0.2)
    windowed = "window" in POLICIES[name]._fields and name != "m-ucb"
    pair = Pair.of(name, world.problem(rounds), **({"window": 40} if windowed else {}))
    tape, nature = world.draw(rounds, seed=2)
    trace, rng = new_trace(0, rounds), key(5, "loop")
    assert play(pair.policy, pair.state, tape, nature, rng, trace, rounds) == rounds
    for t in range(rounds):
        if hasattr(pair.twin, "begin"):
            pair.twin.begin(t, int(at(rng, t)))
        propensity = 1.0 if not hasattr(pair.twin, "probabilities") else np.nan
        if hasattr(pair.twin, "indices") and propensity == 1.0:
            assert_chosen_well(pair, t, int(trace.actions[t]), propensity)
        pair.end_round(world, tape, trace, rng, t)


@pytest.mark.parametrize("window", [3, 40])
@pytest.mark.parametrize("bounded", [True, False])
def test_slates_agree_with_their_twin_while_rewards_are_under_way(window: int, bounded: bool) -> None:
    problem = (
        Problem(5, 0.0, 1.0, slate=2, family="slate")
        if bounded
        else Problem(5, -np.inf, np.inf, 0.3, slate=2, family="slate")
    )
    policy, luck = cast(SlidingSlateUCB(window=window, scale=0.4)), np.random.default_rng(window)
    state, twin = policy.init(problem), SlidingSlateUCBTwin(policy, problem)
    ends: dict[int, list[tuple[Decision, bool]]] = {}
    for t in range(200):
        own = at(key(1), t)
        advance(policy, state, t, own)
        slate = select(policy, state, t, (), own)[0].copy()
        indices = twin.indices(t)
        expected = twin.choose(t)
        apart = np.diff(np.sort(indices[np.isfinite(indices)])).min(initial=1.0) > CLOSE
        if apart:
            assert tuple(slate.tolist()) == expected
        decision = Decision(t, slate, 1.0, (), own)
        pend(policy, state, decision)
        twin.pend(t, slate)
        ends.setdefault(t + int(luck.integers(12)), []).append((decision, bool(luck.random() < 0.8)))
        for ended, paid in ends.pop(t, []):
            settle(policy, state, ended)
            twin.settle(ended.t, t)
            if paid:
                rewards = luck.random(2) - (0.0 if bounded else 20.0)
                update(policy, state, ended, SlateOutcome(float(rewards.sum()), rewards), t)
                twin.learn(ended.t, ended.action, rewards, t)
