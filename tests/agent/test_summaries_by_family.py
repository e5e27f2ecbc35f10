"""What policies with features, budgets or restless arms say of them, beside what their slow twins compute."""

import math
from typing import Any

import numpy as np
import pytest

from driftwise.core.seeding import at, key
from driftwise.core.summary import Summary
from driftwise.core.types import Decision, Floats, Outcome, Problem, Spent
from driftwise.core.validation import cast
from driftwise.core.verbs import appraise
from driftwise.families import POLICIES
from driftwise.families.knapsack.problem import Budgets
from driftwise.families.restless.policies.adaptive_whittle import WINDOWS
from driftwise.families.restless.structure import DRIFTING, KNOWN, STATIONARY
from driftwise.numerics.beta_quantile import NORMAL_95
from tests.families.knapsack.twins.budget_log import Bill
from tests.fixtures.by_family import BUDGETED, FEATURED, RESTLESS
from tests.fixtures.restless_arms import problem, walk
from tests.fixtures.summaries import ARMS, HORIZON, ROUNDS, Late, agree, everyday, table_of
from tests.fixtures.twins import BUDGET_TWINS, FEATURE_TWINS, RESTLESS_TWINS
from tests.fixtures.verbs import advance, pend, select, settle, update

DRAWN = ("lin-thompson", "sliding-lin-thompson", "discounted-lin-thompson")


# ---- rows of features ----


def rewards_worth(twin: Any, t: int, x: Floats) -> float:
    """Rewards of the row `x` that would tell as much of it as all pairs do."""
    rows, policy = twin.pairs(t)[0], twin.policy
    if hasattr(twin, "kernel"):
        across, variance = twin.kernel(x[None], rows)[0], policy.variance
        inside = np.linalg.inv(twin.kernel(rows, rows) + twin.rho() * np.eye(len(rows)))
        return float(twin.rho() * (1.0 / (variance - across @ inside @ across) - 1.0 / variance))
    ridge = 1e-6 * policy.reach**2 if hasattr(policy, "link") else policy.ridge
    weights = np.array([getattr(policy, "gamma", 1.0) ** (t - 1 - entry.t) for entry in twin.known(t)])
    gram = ridge * np.eye(len(x)) + (rows.T * weights) @ rows
    return float(1.0 / (x @ np.linalg.inv(gram) @ x) - ridge / (x @ x))


def check_rows(name: str, twin: Any, t: int, context: Floats, out: Summary) -> None:
    if name in DRAWN:
        centre, covariance = twin.posterior(t)
        spreads = np.sqrt(np.einsum("ai,ij,aj->a", context, covariance, context))
        means, reach = context @ centre, NORMAL_95 * spreads
        assert np.isnan(out.index).all()
    elif name == "sliding-glm-ucb":
        theta, longest = twin.theta(t), twin.policy.norm * twin.unit(t)
        means = context @ theta * min(1.0, longest / max(np.linalg.norm(theta), 1e-300))
        reach = twin.bounds(t, context) - means
    elif name == "sliding-gp-ucb":
        means = twin.posterior(t, context)[0]
        reach = twin.indices(t, context) - means
    elif name == "filter-bank-lin-ucb":
        bank, mean, _ = twin.beliefs_at(t)
        means = bank.first + np.array([bank.row(x) for x in context]) @ mean
        reach = bank.first + twin.indices(t, context) - means
    else:
        means = context @ twin.estimate(t)[0]
        reach = twin.indices(t, context) - means
    loose: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-6}  # theta of the GLM is found by search
    np.testing.assert_allclose(out.estimate, means, **loose)
    np.testing.assert_allclose(out.low, means - reach, **loose)
    np.testing.assert_allclose(out.high, means + reach, **loose)
    if name not in DRAWN:
        np.testing.assert_allclose(out.index, means + reach, **loose)
    if name not in ("kalman-mixture", "filter-bank-lin-ucb"):
        np.testing.assert_allclose(out.count, [rewards_worth(twin, t, x) for x in context], **loose)


@pytest.mark.parametrize("name", everyday(*FEATURED))
def test_rows(name: str) -> None:
    short = {"window": 40} if name.startswith("sliding") else {"gamma": 0.95} if "discounted" in name else {}
    policy, problem = cast(POLICIES[name](**short)), Problem(4, 0.0, 10.0, horizon=HORIZON, dim=3, family="contextual")
    state, twin, late = policy.init(problem), FEATURE_TWINS[name](policy, problem), Late()
    for t in range(80):
        own, context = at(key(1), t), late.luck.uniform(0.1, 0.8, (4, 3))
        advance(policy, state, t, own)
        if t % 7 == 6:
            check_rows(name, twin, t, context, table_of(policy, state, t, context, 4))
        row = int(late.luck.integers(4))
        decision = Decision(t, row, 0.25, context[row].copy(), own)
        pend(policy, state, decision)
        twin.pend(t, decision.context)
        for ended, noise in late.after(t, decision, late.luck.uniform(0.0, 4.0)):
            reward = float(ended.context @ [2.0, 3.0, 1.0] + noise)
            settle(policy, state, ended)
            twin.settle(ended.t)
            update(policy, state, ended, Outcome(reward), t)
            twin.learn(ended.t, ended.context, reward, t)


# ---- budgets ----


