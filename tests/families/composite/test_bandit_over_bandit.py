"""Bandit-over-Bandit and what it stands on: windows that can be restarted, SW-UCB for arms, windows hedged in blocks.

Against slow twins that replay every block from the log, by hand, and at the edges. Nothing here is left to chance.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from driftwise.agent import Agent
from driftwise.checks.arms import names_do_not_matter
from driftwise.checks.contract import fixtures_in, fixtures_of, short_run
from driftwise.cli import main
from driftwise.core.family import family_of, trace_for
from driftwise.core.fixtures import HORIZON, ROUNDS, Fixtures
from driftwise.core.seeding import at, key
from driftwise.core.serialization import arrays, clone, equal
from driftwise.core.spec import describe, parse
from driftwise.core.types import Decision, Floats, Outcome, Problem, SlateOutcome
from driftwise.core.validation import cast
from driftwise.core.verbs import VERBS
from driftwise.errors import ParameterError
from driftwise.families import (
    POLICIES,
    Abrupt,
    BanditOverBandit,
    MultiArmed,
    SlidingArmedUCB,
    SlidingLinUCB,
    SlidingSlateUCB,
    SlidingThompson,
    SlidingUCB,
    Uniform,
)
from driftwise.families.composite.hedge import new_hedge, plan
from driftwise.families.composite.policies.bandit_over_bandit import FIRST, LONGEST
from driftwise.study.study import Study
from tests.families.composite.twins.bandit_over_bandit import BanditOverBanditTwin
from tests.fixtures.everyday import is_compared, latin
from tests.fixtures.twins import TWINS
from tests.fixtures.verbs import advance, play, restart, select, update

CLOSE = 1e-9
ROOM = 61  # does not divide ROUNDS: restarts come in the middle of a pass through the ring
LEFT_OVER = ("stale", "repairs", "rows")  # counters, which go on, and rows that are no longer in use
# With budgets, a place in the ring follows from the room there is, and after a restart memory says how long views are.
RING = ("window.arms", "window.rewards", "window.costs", "window.sizes", "window.memory")
RESTARTED = [name for name, kind in POLICIES.items() if kind in VERBS["restart"].kernels]
# Compared with their twins after a restart by tests of their own; to play them here takes long to compile.
TWINNED = ("sliding-lin-thompson", "sliding-glm-ucb", "sliding-gp-ucb")
BELL: dict[str, Any] = {"low": -math.inf, "high": math.inf, "noise": 0.3, "unit": 1.0}
LINEAR = Problem(5, **BELL, dim=2, horizon=150, family="contextual")


# ---- a policy started over ----


@pytest.mark.parametrize("window", [1, 7, ROOM])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.deep) if name in TWINNED else name for name in RESTARTED]
)
def test_a_restarted_policy_is_as_new(name: str, window: int) -> None:
    """Bit for bit, with a window within the room it has; the policy itself still has the window it was made with."""
    policy = cast(POLICIES[name](window=ROOM))
    fixtures = fixtures_of(policy)
    fresh = cast(policy._replace(window=window))
    assert_same(fixtures, policy, restarted(policy, short_run(policy, fixtures=fixtures)[0], window, window), fresh)
    new = restarted(policy, policy.init(fixtures.problem), ROOM, window)  # a memory that is longer than the window
    assert_same(fixtures, policy, restarted(policy, short_run(policy, fixtures=fixtures)[0], ROOM, window), policy, new)


@pytest.mark.parametrize("name", ["sliding-ucb", "sliding-kl-ucb"])
def test_a_restarted_policy_is_as_new_with_so_many_arms_that_it_keeps_a_tree(name: str) -> None:
    policy, fixtures = cast(POLICIES[name](window=151)), fixtures_in(Abrupt(n_arms=120, phases=3))
    new = restarted(policy, policy.init(fixtures.problem), 151, 50)
    assert_same(fixtures, policy, restarted(policy, short_run(policy, fixtures=fixtures)[0], 151, 50), policy, new)


def restarted(policy: Any, state: Any, memory: int, window: int) -> Any:
    restart(policy, state, memory, window)
    return state


def assert_same(fixtures: Fixtures, policy: Any, state: Any, other: Any, another: Any = None) -> None:
    """One policy goes on from a state as the other does from its first, or from another."""
    tape, _ = fixtures.world.draw(ROUNDS, seed=8)
    wanted = other.init(fixtures.problem) if another is None else another
    traces = []
    for who, has in ((policy, state), (other, wanted)):
        traces.append(trace_for(fixtures.problem, 0, ROUNDS))
        play(who, has, tape, fixtures.world.nature(ROUNDS), key(9), traces[-1], ROUNDS)
    np.testing.assert_array_equal(traces[0].actions, traces[1].actions)
    for (path, now), (_, then) in zip(arrays(state), arrays(wanted), strict=True):
        placed = fixtures.has_costs and path in RING
        if path.split(".")[-1] not in LEFT_OVER and not placed:
            within = tuple(slice(size) for size in then.shape)  # it may have more room than it uses
            np.testing.assert_array_equal(now[within], then, err_msg=path)


def test_every_family_of_sliding_policies_can_be_restarted() -> None:
    """But moving arms: their states go on whoever chooses, so that blocks would not be paid for what they chose."""
    slides = [name for name, kind in POLICIES.items() if "window" in kind._fields and name != "m-ucb"]
    assert [name for name in slides if family_of(POLICIES[name]()) != "restless"] == RESTARTED


@pytest.mark.parametrize("name", ["sliding-ucb", "sliding-kl-ucb", "sliding-lin-ucb"])
def test_a_longer_memory_leaves_the_bonus_as_it_is(name: str) -> None:
    """While nothing would have been forgotten, only the window sizes the bound, not the memory."""
    policy = cast(POLICIES[name](window=60))
    fixtures = fixtures_of(policy)
    tape, nature = fixtures.world.draw(ROUNDS, seed=8)
    traces = []
    for memory, window in ((9, 9), (60, 9), (60, 60)):
        state, trace = policy.init(fixtures.problem), trace_for(fixtures.problem, 0, 9)
        restart(policy, state, memory, window)
        play(policy, state, tape, nature, key(1), trace, 9)
        traces.append((trace.actions.tolist(), state))
    assert traces[0][0] == traces[1][0]
    bound = {"sliding-ucb": "reach", "sliding-kl-ucb": "level", "sliding-lin-ucb": "doubt"}[name]
    small, literal, large = (float(getattr(state, bound)[0]) for _, state in traces)
    assert small == literal < large
    assert traces[1][1].window.size[0] == 60


# ---- SW-UCB for arms ----


def test_the_windows_of_theorem_6() -> None:
    assert SlidingArmedUCB.theorem6(horizon=100_000, n_arms=2).window == math.floor(2 ** (1 / 3) * 1e5 ** (2 / 3))
    assert SlidingArmedUCB.theorem6(horizon=100_000, n_arms=2, variation=43.0).window == 221
    assert SlidingArmedUCB.theorem6(horizon=1000, n_arms=8).window == 200  # exactly, not a rounding error below
    assert SlidingArmedUCB.theorem6(horizon=1000, n_arms=8, variation=0.0).window == 1000
    assert SlidingArmedUCB.theorem6(horizon=1000, n_arms=8, variation=1e9).window == 1


@pytest.mark.parametrize("horizon", [0, 40, 200])
@pytest.mark.parametrize("problem", [Problem(3), Problem(4, **BELL), Problem(3, -1.0, 3.0)])
@pytest.mark.parametrize("arrivals", ["immediate", "shuffled", "duplicated"])
def test_sw_ucb_for_arms_agrees_with_its_twin(problem: Problem, horizon: int, arrivals: str) -> None:
    pair = Beside.of(SlidingArmedUCB(window=13, scale=0.7), problem._replace(horizon=horizon))
    drive(pair, 90, arrivals, seed=horizon)
    np.testing.assert_array_equal(pair.state.window.stale, pair.twin.stale())


# ---- the plan ----


class Planned(NamedTuple):
    """What the specification gives for a problem."""

    problem: Problem
    policy: Any
    block: int
    windows: list[int]
    gamma: float
    blocks: int


PLANS = [
    Planned(Problem(2), SlidingUCB(), 447, [1, 2, 5, 13, 32, 78, 186, 447], 0.208, 224),
    Planned(
        Problem(40, **BELL, dim=5, family="contextual"),
        SlidingLinUCB(),
        1581,
        [1, 2, 6, 15, 39, 99, 250, 629, 1581],
        0.424,
        64,
    ),
]


@pytest.mark.parametrize("planned", PLANS, ids=["two arms", "five features"])
def test_the_numbers_of_the_specification(planned: Planned) -> None:
    state = BanditOverBandit(policy=planned.policy).init(planned.problem._replace(horizon=100_000))
    assert state.hedge.block[0] == planned.block
    assert state.hedge.windows.tolist() == planned.windows
    assert state.hedge.rate[0] == pytest.approx(planned.gamma, abs=5e-4)
    assert math.ceil(100_000 / planned.block) == planned.blocks


def test_plans_agree_with_the_twin_for_any_horizon() -> None:
    for horizon in (1, 2, 3, 4, 5, 7, 10, 100, 999, 12_345, 10**6):
        for n_arms, shortest in ((1, 1), (2, 1), (3, 8), (50, 10**6)):
            policy, problem = BanditOverBandit(shortest=shortest), Problem(n_arms, horizon=horizon)
            state, twin = policy.init(problem), BanditOverBanditTwin(policy, problem)
            block = twin.block_rounds(horizon)
            windows = twin.windows(block)
            assert (state.hedge.block[0], state.hedge.used[0]) == (block, len(windows))
            assert state.hedge.windows[: len(windows)].tolist() == windows
            assert windows[-1] == block
            assert len(state.inner.window.arms) == len(state.answered) == block <= horizon


def test_short_windows_can_be_left_out() -> None:
    hedge = new_hedge(447)
    plan(hedge, 447, 100_000, 16)
    assert hedge.windows.tolist() == [32, 78, 186, 447, 0, 0, 0, 0]
    gamma = math.sqrt(4 * math.log(4) / ((math.e - 1) * 224))
    assert (hedge.used[0], hedge.rate[0]) == (4, pytest.approx(gamma))


def test_memory_follows_the_horizon_and_is_bounded_without_one() -> None:
    known = BanditOverBandit(block=37).init(Problem(3, horizon=HORIZON))
    assert len(known.answered) == len(known.inner.window.arms) == 37
    unknown = BanditOverBandit().init(Problem(3))
    assert (unknown.hedge.rounds[0], unknown.until[0]) == (FIRST, FIRST)
    assert len(unknown.inner.window.arms) == math.isqrt(3 * LONGEST)
    assert BanditOverBandit(block=5000).init(Problem(3)).until[0] == 5000


# ---- beside the twin ----


class Beside(NamedTuple):
    """A policy with its state, its twin, and what it is shown."""

    policy: Any
    state: Any
    twin: Any
    problem: Problem

    @classmethod
    def of(cls, policy: Any, problem: Problem) -> "Beside":
        policy = cast(policy)
        name = next(name for name, kind in POLICIES.items() if kind is type(policy))
        return cls(policy, policy.init(problem), TWINS[name](policy, problem), problem)

    def shown(self, luck: np.random.Generator) -> Any:
        return luck.normal(size=(self.problem.n_arms, self.problem.dim)) if self.problem.dim else ()


def delays(arrivals: str, luck: np.random.Generator) -> list[int]:
    late = [int(delay) for delay in luck.integers(0, 30, size=2)]
    lost = luck.random() < 0.4
    return {"immediate": [0], "shuffled": late[:1], "lost": [] if lost else late[:1], "duplicated": late}[arrivals]


def reward_of(problem: Problem, luck: np.random.Generator) -> float:
    return float(luck.uniform(problem.low, problem.high) if problem.bounded else luck.normal(0.2, 1.0))


def drive(pair: Beside, rounds: int, arrivals: str, seed: int, *, every: int = 0) -> list[int]:
    """Lead both through the policy's own choices and compare them, at every `every`-th if given. The windows drawn."""
    rng, luck = key(seed, "blocks"), np.random.default_rng(seed)
    due: dict[int, list[tuple[Decision, float]]] = {}
    drawn = []
    for t in range(rounds):
        own = at(rng, t)
        advance(pair.policy, pair.state, t, own)
        if hasattr(pair.twin, "begin"):
            pair.twin.begin(t, int(own))
            drawn.append(int(pair.state.hedge.windows[pair.state.hedge.chosen[0]]))
        context = pair.shown(luck)
        action, propensity = select(pair.policy, pair.state, t, context, own)
        if t % every == 0 if every else is_compared(t):
            assert_agree(pair, t, context, action)
        row = context[action] if pair.problem.dim else ()
        reward = reward_of(pair.problem, luck)
        for delay in delays(arrivals, luck):
            due.setdefault(t + delay, []).append((Decision(t, action, propensity, row, own), reward))
        arrived = due.pop(t, [])
        for i in luck.permutation(len(arrived)):
            decision, told = arrived[i]
            update(pair.policy, pair.state, decision, Outcome(told), t)
            chosen = decision.context if pair.problem.dim else decision.action
            pair.twin.learn(decision.t, chosen, told, t, int(decision.rng))
    return drawn


