"""A regression per arm is the regression of one long parameter, and arms take theirs along."""

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.types import Floats
from driftwise.errors import FeatureError
from driftwise.numerics.quadratic_forms import measure_row, measure_rows, new_row_forms


def disjoint(n_arms: int, dim: int) -> dw.Agent:
    """LinUCB with a regression per arm."""
    problem = dw.Contextual([f"arm{k}" for k in range(n_arms)], context_dim=dim, reward_range=None, noise=0.1)
    return dw.Agent(dw.LinUCB(), problem, seed=1)


def one_long(n_arms: int, dim: int) -> dw.Agent:
    """The same with unit vectors for features: rows are zero but at the place of their arm."""
    rows = {f"arm{k}": row.tolist() for k, row in enumerate(np.eye(n_arms))}
    return dw.Agent(dw.LinUCB(), dw.Contextual(rows, context_dim=dim, reward_range=None, noise=0.1), seed=1)


def block(matrix: Floats, arm: int, dim: int) -> Floats:
    """What a matrix of all features holds of an arm."""
    return matrix[arm * dim : (arm + 1) * dim, arm * dim : (arm + 1) * dim]


@pytest.mark.parametrize(
    ("n_arms", "dim", "late"), [(3, 2, 0), (5, 6, 0), (4, 13, 0), (1, 3, 2), (3, 2, 4), (4, 13, 5)]
)
def test_a_regression_per_arm_chooses_like_one_long_parameter(n_arms: int, dim: int, late: int) -> None:
    """The same sums in the same order: nothing differs, also where `late` rewards are under way."""
    pair, luck = (disjoint(n_arms, dim), one_long(n_arms, dim)), np.random.default_rng(dim)
    truth = luck.normal(size=(n_arms, dim))
    waiting: list[tuple[tuple[dw.Decision, ...], float]] = []
    for _ in range(150):
        x = luck.normal(size=dim) / np.sqrt(dim)
        decisions = tuple(agent.decide(context=x) for agent in pair)
        assert decisions[0].action == decisions[1].action
        assert decisions[0].context == tuple(x)
        reward = float(truth[pair[0].arms.index(decisions[0].action)] @ x + 0.1 * luck.normal())
        waiting.append((decisions, reward))
        if len(waiting) > late:
            ended, reward = waiting.pop(int(luck.integers(len(waiting))))
            for agent, decision in zip(pair, ended, strict=True):
                agent.learn(decision, reward)
    one, other = (agent.state for agent in pair)
    for arm in range(n_arms):
        np.testing.assert_array_equal(one.ridges.gram[arm], block(other.ridge.gram, arm, dim))
        np.testing.assert_array_equal(one.ridges.inverse[arm], block(other.ridge.inverse, arm, dim))
        np.testing.assert_array_equal(one.pending.pairs[arm], block(other.pending.pairs, arm, dim))
    x = luck.normal(size=dim)
    for mine, theirs in zip(*(agent.summary(context=x) for agent in pair), strict=True):
        expected = theirs.estimate, theirs.low, theirs.high, theirs.index, theirs.count
        np.testing.assert_allclose((mine.estimate, mine.low, mine.high, mine.index, mine.count), expected, rtol=1e-9)


def test_an_arm_knows_the_least_squares_of_its_own_rewards() -> None:
    agent, luck = disjoint(3, 4), np.random.default_rng(0)
    log: list[tuple[Any, Floats, float]] = []
    for _ in range(120):
        x, reward = luck.normal(size=4), float(luck.normal())
        decision = agent.decide(context=x)
        agent.learn(decision, reward)
        log.append((decision.action, x, reward))
    for place, arm in enumerate(agent.arms):
        gram = np.eye(4) + sum(np.outer(x, x) for action, x, _ in log if action == arm)
        moment = sum((x * y for action, x, y in log if action == arm), np.zeros(4))
        np.testing.assert_allclose(agent.state.ridges.theta[place], np.linalg.solve(gram, moment), rtol=1e-10)
        np.testing.assert_allclose(agent.state.ridges.inverse[place], np.linalg.inv(gram), rtol=1e-10, atol=1e-14)


def test_arms_take_their_regressions_along() -> None:
    agent, luck = disjoint(3, 2), np.random.default_rng(1)
    for _ in range(40):
        agent.learn(agent.decide(context=luck.normal(size=2)), float(luck.normal()))
    before = agent.state.ridges
    late = agent.decide(context=[1.0, 0.5], override=("arm2", 1.0))
    agent.retire_arm("arm0")
    agent.add_arm("new")
    after = agent.state.ridges
    assert agent.problem.dim == 6
    for name in ("gram", "moment", "inverse", "theta"):
        np.testing.assert_array_equal(getattr(after, name)[:2], getattr(before, name)[1:])
    np.testing.assert_array_equal(after.gram[2], np.eye(2))
    assert agent.learn(late, 1.0) == "learned"
    np.testing.assert_array_equal(agent.state.ridges.gram[0], before.gram[1])
    np.testing.assert_allclose(agent.state.ridges.gram[1], before.gram[2] + np.outer([1.0, 0.5], [1.0, 0.5]))
    again = dw.Agent.loads(agent.dumps())
    assert again.decide(context=[0.3, 0.4]) == agent.decide(context=[0.3, 0.4])


@pytest.mark.parametrize("dim", range(1, 14))
def test_one_row_is_measured_as_many_are(dim: int) -> None:
    luck = np.random.default_rng(dim)
    root, rows, vector = luck.normal(size=(dim, dim)), luck.normal(size=(9, dim)), luck.normal(size=dim)
    matrix, forms = root @ root.T, new_row_forms(dim)
    matrix = np.tril(matrix) + np.tril(matrix, -1).T  # symmetric to the last bit
    measure_rows(forms, matrix, vector, rows, 0, 9)
    for lane, row in enumerate(rows):
        assert measure_row(matrix, vector, row, np.zeros(dim)) == (forms.means[lane], forms.squares[lane])


def test_what_cannot_be_learned_leaves_no_trace() -> None:
    agent, luck = dw.Agent(dw.LinUCB(reach=1e9), dw.Contextual(["a", "b"], context_dim=2)), np.random.default_rng(2)
    for _ in range(20):
        agent.learn(agent.decide(context=luck.normal(size=2)), 0.5)
    decision = agent.decide(context=[1e11, 1e11])
    before = agent.dumps()
    with pytest.raises(FeatureError, match="too large for the ridge"):
        agent.learn(decision, 0.5)
    assert agent.dumps() == before
    agent.cancel(decision)
    assert agent.decide(context=[0.1, 0.2]).action in agent.arms
