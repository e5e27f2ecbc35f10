"""What policies say of their arms, beside what their slow twins compute from the whole log.

The contracts hold every policy to the units of rewards (`driftwise/checks/summaries.py`); here are the numbers.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import driftwise as dw
from driftwise.checks.contract import fixtures_of
from driftwise.checks.summaries import REWARD, run_agent
from driftwise.core.seeding import at, key
from driftwise.core.summary import Summary, new_summary
from driftwise.core.types import Decision, Outcome, Problem, SlateOutcome
from driftwise.core.validation import cast
from driftwise.core.verbs import summarise
from driftwise.families import POLICIES, BanditOverBandit
from driftwise.numerics.beta_quantile import beta_quantile
from driftwise.numerics.kl import kl
from driftwise.numerics.summaries import summarise_kl_bound
from tests.fixtures.by_family import ARMED, BUDGETED, FEATURED, POINTED, SLATED
from tests.fixtures.everyday import deep_unless
from tests.fixtures.summaries import ARMS, HIGH, HORIZON, LOW, ROUNDS, Late, agree, everyday, mean, table_of
from tests.fixtures.twins import SLATE_TWINS, TWINS
from tests.fixtures.verbs import advance, pend, select, settle, update

BETA = ("thompson", "sliding-thompson", "discounted-thompson")
NORMAL = ("gaussian-thompson", "sliding-gaussian-thompson")
CHANCES = ("exp3", "exp3s", "exp3-ix", "rexp3")
UNINFORMED = {"uniform", "epsilon-greedy", "ser4", "practical-ad-switch", "bandit-over-bandit"}
INDEXED = set(ARMED) - {*BETA, *NORMAL, *CHANCES, *UNINFORMED}


# ---- arms ----


def reward_at(twin: Any, value: float) -> float:
    """The reward that the twin works with as `value`."""
    least, most = twin.place(LOW), twin.place(HIGH)
    return float(LOW + (HIGH - LOW) * (value - least) / (most - least))


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


def check_filters(twin: Any, t: int, out: Summary) -> None:
    agree(out.index, twin.indices(t))
    known = np.array([bool(arm) for arm in twin.by_arm(t)])
    bonus = 2.0 * np.sqrt(twin.var + twin.x)
    agree(out.estimate, np.where(known, twin.estimate, math.nan))
    agree(out.low, np.where(known, twin.estimate - bonus, math.nan))
    agree(out.high, np.where(known, twin.estimate + bonus, math.nan))
    assert (out.count <= [len(arm) for arm in twin.by_arm(t)]).all()
    agree(out.pending, [len(rounds) for rounds in twin.under_way(t)])


CHECKS: dict[str, Callable[[Any, int, Summary], None]] = {
    **dict.fromkeys(INDEXED, check_bounds),
    **dict.fromkeys(BETA, check_beta),
    **dict.fromkeys(NORMAL, check_normal),
    **dict.fromkeys(CHANCES, check_chances),
    "filter-bank-ucb": check_filters,
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


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_arms(name: str) -> None:
    short = {"window": 40} if name.startswith("sliding") else LIVELY.get(name, {})
    policy, problem = cast(POLICIES[name](**short)), Problem(ARMS, LOW, HIGH, horizon=HORIZON)
    state, late = policy.init(problem), Late()
    twin: Any = TWINS[name](policy, problem)
    for t in range(ROUNDS):
        own = at(key(1), t)
        advance(policy, state, t, own)
        if t % 3 == 0:
            CHECKS[name](twin, t, table_of(policy, state, t, (), ARMS))
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
        outer = table_of(policy, state, t, (), ARMS)
        inner = table_of(policy.policy, state.inner, t - int(state.start[0]), (), ARMS)
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
        out, paid = table_of(policy, state, t, (), 4), [list[float]() for _ in range(4)]
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


# ---- with every reward 5 ----


def test_every_policy_with_arms_says_something_of_them() -> None:
    assert {name for name, kind in POLICIES.items() if kind not in summarise.kernels} == {"auto", *POINTED}


# Those whose estimate is not what rewards average to: random trials of rewards, or a prior that draws them to 0.
SHRUNK = {*BETA, *FEATURED}
# Those that count less than came: discounted, forgotten with a block, or never counted.
FADED = {"discounted-thompson", "discounted-ucb", "discounted-lin-ucb", "discounted-lin-thompson"}
FADED |= {"kalman-mixture", "filter-bank-ucb", "filter-bank-lin-ucb"}


# With budgets or features the same is asked every day where all of what they say is: test_summaries_by_family.py.
@pytest.mark.parametrize(
    "name", [*everyday(*ARMED, *SLATED), *(deep_unless(False, name) for name in (*BUDGETED, *FEATURED))]
)
def test_rewards_of_five(name: str) -> None:
    """The contract lets policies be near; here is which are not exact."""
    policy = POLICIES[name]()
    fixtures = fixtures_of(policy)
    usage = [*fixtures.usages.values()][-2 if name in FEATURED else 0]  # arms with features, none like another
    agent, request, came, pends = run_agent(fixtures, usage, policy, (0.0, 10.0), lambda rng: REWARD)
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


@pytest.mark.parametrize("problem", [["red", "blue"], dw.Contextual(n_features=2)])
def test_an_agent_of_auto_is_shown_as_auto(problem: Any) -> None:
    agent = dw.Agent(dw.Auto(), problem)
    for shown in (agent, dw.Agent.loads(agent.dumps())):
        assert repr(shown).startswith(f"Agent(auto (here {agent.policy}), ")
        assert f"<b>Agent: auto (here {type(agent.policy).__name__}(" in shown._repr_html_()
    plain = dw.Agent(agent.policy, problem)
    assert repr(plain).startswith(f"Agent({agent.policy}, ")


def test_repr_is_a_short_table() -> None:
    """One line for the agent and one per arm; of many arms only those estimated best."""
    agent = dw.Agent(dw.UCB1(), ["red", "blue"], seed=1)
    agent.learn(agent.decide(), reward=0.5)
    head, columns, *rows = repr(agent).splitlines()
    assert head.startswith("Agent(UCB1(") and "arms=['red', 'blue']" in head and head.endswith("t=1, pending=0)")
    assert columns.split() == ["arm", "estimate", "count", "pending"]
    assert sorted(row.split() for row in rows) == [["blue", "-", "0", "0"], ["red", "0.5", "1", "0"]]
    crowd = repr(dw.Agent(dw.UCB1(), 1000)).splitlines()
    assert "1000 arms" in crowd[0] and len(crowd) == 11 and crowd[-1].strip() == "and 992 more arms"
    assert all(len(line) <= 120 for line in crowd)
    assert len(repr(dw.Agent(dw.LinUCB(), dw.Contextual(n_features=2))).splitlines()) == 1, "rows come with requests"
