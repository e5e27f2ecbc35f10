"""What is pending counts for Kalman filters, generalised linear rewards and Gaussian processes: they agree with their
slow twins while rewards are under way, lost or cancelled.

Seeds are fixed: every test gives the same answer each time.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from driftwise.core.seeding import at, key
from driftwise.core.serialization import dump
from driftwise.core.types import Decision, Floats, Outcome, Problem
from driftwise.core.validation import cast
from driftwise.core.verbs import restart
from driftwise.families import POLICIES, SlidingGPUCB
from driftwise.families.contextual.gp_pending import MOST
from tests.fixtures.everyday import deep_unless
from tests.fixtures.twins import FEATURE_TWINS
from tests.fixtures.verbs import advance, pend, select, settle, update

CLOSE = 1e-6
DIM = 3
PROBLEM = Problem(6, -np.inf, np.inf, noise=0.3, horizon=500, dim=DIM, unit=1.0, family="contextual")
LEARNED = Problem(6, -np.inf, np.inf, horizon=500, dim=DIM, family="contextual")


class Fate(NamedTuple):
    """What becomes of decisions: rewards `longest` rounds late at most, some cancelled, some never heard of again.

    Every so often a while passes in which nothing is decided and everything under way ends.
    """

    fixed: bool = True
    longest: int = 12
    cancelled: float = 0.0
    silent: float = 0.0
    pause: int = 1000
    rounds: int = 80


class Couple(NamedTuple):
    """A policy with its state, and its twin."""

    policy: Any
    state: Any
    twin: Any

    @classmethod
    def of(cls, name: str, problem: Problem, **parameters: Any) -> "Couple":
        policy = cast(POLICIES[name](**parameters))
        return cls(policy, policy.init(problem), FEATURE_TWINS[name](policy, problem))

    def end(self, decision: Decision, reward: float | None, now: int) -> None:
        """The reward of a decision comes, or none will."""
        settle(self.policy, self.state, decision)
        self.twin.settle(decision.t)
        if reward is not None:
            update(self.policy, self.state, decision, Outcome(reward), now)
            self.twin.learn(decision.t, decision.context, reward, now)

    def assert_chosen_well(self, t: int, context: Floats) -> int:
        """No row has a better index by the twin's count; where it measures distances, the first of equals."""
        row, _ = select(self.policy, self.state, t, context, at(key(1), t))
        indices = self.twin.indices(t, context)
        assert indices[row] >= indices.max() - CLOSE * max(1.0, abs(indices.max())), t
        return int(row)


def drive(couple: Couple, fate: Fate, seed: int, often: int = 1) -> None:
    """Play the policy's own choices, now and then another, and compare it with its twin as it goes."""
    luck = np.random.default_rng(seed)
    same, theta = luck.standard_normal((6, DIM)) / 2.0, luck.standard_normal(DIM)
    ends: dict[int, list[tuple[Decision, float | None]]] = {}
    for t in range(fate.rounds):
        theta += 0.05 * luck.standard_normal(DIM)
        advance(couple.policy, couple.state, t, at(key(1), t))
        context = same if fate.fixed else luck.standard_normal((6, DIM)) / 2.0
        row = couple.assert_chosen_well(t, context) if t % often == 0 else 0
        row = row if luck.random() < 0.8 else int(luck.integers(6))
        decision = Decision(t, row, 1.0, context[row], at(key(1), t))
        pend(couple.policy, couple.state, decision)
        couple.twin.pend(t, decision.context)
        reward = float(luck.random() < 0.5 + 0.2 * context[row] @ theta)
        fortune, end = luck.random(), t + int(luck.integers(fate.longest + 1))
        if fortune >= fate.silent:
            late = min(end, t - t % fate.pause + fate.pause - 1)  # by then everything has ended
            ends.setdefault(late, []).append((decision, None if fortune < fate.silent + fate.cancelled else reward))
        for ended, paid in ends.pop(t, []):
            couple.end(ended, paid, t)


FATES = {
    "late": Fate(),
    "late and fresh": Fate(fixed=False),
    "cancelled": Fate(cancelled=0.3),
    "silent": Fate(fixed=False, silent=0.2),
    "very late": Fate(longest=60, silent=0.05),
    "in order": Fate(longest=0, pause=1),
    "with pauses": Fate(longest=9, cancelled=0.1, pause=20),
}
KINDS: dict[str, tuple[str, Problem, dict[str, Any]]] = {
    "kalman": ("kalman-mixture", PROBLEM, {"models": 4, "share": 0.05}),
    "kalman, learned units": ("kalman-mixture", LEARNED, {"models": 3, "share": 0.05}),
    "kalman, capped": ("kalman-mixture", PROBLEM, {"models": 3, "prior_sd": 0.3}),
    "kalman, nothing to set": ("filter-bank-lin-ucb", PROBLEM, {}),
    **{f"gp {window}": ("sliding-gp-ucb", PROBLEM, {"window": window, "length": 0.6}) for window in (1, 9, 200)},
    "gp of the noise": ("sliding-gp-ucb", PROBLEM, {"window": 40, "length": 0.6, "ridge": 0.0}),
    **{f"glm {window}": ("sliding-glm-ucb", PROBLEM, {"window": window, "beta_scale": 0.02}) for window in (2, 9, 200)},
    "glm logistic": (
        "sliding-glm-ucb",
        Problem(6, horizon=500, dim=DIM, family="contextual"),
        {"window": 40, "link": "logistic", "index": "mu", "beta_scale": 0.01},
    ),
}


