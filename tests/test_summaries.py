"""What policies say of their arms, beside what their slow twins compute from the whole log.

The contracts hold every policy to the units of rewards (`driftwise/checks/summaries.py`); here are the numbers.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from driftwise.checks.fixtures import ground_of
from driftwise.checks.summaries import REWARD, lived
from driftwise.core.seeding import at, key
from driftwise.core.summary import Summary, new_summary
from driftwise.core.types import Decision, Floats, Outcome, Problem, SlateOutcome, Spent
from driftwise.core.validation import cast
from driftwise.core.verbs import advance, appraise, pend, select, settle, summarise, update
from driftwise.families import POLICIES, BanditOverBandit
from driftwise.families.knapsack.problem import Budgets
from driftwise.families.restless.policies.adaptive_whittle import WINDOWS
from driftwise.families.restless.problem import DRIFTING, KNOWN, STATIONARY
from driftwise.numerics.beta_quantile import NORMAL_95, beta_quantile
from driftwise.numerics.kl import kl
from driftwise.numerics.summaries import summarise_kl_bound
from tests.families import ARMED, BUDGETED, FEATURED, POINTED, RESTLESS, SLATED
from tests.herds import problem, walk
from tests.reference import BUDGET_TWINS, FEATURE_TWINS, RESTLESS_TWINS, SLATE_TWINS, TWINS
from tests.reference.budget_log import Bill

CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
LOW, HIGH, ARMS, HORIZON, ROUNDS, LATE = -2.0, 8.0, 3, 300, 150, 9
BETA = ("thompson", "sliding-thompson", "discounted-thompson")
NORMAL = ("gaussian-thompson", "sliding-gaussian-thompson")
CHANCES = ("exp3", "exp3s", "exp3-ix", "rexp3")
DRAWN = ("lin-thompson", "sliding-lin-thompson", "discounted-lin-thompson")
UNINFORMED = {"uniform", "epsilon-greedy", "ser4", "practical-ad-switch", "bandit-over-bandit"}
INDEXED = set(ARMED) - {*BETA, *NORMAL, *CHANCES, *UNINFORMED}


def told(policy: Any, state: Any, t: int, context: Any, n_rows: int, n_resources: int = 0) -> Summary:
    out = new_summary(n_rows, n_resources)
    summarise(policy, state, t, context, out)
    return out


def agree(found: Floats, expected: Any) -> None:
    np.testing.assert_allclose(found, np.asarray(expected, float), **CLOSE)


def mean(rewards: Any) -> float:
    return math.fsum(rewards) / len(rewards) if len(rewards) else math.nan


class Late:
    """Outcomes up to `LATE` rounds late, one in ten never."""

    def __init__(self) -> None:
        self.luck, self.due = np.random.default_rng(4), dict[int, list[Any]]()

    def after(self, t: int, *sent: Any) -> list[Any]:
        """Send something off in round `t`; what arrives in it."""
        if self.luck.random() < 0.9:
            self.due.setdefault(t + int(self.luck.integers(LATE)), []).append(sent)
        return self.due.pop(t, [])


# ---- arms ----


def reward_at(twin: Any, value: float) -> float:
    """The reward that the twin works with as `value`."""
    least, most = twin.place(LOW), twin.place(HIGH)
    return LOW + (HIGH - LOW) * (value - least) / (most - least)


def check_bounds(twin: Any, t: int, out: Summary) -> None:
    weighed = twin.weighed(t)
    counts = [math.fsum(weight for weight, _ in arm) for arm in weighed]
    sums = [math.fsum(weight * value for weight, value in arm) for arm in weighed]
    indices = twin.indices(t)
    if (indices == 0.0).sum() != ARMS - 1:  # else the round belongs to an arm, whatever the indices
        agree(out.index, [reward_at(twin, index) for index in indices])
    agree(out.count, counts)
    means = [total / n if n else math.nan for total, n in zip(sums, counts, strict=True)]
    agree(out.estimate, [reward_at(twin, each) for each in means])
    agree(out.high, np.where(np.isnan(out.estimate), math.nan, out.index))
    assert ((out.low <= out.estimate) | np.isnan(out.estimate)).all()
    starts = twin.read(t).starts if hasattr(twin, "read") else [0] * ARMS
    agree(
        out.pending, [sum(s >= start for s in rounds) for rounds, start in zip(twin.under_way(t), starts, strict=True)]
    )


def check_beta(twin: Any, t: int, out: Summary) -> None:
    law = stats.beta(*twin.posteriors(t).T)
    agree(out.estimate, LOW + (HIGH - LOW) * law.mean())
    agree(out.low, LOW + (HIGH - LOW) * law.ppf(0.025))
    agree(out.high, LOW + (HIGH - LOW) * law.ppf(0.975))
    agree(out.count, twin.posteriors(t).sum(axis=1) - 2.0)


def check_normal(twin: Any, t: int, out: Summary) -> None:
    law = stats.norm(*twin.posteriors(t).T)
    agree(out.estimate, law.mean())
    agree(out.low, law.ppf(0.025))
    agree(out.high, law.ppf(0.975))
    agree(out.count, [len(arm) for arm in twin.by_arm(t)])


def check_chances(twin: Any, t: int, out: Summary) -> None:
    agree(out.index, twin.probabilities(t))
    assert np.isnan([out.estimate, out.low, out.high, out.count, out.pending]).all()


def check_uniform(twin: Any, t: int, out: Summary) -> None:
    agree(out.index, twin.win_probabilities(t))
    agree(out.count, [len(arm) for arm in twin.by_arm(t)])


def check_values(twin: Any, t: int, out: Summary) -> None:
    values = np.where(np.isneginf(twin.values(t)), -np.inf, twin.values(t))
    agree(out.index, values)
    agree(out.estimate, np.where(np.isinf(values), np.nan, values))
    agree(out.pending, [len(rounds) for rounds in twin.under_way(t)])


def check_passes(twin: Any, t: int, out: Summary) -> None:
    rewards = twin.since(twin.standing(t).episodes[-1], t)
    agree(out.count, [len(arm) for arm in rewards])
    agree(out.estimate, [LOW + (HIGH - LOW) * mean(arm) for arm in rewards])
    for k, arm in enumerate(rewards):
        if arm:  # two arms with as many rewards are told apart where their intervals part
            inside = math.log(4.0 * ARMS * HORIZON * len(arm) ** 2) / len(arm)
            assert out.high[k] - out.low[k] == pytest.approx((HIGH - LOW) * twin.policy.scale * math.sqrt(inside))


def check_episodes(twin: Any, t: int, out: Summary) -> None:
    rewards = [[reward for _, reward in facts] for facts in twin.episode.facts]
    agree(out.count, [len(arm) for arm in rewards])
    agree(out.estimate, [LOW + (HIGH - LOW) * mean(arm) for arm in rewards])
    radii = [math.sqrt(twin.policy.width * math.log(HORIZON) / max(1, len(arm))) for arm in rewards]
    agree(out.high - out.estimate, np.where(np.isnan(out.estimate), math.nan, (HIGH - LOW) * np.array(radii)))


CHECKS: dict[str, Callable[[Any, int, Summary], None]] = {
    **dict.fromkeys(INDEXED, check_bounds),
    **dict.fromkeys(BETA, check_beta),
    **dict.fromkeys(NORMAL, check_normal),
    **dict.fromkeys(CHANCES, check_chances),
    "uniform": check_uniform,
    "epsilon-greedy": check_values,
    "ser4": check_passes,
    "practical-ad-switch": check_episodes,
}
LIVELY: dict[str, dict[str, Any]] = {  # restarts, batches and passes within the rounds played
    "cusum-ucb": {"warmup": 5, "h": 2.0},
    "page-hinkley-ucb": {"warmup": 5, "h": 2.0},
    "m-ucb": {"window": 20, "b": 3.0},
    "rexp3": {"batch": 40},
    "ser4": {"reset": 0.05},
}


@pytest.mark.parametrize("name", CHECKS)
def test_arms(name: str) -> None:
    short = {"window": 40} if name.startswith("sliding") else LIVELY.get(name, {})
    policy, problem = cast(POLICIES[name](**short)), Problem(ARMS, LOW, HIGH, horizon=HORIZON)
    state, twin, late = policy.init(problem), TWINS[name](policy, problem), Late()
    for t in range(ROUNDS):
        own = at(key(1), t)
        advance(policy, state, t, own)
        if t % 3 == 0:
            CHECKS[name](twin, t, told(policy, state, t, (), ARMS))
        arm, propensity = select(policy, state, t, (), own)
        decision = Decision(t, arm, propensity, (), own)
        if name == "practical-ad-switch":
            twin.play(t, arm)
        pend(policy, state, decision)
        twin.pend(t, arm)
        pays = LOW + (HIGH - LOW) * late.luck.beta(1 + arm, 3 - arm if t < 80 else 1)
        for ended, reward in late.after(t, decision, float(pays)):
            settle(policy, state, ended)
            twin.settle(ended.t, t)
            update(policy, state, ended, Outcome(reward), t)
            twin.learn(ended.t, ended.action, reward, t, int(ended.rng))
    assert len(twin.log) > 100


def test_a_policy_over_a_policy_says_what_that_says() -> None:
    policy = cast(BanditOverBandit(block=30))
    state, luck = policy.init(Problem(ARMS, LOW, HIGH, horizon=HORIZON)), np.random.default_rng(1)
    for t in range(100):
        own = at(key(1), t)
        advance(policy, state, t, own)
        outer = told(policy, state, t, (), ARMS)
        inner = told(policy.policy, state.inner, t - int(state.start[0]), (), ARMS)
        for one, other in zip(outer, inner, strict=True):
            np.testing.assert_array_equal(one, other)
        arm, propensity = select(policy, state, t, (), own)
        update(policy, state, Decision(t, arm, propensity, (), own), Outcome(luck.uniform(LOW, HIGH)), t)
    assert state.start[0] == 90


@pytest.mark.parametrize("name", SLATED)
def test_items(name: str) -> None:
    policy, problem = cast(POLICIES[name](window=40)), Problem(4, LOW, HIGH, horizon=HORIZON, slate=2, family="slate")
    state, twin, late = policy.init(problem), SLATE_TWINS[name](policy, problem), Late()
    for t in range(ROUNDS):
        own = at(key(1), t)
        advance(policy, state, t, own)
        out, paid = told(policy, state, t, (), 4), [list[float]() for _ in range(4)]
        for entry in twin.known(t):
            for item, reward in zip(entry.slate, entry.rewards, strict=True):
                paid[item].append(reward)
        agree(out.index, twin.indices(t))
        agree(out.estimate, [mean(each) for each in paid])
        agree(out.count, [len(each) for each in paid])
        agree(out.pending, twin.under_way(t))
        slate, propensity = select(policy, state, t, (), own)
        decision = Decision(t, slate.copy(), propensity, (), own)
        pend(policy, state, decision)
        twin.pend(t, slate)
        for ended, items in late.after(t, decision, late.luck.uniform(LOW, HIGH, 2)):
            settle(policy, state, ended)
            twin.settle(ended.t, t)
            update(policy, state, ended, SlateOutcome(items.sum(), items), t)
            twin.learn(ended.t, ended.action, items, t)


# ---- rows of features ----


def learned(twin: Any, t: int, x: Floats) -> float:
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
    else:
        means = context @ twin.estimate(t)[0]
        reach = twin.indices(t, context) - means
    loose: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-6}  # theta of the GLM is found by search
    np.testing.assert_allclose(out.estimate, means, **loose)
    np.testing.assert_allclose(out.low, means - reach, **loose)
    np.testing.assert_allclose(out.high, means + reach, **loose)
    if name not in DRAWN:
        np.testing.assert_allclose(out.index, means + reach, **loose)
    if name != "kalman-mixture":
        np.testing.assert_allclose(out.count, [learned(twin, t, x) for x in context], **loose)


@pytest.mark.parametrize("name", FEATURED)
def test_rows(name: str) -> None:
    short = {"window": 40} if name.startswith("sliding") else {"gamma": 0.95} if "discounted" in name else {}
    policy, problem = cast(POLICIES[name](**short)), Problem(4, 0.0, 10.0, horizon=HORIZON, dim=3, family="contextual")
    state, twin, late = policy.init(problem), FEATURE_TWINS[name](policy, problem), Late()
    for t in range(80):
        own, context = at(key(1), t), late.luck.uniform(0.1, 0.8, (4, 3))
        advance(policy, state, t, own)
        if t % 7 == 6:
            check_rows(name, twin, t, context, told(policy, state, t, context, 4))
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
        return np.array(twin.gains(t))
    if name in ("greedy-ratio", "primal-dual-bwk"):
        return np.array(twin.ratios(t, rates))
    program = twin.program(t, rates)
    return np.array(program.upper - prices @ program.lower)


@pytest.mark.parametrize("name", BUDGETED)
def test_arms_with_budgets(name: str) -> None:
    structure = Budgets(HORIZON * np.array([0.3, 0.5]))
    problem = Problem(ARMS, 0.0, 10.0, horizon=HORIZON, structure=structure, family="knapsack")
    policy = cast(POLICIES[name](**({"window": 40, "cost_window": 70} if name.startswith("sliding") else {})))
    state, twin, late = policy.init(problem), BUDGET_TWINS[name](policy, problem), Late()
    for t in range(ROUNDS):
        own, rates = at(key(1), t), late.luck.uniform(0.05, 0.6, 2)
        advance(policy, state, t, own)
        if t % 10 == 9:
            out, prices = told(policy, state, t, rates, ARMS, 2), np.zeros(2)
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
        return sum(each.arm == arm and each.action for each in passages)
    if name == "wiql":
        return sum(each.arm == arm and each.state == here for each in passages)
    if name == "myopic":
        kinds = twin.structure.kinds[classes[arm]]
        kin = [each for each in passages if classes[each.arm] == classes[arm] and each.state == here]
        weights = {KNOWN: lambda age: 0.0, STATIONARY: lambda age: 1.0, DRIFTING: lambda age: twin.policy.fade**age}
        return math.fsum(weights[int(kinds[each.action, here])](t - each.t) for each in kin)
    window = max(WINDOWS) if name == "adaptive-whittle" else getattr(twin.policy, "window", 0)
    group = twin.groups[arm]
    lately, ongoing = twin.lately(t, group, window), twin.ongoing(t, group, t // twin.period)
    return float((lately + ongoing)[:, here].sum())


@pytest.mark.parametrize("name", RESTLESS)
def test_arms_that_move(name: str) -> None:
    kind = POLICIES[name]
    policy = cast(kind(**({"window": 2} if "window" in kind._fields else {})))
    asked = problem(episode=7)
    state, twin, late = policy.init(asked), RESTLESS_TWINS[name](policy, asked), Late()
    twin.rng, size = key(1), asked.n_arms
    for t in range(80):
        own, states = at(key(1), t), late.luck.integers(3, size=size)
        advance(policy, state, t, own)
        if t % 9 == 8:
            out, indices = told(policy, state, t, states, size), twin.indices(t, states)
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


# ---- with every reward 5 ----


def test_every_policy_with_arms_says_something_of_them() -> None:
    assert {name for name, kind in POLICIES.items() if kind not in summarise.kernels} == set(POINTED)


# Those whose estimate is not what rewards average to: random trials of rewards, or a prior that draws them to 0.
SHRUNK = {*BETA, *FEATURED}
# Those that count less than came: discounted, forgotten with a block, or never counted.
FADED = {"discounted-thompson", "discounted-ucb", "discounted-lin-ucb", "discounted-lin-thompson", "kalman-mixture"}


@pytest.mark.parametrize("name", [*ARMED, *SLATED, *BUDGETED, *FEATURED])
def test_rewards_of_five(name: str) -> None:
    """The contract lets policies be near; here is which are not exact."""
    policy = POLICIES[name]()
    ground = ground_of(policy)
    way = [*ground.ways.values()][-2 if name in FEATURED else 0]  # arms with features, none like another
    agent, request, came, pends = lived(ground, way, policy, {"reward_range": (0.0, 10.0)}, lambda luck: REWARD)
    for each in agent.summary(**request):
        if each.estimate is not None and came[each.arm] and name not in SHRUNK:
            assert each.estimate == pytest.approx(REWARD, rel=1e-12)
        if each.count is not None and name not in FADED | {"bandit-over-bandit"}:
            assert each.count == pytest.approx(came[each.arm], rel=1e-6)
        if name != "bandit-over-bandit":
            assert each.pending == pends[each.arm]


# ---- the mathematics ----


@pytest.mark.parametrize("a", [0.5, 1.0, 1.5, 7.0, 300.0, 2e5])
@pytest.mark.parametrize("b", [0.5, 1.0, 4.0, 40.0, 1e4])
def test_quantiles_are_those_of_scipy(a: float, b: float) -> None:
    for share in (0.025, 0.5, 0.975):
        assert beta_quantile(a, b, share) == pytest.approx(float(stats.beta.ppf(share, a, b)), rel=1e-8)


@pytest.mark.parametrize("total", [0.0, 1.5, 6.0, 10.0])
def test_both_ends_of_a_divergence_interval_are_at_the_level(total: float) -> None:
    out, level = new_summary(1), 1.7
    summarise_kl_bound(out, 0, 10, total, 10.0, total, level, 0.0, 1.0)
    assert out.estimate[0] == total / 10 and out.index[0] == out.high[0]
    for end, limit in ((out.low[0], 0.0), (out.high[0], 1.0)):
        assert end == limit == total / 10 or 10.0 * kl(total / 10, end) == pytest.approx(level)