def assert_agree(pair: Beside, t: int, context: Any, action: int) -> None:
    """The block, its window and the chances; and the action has the twin's largest index, up to rounding."""
    shown = (context,) if pair.problem.dim else ()
    indices = pair.twin.indices(t, *shown)
    best = pair.twin.choose(t, *shown)
    assert action == best if np.isinf(indices).any() else indices[action] >= indices[best] - CLOSE
    if not hasattr(pair.twin, "standing"):
        return
    block, hedge = pair.twin.standing(t), pair.state.hedge
    assert (pair.state.start[0], hedge.block[0], hedge.chosen[0]) == (block.start, block.rounds, block.chosen)
    assert hedge.windows[: hedge.used[0]].tolist() == block.windows
    assert hedge.chance[0] == pytest.approx(block.chances[block.chosen], rel=CLOSE)
    np.testing.assert_allclose(chances(hedge), block.chances, rtol=CLOSE)


def chances(hedge: Any) -> Floats:
    powers, gamma = hedge.powers[: hedge.used[0]], hedge.rate[0]
    return np.array((1.0 - gamma) * powers / powers.sum() + gamma / len(powers))


@pytest.mark.parametrize(
    ("problem", "arrivals", "literal"),
    latin(
        [Problem(3, horizon=200), Problem(2, -1.0, 4.0), Problem(3, **BELL, horizon=200)],
        ["immediate", "shuffled", "lost", "duplicated"],
        [0, 1],
    ),
)
def test_blocks_over_arms_agree_with_the_twin(problem: Problem, arrivals: str, literal: int) -> None:
    pair = Beside.of(BanditOverBandit(literal=literal, scale=1.5), problem)
    drawn = drive(pair, 200, arrivals, seed=literal)
    assert len(set(drawn)) > 2
    assert pair.state.stale[0] == pair.twin.stale()
    assert (pair.state.stale[0] > 0) == (arrivals != "immediate")


