"""What is pending counts where actions are rows of features: linear policies agree with their slow twins meanwhile.

Seeds are fixed: every test gives the same answer each time.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, equal
from driftwise.core.types import Decision, Floats, Outcome, Problem
from driftwise.core.validation import cast
from driftwise.core.verbs import restart
from driftwise.families import POLICIES, LinUCB, SlidingLinThompson, SlidingLinUCB
from driftwise.families.contextual.linear_draw import fill_normals
from tests.fixtures.everyday import deep_unless, is_compared
from tests.fixtures.twins import FEATURE_TWINS
from tests.fixtures.verbs import advance, pend, select, settle, update

CLOSE = 1e-8
RIDGES = ("lin-ucb", "sliding-lin-ucb")
FADING = ("discounted-lin-ucb", "discounted-lin-thompson")
DRAWING = ("lin-thompson", "sliding-lin-thompson", "discounted-lin-thompson")
LINEAR = (*RIDGES, "discounted-lin-ucb", *DRAWING)
Show = Callable[[np.random.Generator], Floats]
SHOWN: dict[str, tuple[int, Show]] = {
    "arms": (4, lambda luck: np.eye(4)),
    "any rows": (3, lambda luck: luck.standard_normal((5, 3)) / 2.0),
    "blocks": (6, lambda luck: np.array(np.kron(np.eye(3), luck.uniform(-1.0, 1.0, (1, 2))), float)),
}


class Fate(NamedTuple):
    """What becomes of decisions: rewards `longest` rounds late at most, some cancelled, some never heard of again."""

    longest: int = 12
    cancelled: float = 0.0
    silent: float = 0.0


FATES = {"late": Fate(), "cancelled": Fate(cancelled=0.3), "silent": Fate(silent=0.3), "very late": Fate(60, 0.1, 0.1)}


class Beside(NamedTuple):
    """A policy and its state beside its twin."""

    name: str
    policy: Any
    state: Any
    twin: Any

    @classmethod
    def of(cls, name: str, dim: int, **parameters: Any) -> "Beside":
        policy = cast(POLICIES[name](**parameters))
        problem = Problem(6, -np.inf, np.inf, noise=0.3, dim=dim, unit=1.0, family="contextual")
        return cls(name, policy, policy.init(problem), FEATURE_TWINS[name](policy, problem))

    def end(self, decision: Decision, reward: float | None, now: int) -> None:
        """A decision is over for both; with a reward, unless it is cancelled."""
        settle(self.policy, self.state, decision)
        self.twin.settle(decision.t)
        if reward is not None:
            update(self.policy, self.state, decision, Outcome(reward), now)
            self.twin.learn(decision.t, decision.context, reward, now)

    def assert_agree(self, t: int, context: Floats, row: int) -> None:
        """The row chosen at decision `t` is right by what the twin computes from the whole log."""
        theta, spread = self.twin.estimate(t)
        ridge, pending = self.state.ridge, self.state.pending
        np.testing.assert_allclose(ridge.theta, theta, rtol=CLOSE, atol=CLOSE)
        if self.name in FADING:
            np.testing.assert_allclose(ridge.inverse @ ridge.gram @ ridge.inverse, spread, rtol=CLOSE, atol=CLOSE)
        elif self.name in RIDGES:
            found = pending.covariance if pending.counts.any() else ridge.inverse
            np.testing.assert_allclose(found, spread, rtol=CLOSE, atol=CLOSE)
        if self.name in DRAWING:
            self._assert_drawn(t, context)
        else:
            indices = self.twin.indices(t, context)
            assert indices[row] >= indices.max() - CLOSE

    def _assert_drawn(self, t: int, context: Floats) -> None:
        """A draw is linear in its normals: so many as there are features show its covariance exactly."""
        mean, covariance = self.twin.posterior(t)
        normals, draws = np.zeros((2, len(mean), len(mean)))
        for i in range(len(mean)):
            select(self.policy, self.state, t, context, at(key(2), i))
            fill_normals(normals[i], at(key(2), i))
            draws[i] = self.state.draw - mean
        root = np.linalg.solve(normals, draws)
        np.testing.assert_allclose(root.T @ root, covariance, rtol=1e-6, atol=1e-8)


def drive(pair: Beside, show: Show, fate: Fate, rounds: int = 120) -> None:
    """Lead both through the same rounds, by the policy's own choices and some others; the parameter turns."""
    luck, dim = np.random.default_rng(3), pair.twin.problem.dim
    ends: dict[int, list[tuple[Decision, float | None]]] = {}
    for t in range(rounds):
        advance(pair.policy, pair.state, t, at(key(1), t))
        context = show(luck)
        row, _ = select(pair.policy, pair.state, t, context, at(key(1), t))
        if is_compared(t):
            pair.assert_agree(t, context, row)
        row = row if luck.random() < 0.8 else int(luck.integers(len(context)))
        decision = Decision(t, row, 1.0, context[row].copy(), at(key(1), t))
        pend(pair.policy, pair.state, decision)
        pair.twin.pend(t, decision.context)
        fortune, end = luck.random(), t + int(luck.integers(fate.longest + 1))
        reward = float(decision.context @ np.cos(t / 20.0 + np.arange(dim)) + 0.3 * luck.standard_normal())
        if fortune > fate.silent:
            ends.setdefault(end, []).append((decision, None if fortune < fate.silent + fate.cancelled else reward))
        for ended, paid in ends.pop(t, []):
            pair.end(ended, paid, t)