def bills_of(name: str, twin: Any, t: int, arm: int) -> tuple[list[Bill], list[Bill]]:
    """What the mean reward and the mean cost of an arm rest on."""
    if name == "sliding-knapsack-ucb":
        rewards, costs = (twin.within(t, window) for window in twin.windows())
        return rewards, costs
    if name == "prequential-pacing":
        seen = twin.seen(twin.sizes()[twin.used(t)[arm]], t, twin.counted(t))
        return seen, seen
    return twin.known(t), twin.known(t)


def worths_of(name: str, twin: Any, t: int, rates: Floats, prices: Floats) -> Floats:
    """What arms are ranked by, the largest reward counting as 1."""
    if name == "lagrange-bwk":
        return np.array(twin.chances(t)[:ARMS])
    if name == "prequential-pacing":
        return np.array(twin.gains(t, rates))
    if name in ("greedy-ratio", "primal-dual-bwk"):
        return np.array(twin.ratios(t, rates))
    program = twin.program(t, rates)
    return np.array(program.upper - prices @ program.lower)


@pytest.mark.parametrize("name", everyday(*BUDGETED))
def test_arms_with_budgets(name: str) -> None:
    structure = Budgets(HORIZON * np.array([0.3, 0.5]))
    problem = Problem(ARMS, 0.0, 10.0, horizon=HORIZON, structure=structure, family="knapsack")
    policy = cast(POLICIES[name](**({"window": 40, "cost_window": 70} if name.startswith("sliding") else {})))
    state, twin, late = policy.init(problem), BUDGET_TWINS[name](policy, problem), Late()
    for t in range(ROUNDS):
        own, rates = at(key(1), t), late.luck.uniform(0.05, 0.6, 2)
        advance(policy, state, t, own)
        if t % 10 == 9:
            out, prices = table_of(policy, state, t, rates, ARMS, 2), np.zeros(2)
            appraise(policy, state, t, rates, prices)
            unit = 1.0 if name == "lagrange-bwk" else 10.0
            agree(out.index, unit * worths_of(name, twin, t, rates, prices / 10.0))
            for arm in range(ARMS if name != "lagrange-bwk" else 0):
                rewards, costs = bills_of(name, twin, t, arm)
                count, total, _ = twin.of_arm(arm, rewards)
                times, _, spent = twin.of_arm(arm, costs)
                agree(out.count[arm], count)
                agree(out.estimate[arm], 10.0 * total / count if count else math.nan)
                agree(out.costs[arm], spent / times if times else [math.nan] * 2)
                assert not count or 0.0 <= out.low[arm] <= out.estimate[arm] <= out.high[arm] <= 10.0
        arm, propensity = select(policy, state, t, rates, own)
        draws = late.luck.random(3) if arm >= 0 else np.zeros(3)
        decision = Decision(t, arm, propensity, rates, own)
        for ended, reward, costs in late.after(t, decision, float(10.0 * draws[0]), draws[1:]):
            update(policy, state, ended, Spent(reward, costs), t)
            shown = tuple(ended.context.tolist())
            bill = Bill(
                ended.t, ended.action, reward, tuple(costs.tolist()), t, shown, ended.propensity, int(ended.rng)
            )
            twin.learn(bill)


# ---- arms that move ----


def seen_by(name: str, twin: Any, t: int, arm: int, here: int) -> float:
    """Transitions of an arm, or of its class, from a state."""
    passages, classes = twin.passages(t), twin.structure.classes
    if name in ("random-arms", "round-robin"):
        return float(sum(each.arm == arm and each.action for each in passages))
    if name == "wiql":
        return float(sum(each.arm == arm and each.state == here for each in passages))
    if name == "myopic":
        kinds = twin.structure.kinds[classes[arm]]
        kin = [each for each in passages if classes[each.arm] == classes[arm] and each.state == here]
        left = {KNOWN: 0.0, STATIONARY: 1.0, DRIFTING: twin.policy.fade}
        return math.fsum(left[int(kinds[each.action, here])] ** (t - each.t) for each in kin)
    window = max(WINDOWS) if name == "adaptive-whittle" else getattr(twin.policy, "window", 0)
    group = twin.groups[arm]
    lately, ongoing = twin.lately(t, group, window), twin.ongoing(t, group, t // twin.period)
    return float((lately + ongoing)[:, here].sum())


@pytest.mark.parametrize("name", everyday(*RESTLESS))
def test_arms_that_move(name: str) -> None:
    kind = POLICIES[name]
    policy = cast(kind(**({"window": 2} if "window" in kind._fields else {})))
    asked = problem(episode=7)
    state, late = policy.init(asked), Late()
    twin: Any = RESTLESS_TWINS[name](policy, asked)
    twin.rng, size = key(1), asked.n_arms
    for t in range(80):
        own, states = at(key(1), t), late.luck.integers(3, size=size)
        advance(policy, state, t, own)
        if t % 9 == 8:
            out, indices = table_of(policy, state, t, states, size), twin.indices(t, states)
            agree(out.index, [math.nan] * size if indices is None else indices)
            agree(out.count, [seen_by(name, twin, t, arm, states[arm]) for arm in range(size)])
            if name == "myopic":
                agree(
                    out.estimate, [twin.mean(t, c, 1, s) for c, s in zip(asked.structure.classes, states, strict=True)]
                )
        decision = Decision(t, select(policy, state, t, states, own)[0].copy(), 1.0, states, own)
        for ended, outcome in late.after(t, decision, walk(late.luck, asked, states)):
            update(policy, state, ended, outcome, t)
            twin.learn(ended.t, ended.context, ended.action, outcome, t)