@pytest.mark.deep  # the same blocks over arms, above, are played every day
@pytest.mark.parametrize("literal", [0, 1])
@pytest.mark.parametrize("arrivals", ["immediate", "lost"])
@pytest.mark.parametrize("parameters", [{}, {"block": 11, "shortest": 3}, {"dim": 1, "horizon": 90}])
def test_blocks_over_features_agree_with_the_twin(parameters: dict[str, int], arrivals: str, literal: int) -> None:
    policy = BanditOverBandit(policy=SlidingLinUCB(ridge=0.5), literal=literal, scale=0.6, **parameters)
    pair = Beside.of(policy, LINEAR)
    drive(pair, 150, arrivals, seed=literal)
    assert pair.state.stale[0] == pair.twin.stale()


def test_epochs_double_where_no_horizon_is_known() -> None:
    pair = Beside.of(BanditOverBandit(), Problem(2))
    drive(pair, FIRST + 2 * FIRST + 200, "immediate", seed=3, every=61)
    assert (pair.state.hedge.rounds[0], pair.state.until[0]) == (4 * FIRST, 7 * FIRST)
    assert pair.state.start[0] >= 3 * FIRST


def test_epochs_stop_growing() -> None:
    policy = cast(BanditOverBandit())
    state = policy.init(Problem(2))
    for t in (0, 2 * LONGEST - FIRST - 1, 2 * LONGEST - FIRST, 9 * LONGEST):
        advance(policy, state, t, at(key(0), t))
        assert state.start[0] <= t < state.until[0]
        assert t < state.start[0] + state.hedge.block[0]
    assert state.hedge.rounds[0] == LONGEST
    assert state.hedge.block[0] == len(state.answered) == len(state.inner.window.arms)