def scenarios() -> Iterator[Any]:
    for name in LINEAR:
        sizes = [{"window": w} for w in (7, 40, 400)] if "sliding" in name else [{}]
        for parameters in [{"gamma": 0.9}, {"gamma": 1.0}] if name in FADING else sizes:
            for i, fate in enumerate(FATES):
                for j, shown in enumerate(SHOWN):
                    label = "-".join([name, *map(str, parameters.values()), fate, shown])
                    yield deep_unless((i + j) % 2 == 0, name, parameters, fate, shown, id=label)


@pytest.mark.parametrize(("name", "parameters", "fate", "shown"), [*scenarios()])
def test_policy_agrees_with_its_twin_while_rewards_are_under_way(
    name: str, parameters: dict[str, Any], fate: str, shown: str
) -> None:
    dim, show = SHOWN[shown]
    drive(Beside.of(name, dim, **parameters), show, FATES[fate])


def test_rows_that_are_arms_have_the_bonus_of_arms() -> None:
    """With n rewards and p decisions under way it is as sqrt(n) / (n + p); the ridge is a reward more."""
    pair = Beside.of("lin-ucb", 3)
    for t, (arm, paid) in enumerate([(0, True), (0, True), (0, False), (1, True), (1, False), (1, False)]):
        decision = Decision(t, arm, 1.0, np.eye(3)[arm], at(key(1), t))
        if paid:
            update(pair.policy, pair.state, decision, Outcome(0.5), t)
        else:
            pend(pair.policy, pair.state, decision)
    select(pair.policy, pair.state, 6, np.eye(3), at(key(1), 6))
    np.testing.assert_allclose(pair.state.pending.covariance, np.diag([3.0 / 16.0, 2.0 / 16.0, 1.0]), rtol=CLOSE)


@pytest.mark.parametrize("policy", [SlidingLinUCB(window=9), SlidingLinThompson(window=9)])
def test_a_restart_forgets_what_is_under_way(policy: Any) -> None:
    problem, policy = Problem(3, noise=0.3, dim=3, family="contextual"), cast(policy)
    state = policy.init(problem)
    new = clone(state)
    for t in range(5):
        pend(policy, state, Decision(t, 0, 1.0, np.ones(3), at(key(1), t)))
    assert not equal(state, new)
    restart(policy, state, 9, 9)
    assert equal(state, new)


@pytest.mark.parametrize("large", [1.0, 1e4])
def test_rows_come_and_go_without_wear(large: float) -> None:
    """Some row is always under way; what large ones brought they take away again."""
    pair, luck = Beside.of("lin-ucb", 3), np.random.default_rng(4)
    waiting: list[Decision] = []
    for t in range(3000):
        x = luck.standard_normal(3) * (large if t % 2 else 1.0)
        waiting.append(Decision(t, 0, 1.0, x, at(key(1), t)))
        pend(pair.policy, pair.state, waiting[-1])
        while len(waiting) > 40 or (t == 2999 and len(waiting) > 2):
            settle(pair.policy, pair.state, waiting.pop(int(luck.integers(len(waiting) - 1))))
    rest = sum(np.outer(each.context, each.context) for each in waiting)
    np.testing.assert_allclose(pair.state.pending.pairs, rest, rtol=1e-12)


def test_a_retired_arm_takes_what_is_under_way_with_it() -> None:
    """Arms with parameters of their own: no decision of a retired one keeps the others waiting."""
    agent = dw.Agent(LinUCB(), dw.Contextual(["a", "b", "c"], context_dim=2), seed=1)
    decisions = [agent.decide(context=[1.0, 0.5], override=(arm, 1.0)) for arm in ("a", "b", "c", "a", "b")]
    agent.retire_arm("a")
    assert agent._state.pending.counts.tolist() == [[2, 2], [1, 1]]
    for decision in decisions:
        agent.learn(decision, reward=0.5)
    assert not agent._state.pending.counts.any()
    assert not agent._state.pending.pairs.any()