def scenarios() -> Iterator[Any]:
    for i, kind in enumerate(KINDS):
        for j, fate in enumerate(FATES):
            yield deep_unless((i + j) % 2 == 0, kind, fate, id=f"{kind}, {fate}")


@pytest.mark.parametrize(("kind", "fate"), [*scenarios()])
def test_policy_agrees_with_its_twin_while_rewards_are_under_way(kind: str, fate: str) -> None:
    name, problem, parameters = KINDS[kind]
    drive(Couple.of(name, problem, **parameters), FATES[fate], 3 + len(fate), often=7 if "kalman" in kind else 1)


def test_kalman_filters_believe_what_their_twin_does() -> None:
    couple, luck = Couple.of("kalman-mixture", PROBLEM, models=4), np.random.default_rng(4)
    for t in range(40):
        context = luck.standard_normal((6, DIM))
        advance(couple.policy, couple.state, t, at(key(1), t))
        select(couple.policy, couple.state, t, context, at(key(1), t))
        for found, expected in zip((couple.state.mean, couple.state.covariance), couple.twin.estimate(t), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
        decision = Decision(t, 0, 1.0, context[0], at(key(1), t))
        pend(couple.policy, couple.state, decision)
        couple.twin.pend(t, context[0])
        if t % 10 >= 5:
            late = Decision(t - 5, 0, 1.0, couple.twin.pending[t - 5], at(key(1), t - 5))
            couple.end(late, float(luck.normal()), t)


def test_late_rewards_in_order_teach_filters_as_much_as_rewards_at_once() -> None:
    """While decisions wait the filters stay at the round that the next reward is news of."""
    policy, luck = cast(POLICIES["kalman-mixture"]()), np.random.default_rng(5)
    at_once, late = policy.init(PROBLEM), policy.init(PROBLEM)
    waiting: list[tuple[Decision, float]] = []
    for t in range(60):
        for state in (at_once, late):
            advance(policy, state, t, at(key(1), t))
        decision, reward = Decision(t, 0, 1.0, luck.standard_normal(DIM), at(key(1), t)), float(luck.normal())
        update(policy, at_once, decision, Outcome(reward), t)
        pend(policy, late, decision)
        waiting.append((decision, reward))
        if len(waiting) > 8 or t == 59:
            for ended, paid in waiting[: 60 if t == 59 else 1]:
                settle(policy, late, ended)
                update(policy, late, ended, Outcome(paid), t)
            del waiting[:1]
    assert dump(at_once) == dump(late)


def test_of_many_rows_under_way_a_process_counts_the_newest() -> None:
    couple, luck = Couple.of("sliding-gp-ucb", PROBLEM, window=3 * MOST, length=0.4), np.random.default_rng(6)
    rows = luck.random((MOST + 20, DIM))
    for t in range(2 * MOST + 30):
        advance(couple.policy, couple.state, t, at(key(1), t))
        if t % 10 == 0:
            couple.assert_chosen_well(t, luck.random((40, DIM)))
        decision = Decision(t, 0, 1.0, rows[t % len(rows)], at(key(1), t))
        pend(couple.policy, couple.state, decision)
        couple.twin.pend(t, decision.context)
        if t % 9 == 0:
            couple.end(decision, float(luck.normal()), t)
    assert len({x.tobytes() for x in couple.twin.under_way(t + 1).values()}) > MOST


@pytest.mark.parametrize("name", ["sliding-gp-ucb", "sliding-glm-ucb"])
def test_a_restart_forgets_what_is_under_way(name: str) -> None:
    policy = cast(POLICIES[name](window=20))
    state, luck = policy.init(PROBLEM), np.random.default_rng(7)
    empty = dump(state.pending)
    for t in range(30):
        advance(policy, state, t, at(key(1), t))
        pend(policy, state, Decision(t, 0, 1.0, luck.standard_normal(DIM), at(key(1), t)))
    assert state.pending.waiting[0] == 20
    restart(policy, state, 10, 10)
    assert dump(state.pending) == empty


def test_a_row_under_way_is_not_taken_again_while_others_are_unknown() -> None:
    """Before any reward has come the rows take turns."""
    policy = cast(SlidingGPUCB(window=50))
    state, chosen = policy.init(PROBLEM), []
    for t in range(12):
        advance(policy, state, t, at(key(1), t))
        row, _ = select(policy, state, t, 2.0 * np.eye(DIM), at(key(1), t))
        pend(policy, state, Decision(t, row, 1.0, 2.0 * np.eye(DIM)[row], at(key(1), t)))
        chosen.append(int(row))
    assert chosen == [0, 1, 2] * 4