# ---- what a block is worth ----


def after_a_block(policy: Any, problem: Problem, rewards: list[float]) -> tuple[Any, Any]:
    """The state in the first block and in the second, when the first rounds of the first were paid so."""
    policy = cast(policy)
    state, rng = policy.init(problem), key(1)
    advance(policy, state, 0, at(rng, 0))
    first = clone(state)
    for t, reward in enumerate(rewards):
        update(policy, state, Decision(t, 0, 1.0, (), at(rng, t)), Outcome(reward), t)
    block = int(state.hedge.block[0])
    advance(policy, state, block, at(rng, block))
    assert state.start[0] == block
    return first.hedge, state.hedge


def test_a_block_is_worth_what_the_paper_says() -> None:
    """Y = 12 in a block of 10 rounds, of 100 in all, with noise 0.3 and means up to 2."""
    before, now = after_a_block(BanditOverBandit(block=10, scale=2.0), Problem(2, **BELL, horizon=100), [1.2] * 10)
    x = 0.5 + 12.0 / (2 * 2.0 * 10 + 4 * 0.3 * math.sqrt(10 * math.log(100 / math.sqrt(10))))
    step = before.rate[0] * x / (before.used[0] * before.chance[0])
    assert now.logs[before.chosen[0]] == pytest.approx(step)
    assert np.count_nonzero(now.logs) == 1
    # with means up to 1 the same rewards are worth more
    _, other = after_a_block(BanditOverBandit(block=10), Problem(2, **BELL, horizon=100), [1.2] * 10)
    assert other.logs.max() > now.logs.max()


@pytest.mark.parametrize(("reward", "share"), [(-2.0, 0.0), (1.0, 0.5), (4.0, 1.0)])
def test_a_bounded_range_uses_the_whole_scale(reward: float, share: float) -> None:
    before, now = after_a_block(BanditOverBandit(block=10), Problem(2, -2.0, 4.0, horizon=100), [reward] * 10)
    step = before.rate[0] * share / (before.used[0] * before.chance[0])
    assert now.logs[before.chosen[0]] == pytest.approx(step, abs=1e-12)


def test_a_slate_is_worth_as_much_as_its_items() -> None:
    """Two of three items, each in [0, 2]: a block that paid 1.5 in all per round used 3/8 of its range."""
    policy, rng = cast(BanditOverBandit(policy=SlidingSlateUCB())), key(1)
    state = policy.init(Problem(3, 0.0, 2.0, slate=2, horizon=27, family="slate"))
    assert state.hedge.block[0] == math.isqrt(3 * 27)
    first = step = 0
    for t in range(10):
        advance(policy, state, t, at(rng, t))
        if t == 0:
            first, hedge = state.hedge.chosen[0], state.hedge
            step = hedge.rate[0] * 0.375 / (hedge.used[0] * hedge.chance[0])
        slate, propensity = select(policy, state, t, (), at(rng, t))
        assert propensity == 1.0
        decision = Decision(t, slate.copy(), 1.0, (), at(rng, t))
        update(policy, state, decision, SlateOutcome(1.5, np.array([1.0, 0.5])), t)
    assert state.hedge.logs[first] == pytest.approx(step)
    unbounded = BanditOverBandit(policy=SlidingSlateUCB(), scale=3.0).init(
        Problem(3, **BELL, slate=2, horizon=27, family="slate")
    )
    np.testing.assert_allclose(unbounded.laws, [3.0, 3.0])
    np.testing.assert_allclose([unbounded.scale.unit[0], unbounded.scale.noise[0]], [2.0, 0.3 * math.sqrt(2)])


def test_missing_rewards_are_taken_to_be_like_the_others_and_silence_teaches_nothing() -> None:
    policy, problem = BanditOverBandit(block=10), Problem(2, horizon=100)
    _, whole = after_a_block(policy, problem, [0.75] * 10)
    _, part = after_a_block(policy, problem, [0.75] * 4)
    np.testing.assert_allclose(part.logs, whole.logs, rtol=CLOSE)
    _, silent = after_a_block(policy, problem, [])
    assert (silent.logs == 0.0).all()


def test_rounds_that_never_came_and_duplicates_change_nothing() -> None:
    policy = cast(BanditOverBandit(block=10))
    state = policy.init(Problem(2, horizon=100))
    advance(policy, state, 0, at(key(0), 0))

    def tell(t: int, now: int) -> None:
        update(policy, state, Decision(t, 0, 1.0, (), at(key(0), t)), Outcome(1.0), now)

    tell(3, 5)
    before = clone(state)
    tell(3, 6)
    assert equal(before, state)
    tell(12, 12)  # of a block nobody has come to
    assert (state.stale[0], state.arrived[0]) == (1, 1)
    advance(policy, state, 10, at(key(0), 10))
    tell(9, 10)
    assert (state.stale[0], state.arrived[0], state.inner.window.counts.sum()) == (2, 0, 0)


def test_weights_learn_which_windows_pay() -> None:
    """A block whose window is the longest pays, others do not: before long it is drawn as often as gamma allows."""
    policy = cast(BanditOverBandit(block=10))
    state, rng = policy.init(Problem(2, horizon=20_000)), key(5)
    longest = int(state.hedge.used[0]) - 1
    for start in range(0, 20_000, 10):
        advance(policy, state, start, at(rng, start))
        paid = float(state.hedge.chosen[0] == longest)
        update(policy, state, Decision(start, 0, 1.0, (), at(rng, start)), Outcome(paid), start)
    gamma, n = state.hedge.rate[0], state.hedge.used[0]
    assert chances(state.hedge)[longest] == pytest.approx(1.0 - gamma + gamma / n, abs=1e-3)


# ---- what is inside ----


def test_a_policy_that_cannot_be_restarted_is_refused() -> None:
    for inside, name in ((Uniform(), "Uniform"), (BanditOverBandit(), "BanditOverBandit"), (7, "7")):
        with pytest.raises(ParameterError, match=f"policy={name} cannot be restarted with another window"):
            BanditOverBandit(policy=inside).init(Problem(2, horizon=100))
    with pytest.raises(ParameterError, match="is empty"):
        BanditOverBandit().init(Problem(2, 1.0, 1.0, horizon=100))
    with pytest.raises(ParameterError, match="xi=-1"):
        BanditOverBandit(policy=SlidingUCB(xi=-1.0)).init(Problem(2, horizon=100))


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"literal": 2}, "literal=2 is not a whole number of at least 0 and at most 1"),
        ({"block": 101}, "block=101 is not a whole number of at least 0 and at most 100"),
        ({"shortest": 0}, "shortest=0 is not a whole number of at least 1"),
        ({"scale": 0.0}, r"scale=0.0 is outside \(0, inf\)"),
        ({"dim": -1}, "dim=-1 is not a whole number of at least 0"),
    ],
)
def test_parameters_keep_to_their_rules(parameters: dict[str, Any], rule: str) -> None:
    with pytest.raises(ParameterError, match=rule):
        BanditOverBandit(**parameters).init(Problem(2, horizon=100))


def test_a_policy_inside_is_written_in_parentheses() -> None:
    text = "bandit-over-bandit:policy=(sliding-lin-ucb:ridge=0.5,norm=2.0),literal=1"
    policy = parse(text, POLICIES, "policy")
    assert policy == BanditOverBandit(policy=SlidingLinUCB(ridge=0.5, norm=2.0), literal=1)
    assert describe(policy, POLICIES) == text
    assert parse("bandit-over-bandit:policy=sliding-thompson", POLICIES, "policy").policy == SlidingThompson()
    assert family_of(policy) == "contextual"
    assert family_of(BanditOverBandit()) == "multi-armed"
    assert BanditOverBandit().policy == SlidingArmedUCB(), "the paper's for arms, equation (29)"


def test_the_propensity_is_told_only_where_the_policy_inside_is_deterministic() -> None:
    for inside, told in ((SlidingUCB(), 1.0), (SlidingThompson(), math.nan)):
        policy = cast(BanditOverBandit(policy=inside))
        state = policy.init(Problem(2, horizon=100))
        advance(policy, state, 0, at(key(0), 0))
        assert select(policy, state, 0, (), at(key(0), 0))[1] == pytest.approx(told, nan_ok=True)


def test_long_windows_do_not_see_the_numbers_of_arms() -> None:
    assert names_do_not_matter(BanditOverBandit(shortest=32)) is None
    assert "hardly hold all arms" in str(names_do_not_matter(BanditOverBandit()))


# ---- where nothing can be learned ----


def test_it_says_where_it_cannot_learn_a_window() -> None:
    inside = SlidingLinUCB()
    unlucky, single, fine = (LINEAR._replace(dim=dim, horizon=T) for dim, T in ((5, 1_000), (50, 2_000), (5, 100_000)))
    assert "7 windows in 1,000 rounds: the 7 blocks draw all of them alike (gamma = 1)" in BanditOverBandit(
        policy=inside
    ).caution(unlucky)
    assert "there is a single block" in BanditOverBandit(policy=inside).caution(single)
    assert BanditOverBandit(policy=inside).caution(fine) == ""
    assert BanditOverBandit(policy=inside).caution(unlucky._replace(horizon=0)) == "", "epochs grow"
    assert BanditOverBandit(policy=inside, block=1_000, shortest=1_000).caution(unlucky) == "", "nothing to learn"
    assert BanditOverBandit(policy=inside, block=40).caution(unlucky) == "", "as it advises"


def test_agents_studies_and_commands_pass_it_on_once() -> None:
    policy, world = BanditOverBandit(block=300), Abrupt(n_arms=3)
    with pytest.warns(UserWarning, match="learns nothing of its 7 windows"):
        Agent(policy, MultiArmed(3, horizon=1_000))
    study = Study(name="s", worlds={"w": world}, policies={"bob": policy}, horizon=1_000, runs=2)
    assert study.cautions() == [f"bob: {policy.caution(world.problem(1_000))}"]
    words = ["simulate", "--world", "abrupt:n_arms=3", "--horizon", "1000", "--runs", "1"]
    told = CliRunner().invoke(main, [*words, "--policy", "bandit-over-bandit:block=300"])
    assert told.exit_code == 0 and told.stderr.count("learns nothing of its 7 windows") == 1


# ---- live ----


@pytest.mark.parametrize("horizon", [0, 500])
def test_arms_come_and_go_while_blocks_stay_as_they_are(horizon: int) -> None:
    agent = Agent(BanditOverBandit(shortest=16), MultiArmed(["a", "b", "c"], horizon=horizon), seed=4)

    def live(rounds: int) -> list[Any]:
        chosen = []
        for _ in range(rounds):
            decision = agent.decide()
            chosen.append(decision.action)
            agent.learn(decision, float(decision.action in ("b", "d")))
        return chosen

    live(50)
    before = agent.state
    agent.retire_arm("b")
    agent.add_arm("d")
    agent.add_arm("e")
    after = agent.state
    assert equal(before.hedge, after.hedge)
    assert (agent.policy.dim, after.start[0], after.total[0]) == (3, before.start[0], before.total[0])
    assert len(after.inner.window.counts) == 4
    chosen = live(150)
    assert "b" not in chosen
    assert chosen.count("d") > 75
    again = Agent.loads(agent.dumps())
    assert [again.decide().action for _ in range(60)] == [agent.decide().action for _ in range(60)]
