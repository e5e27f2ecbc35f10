"""What a deployment earns per decision, and its lift over uniform choice: estimates, close-ups, and the fold."""

import asyncio
import math
import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from driftwise.families import Contextual, Knapsack, MultiArmed
from driftwise.service.deployments import queries
from driftwise.service.deployments.stats import state as stats_state
from driftwise.service.deployments.stats.collector import StatsCollector
from driftwise.service.deployments.stats.rewards import RewardEstimate, lift_estimate, reward_estimate, reward_sums
from driftwise.service.deployments.stats.state import CLOSE_UPS, MAX_BINS, SECOND, StatsState
from driftwise.service.deployments.stats.view import StatsView
from tests.fixtures.engine import create, decide, learn, running

HOUR = 3600 * SECOND


def summed(rewards: list[float], weights: list[float | None]) -> list[float]:
    rows = [reward_sums(reward, weight) for reward, weight in zip(rewards, weights, strict=True)]
    return [math.fsum(row[i] for row in rows if len(row) > i) for i in range(max(map(len, rows)))]


def play(random: random.Random, n: int, explore: float, *, silent: bool = False) -> tuple[list[float], list[float]]:
    """Two coins of 0.8 and 0.3; the better one is chosen with probability 1 - explore / 2."""
    rewards, weights = [], []
    for _ in range(n):
        best = random.random() < 1.0 - explore / 2
        propensity = 1.0 if silent else (1.0 - explore / 2 if best else explore / 2)
        rewards.append(float(random.random() < (0.8 if best else 0.3)))
        weights.append(0.5 / propensity)
    return rewards, weights


def test_the_lift_against_the_plain_formula() -> None:
    rewards, weights = play(random.Random(1), 2000, 0.4)
    result = lift_estimate(summed(rewards, [*weights]))
    assert result is not None
    r, w = np.array(rewards), np.array(weights)
    uniform = (w * r).sum() / w.sum()
    parts = (r - r.mean()) - w / w.mean() * (r - uniform)
    half = 1.96 * math.sqrt((parts**2).mean() / len(r))
    lift = r.mean() - uniform
    estimate = result[1]
    assert (estimate.mean, estimate.low, estimate.high) == pytest.approx((lift, lift - half, lift + half))
    assert result[0].mean == pytest.approx(uniform) and estimate.n == 2000


def test_the_intervals_cover_as_they_say() -> None:
    """95 % of intervals contain the true value: 0.7 and 0.15 with explore 0.4, of which uniform choice earns 0.55."""
    luck = random.Random(2)
    covered = {"reward": 0, "uniform": 0, "lift": 0}
    for _ in range(400):
        sums = summed(*play(luck, 300, 0.4))  # type: ignore[arg-type]
        result = lift_estimate(sums)
        reward = reward_estimate(sums, 0.0, 1.0)
        assert result is not None and reward is not None
        for name, estimate, true in (("reward", reward, 0.7), ("uniform", result[0], 0.55), ("lift", result[1], 0.15)):
            assert estimate.low is not None and estimate.high is not None
            covered[name] += estimate.low <= true <= estimate.high
    assert all(0.92 <= n / 400 <= 0.98 for n in covered.values()), covered


def test_no_lift_where_it_cannot_be_known() -> None:
    luck = random.Random(3)
    sure = play(luck, 5000, 0.4, silent=True)
    assert lift_estimate(summed(*sure)) is None  # type: ignore[arg-type]  # chances of the other arm are 0
    assert lift_estimate(summed(sure[0], [None] * 5000)) is None  # propensities that are not known
    assert lift_estimate(summed(*play(luck, 30, 0.4))) is None  # type: ignore[arg-type]  # too few
    assert lift_estimate([]) is None and reward_estimate([], 0.0, 1.0) is None
    mostly = [pair for pair in zip(*play(luck, 5000, 0.01), strict=True) if pair[1] < 10]  # the other arm never came
    assert lift_estimate(summed([r for r, _ in mostly], [w for _, w in mostly])) is None
    few = reward_estimate([3.0, 3.0, 3.0], -math.inf, -math.inf)
    assert few is not None and few.mean == 1.0 and few.low is None


def collected(rewards: list[float], weights: list[float], low: float, width: float) -> StatsView:
    monitor = StatsCollector(low, width)
    for n, (reward, weight) in enumerate(zip(rewards, weights, strict=True)):
        monitor.add_decision(n, "red", 0.5)
        monitor.add_outcome(n, n, (["red"], [reward]), status="learned", defaulted=False, weight=weight)
    return monitor.view(len(rewards))


def ends(estimate: RewardEstimate | None) -> tuple[float, float, float]:
    assert estimate is not None and estimate.low is not None and estimate.high is not None
    return estimate.low, estimate.mean, estimate.high


@pytest.mark.parametrize("offset", [-1e4, 1e6, 1e9])
def test_an_offset_of_all_rewards_changes_no_width(offset: float) -> None:
    luck = np.random.default_rng(0)
    propensities = luck.choice([0.3, 0.7], 5000, p=[0.3, 0.7])
    rewards, weights = luck.normal(0.0, 1.0, 5000), (0.5 / propensities).tolist()
    plain = collected(rewards.tolist(), weights, -math.inf, 0.0)
    moved = collected((rewards + offset).tolist(), weights, -math.inf, 0.0)
    assert ends(moved.lift) == pytest.approx(ends(plain.lift), abs=1e-6)
    for name in ("reward", "uniform"):
        expected = np.array(ends(getattr(plain, name))) + offset
        assert ends(getattr(moved, name)) == pytest.approx(expected.tolist(), rel=0.0, abs=1e-6)
    for one, other in zip(plain.bins[-1].window_means, moved.bins[-1].window_means, strict=True):
        assert one is not None and other is not None
        assert other[3] - other[2] == pytest.approx(one[3] - one[2], abs=1e-6)


@pytest.mark.parametrize(("low", "width"), [(-math.inf, 0.0), (0.0, 1.0), (-1e6, 2e6)])
@pytest.mark.parametrize("n", [2000, 50_000])
def test_where_all_rewards_are_the_same_there_is_no_lift(low: float, width: float, n: int) -> None:
    propensities = np.random.default_rng(0).choice([0.3, 0.7], n, p=[0.3, 0.7])
    view = collected([0.1] * n, (0.5 / propensities).tolist(), low, width)
    below, lift, above = ends(view.lift)
    assert below <= lift == 0.0 <= above and above - below < 1e-6 * (width or 1.0)


def tracked(values: list[float], state: StatsState | None = None) -> tuple[float, ...]:
    """The mean of a family's track, and the ends of its interval."""
    monitor = StatsCollector(0.0, 1.0, state or stats_state.empty(0.0, [("other", "last", []), ("mean", "mean", [])]))
    for n, value in enumerate(values):
        monitor.record(n, {"mean": [value]})
    mean = monitor.view(len(values)).bins[-1].tracks["mean"]
    assert mean is not None
    return tuple(mean[1:])


@pytest.mark.parametrize("offset", [-1e4, 1e6, 1e9])
def test_an_offset_of_a_track_changes_no_width(offset: float) -> None:
    values = np.random.default_rng(0).normal(0.0, 1.0, 5000)
    expected = np.array(tracked(values.tolist())) + offset
    assert tracked((values + offset).tolist()) == pytest.approx(expected.tolist(), rel=0.0, abs=1e-6)


def test_tracks_of_before_there_were_shifts_go_on() -> None:
    fields = msgspec.msgpack.decode(stats_state.encode(stats_state.empty(0.0, [("mean", "mean", [])])))
    old = stats_state.decode(msgspec.msgpack.encode(fields[:-1]))
    values = [3.0, 4.0, 5.0] * 30
    assert tracked(values, old) == pytest.approx(tracked(values))
    assert old.bins[-1].tracks[0].tolist()[:2] == [90.0, 360.0]


def test_sums_of_before_there_were_shifts_go_on() -> None:
    """A state of an earlier version, as an origin has it, has sums of the rewards themselves."""
    new = StatsCollector(3.0, 2.0)
    fields = msgspec.msgpack.decode(stats_state.encode(StatsCollector(0.0, 2.0).state))
    old = StatsCollector(3.0, 2.0, stats_state.decode(msgspec.msgpack.encode(fields[:-3])))
    assert old.state.shift == old.state.arm_shift == 0.0 and new.state.shift == 3.0
    for collector in (new, old):
        for n in range(100):
            collector.add_outcome(n, n, (["red"], [3.0 + n % 3]), status="learned", defaulted=False, weight=1.0)
    assert ends(old.view(100).reward) == pytest.approx(ends(new.view(100).reward))


def test_close_ups_keep_the_last_hour_fine() -> None:
    """Ten days of a decision a minute: the life has wide bins, the last hour has narrow ones, and both are exact."""
    monitor = StatsCollector(0.0, 1.0)
    rewards = []
    for minute in range(10 * 1440):
        at = 60 * SECOND * minute
        rewards.append(float(minute % 7 == 0))
        monitor.add_decision(at, "red", 0.5)
        monitor.add_outcome(at, at, (["red"], [rewards[-1]]), status="learned", defaulted=False, weight=1.0)
    state = monitor.state
    assert [each.width for each in state.close_ups] == [*CLOSE_UPS]
    assert all(len(each.bins) <= MAX_BINS for each in state.close_ups) and len(state.bins) <= MAX_BINS
    now = at + 1
    life = monitor.view(now)
    assert life.reward is not None and life.reward.n == len(rewards)
    assert life.reward.mean == pytest.approx(sum(rewards) / len(rewards))
    for last, n in ((3600, 60), (86_400, 1440), (604_800, 10_080)):
        view = monitor.view(now, last=last)
        assert view.reward is not None and 48 <= len(view.bins) <= MAX_BINS
        assert n - 1 <= view.reward.n <= n + view.bin_seconds / 60 + 1
        assert view.reward.mean == pytest.approx(np.mean(rewards[-view.reward.n :]))
        assert sum(each.n_decisions for each in view.bins) == view.reward.n
    copy = StatsCollector(0.0, 1.0, stats_state.decode(stats_state.encode(state)))
    assert copy.view(now, last=3600) == monitor.view(now, last=3600)
    assert monitor.view(now + 2 * HOUR, last=3600).bins == []  # nothing happened in the last hour


def test_a_young_deployment_needs_no_close_up() -> None:
    monitor = StatsCollector(0.0, 1.0)
    for second in range(600):
        monitor.add_outcome(SECOND * second, 0, (["red"], [1.0]), status="learned", defaulted=False)
    assert monitor.state.close_ups == []
    view = monitor.view(600 * SECOND, last=60)
    assert view.reward is not None and 60 <= view.reward.n <= 60 + view.bin_seconds


def test_statistics_of_before_are_read() -> None:
    """A state without sums of rewards, as an origin of an earlier version may have."""
    monitor = StatsCollector(0.0, 1.0)
    monitor.add_outcome(0, 0, (["red"], [1.0]), status="learned", defaulted=False)
    old = stats_state.decode(stats_state.encode(monitor.state))
    old.bins[0].earned = stats_state.numbers()
    again = StatsCollector(0.0, 1.0, old)
    assert again.view(1).reward is None and again.view(1).bins[0].reward is None
    again.add_outcome(1, 0, (["red"], [1.0]), status="learned", defaulted=False, weight=2.0)
    reward = again.view(2).reward
    assert reward is not None and reward.n == 1
    assert StatsState().close_ups == []


def test_mean_after_a_change() -> None:
    monitor = StatsCollector(0.0, 1.0)
    for n in range(900):
        level = (0.2, 0.9, 0.1)[n // 300]
        monitor.add_outcome(n, n, (["red"], [level]), status="learned", defaulted=False)
    changes = monitor.view(900).changes
    assert [each.direction for each in changes] == ["up", "down"]
    assert changes[0].mean_after == changes[1].mean_before
    assert changes[1].mean_after is not None and changes[1].mean_after < 0.2


@pytest.mark.parametrize(
    ("policy", "problem", "known"),
    [
        ("epsilon-greedy:epsilon=0.5", MultiArmed(["red", "blue"]), True),
        ("ucb1", MultiArmed(["red", "blue"]), False),  # its choices are certain
        ("epsilon-greedy:epsilon=0.5", Knapsack(2, {"euros": 500.0}, horizon=500), False),
    ],
)
def test_live_and_replayed_estimates_are_the_same(
    tmp_path: Path, policy: str, problem: MultiArmed | Knapsack, known: bool
) -> None:
    async def run() -> None:
        async with running(f"sqlite:///{tmp_path}/store.db") as engine:
            await create(engine, name="shop", policy=policy, problem=problem)
            costs: dict[str, Any] = {"costs": {"euros": 0.5}} if isinstance(problem, Knapsack) else {}
            for _ in range(200):
                decision = await decide(engine, "shop")
                if decision["action"] is not None:
                    await learn(engine, decision["id"], reward=0.5 + 0.5 * (decision["id"] % 4 == 0), **costs)
            assert (await queries.verify(engine, "shop")).identical
            before = (await queries.statistics(engine, "shop")).monitor
            assert before.reward is not None and before.reward.n == before.n_decided == 200
            assert (before.lift is not None) == known
        async with running(f"sqlite:///{tmp_path}/store.db") as engine:
            after = (await queries.statistics(engine, "shop")).monitor
            assert (after.reward, after.lift, after.bins) == (before.reward, before.lift, before.bins)

    asyncio.run(run())


def test_uniform_choice_among_the_actions_of_a_request(tmp_path: Path) -> None:
    """A request may offer its own actions: three here, of which each has the weight 1 / 3 / propensity."""

    async def run() -> None:
        async with running(f"sqlite:///{tmp_path}/store.db") as engine:
            await create(engine, name="rows", policy="lin-ucb", problem=Contextual(n_features=2))
            await decide(engine, "rows", actions=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
            _, live = await engine.live("rows")
            (note,) = live.pending.values()
            assert note.weight == pytest.approx(1 / 3)

    asyncio.run(run())


def test_recent_decisions_are_listed_latest_first(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(f"sqlite:///{tmp_path}/store.db") as engine:
            await create(engine, name="shop")
            assert (await queries.list_decisions(engine, "shop", 2**53, 20)).decisions == []
            ids = []
            for n in range(300):
                ids.append((await decide(engine, "shop"))["id"])
                if n % 2:
                    await learn(engine, ids[-1], reward=1.0)
            page = await queries.list_decisions(engine, "shop", 2**53, 100)
            seen, n_pages = [*page.decisions], 1
            while page.next is not None:
                page = await queries.list_decisions(engine, "shop", page.next, 100)
                seen, n_pages = [*seen, *page.decisions], n_pages + 1
            assert [each.id for each in seen] == ids[::-1] and n_pages <= 4
            assert [each.status for each in seen[:2]] == ["learned", "pending"]

    asyncio.run(run())


def test_arms_are_in_the_order_in_which_they_are_declared(tmp_path: Path) -> None:
    """Not in that in which they were first chosen: all of a page of the dashboard has the same."""

    async def test() -> None:
        async with running(tmp_path / "shop.db") as engine:
            await create(engine)
            for arm in ("green", "red", "green"):
                decision = await decide(engine, override={"action": arm, "propensity": 0.5})
                await learn(engine, decision["id"], reward=float(arm == "green"))
            told = await queries.statistics(engine, "shop")
            last = told.monitor.bins[-1]
            assert told.monitor.labels == ["red", "green"] and told.never_chosen == ["blue"]
            assert (last.n_chosen, last.n_rewarded) == ([1, 2], [1, 2])
            assert [mean and mean[1] for mean in last.window_means] == [0.0, 1.0]
            assert [(each.arm, each.mean) for each in told.monitor.recent] == [("red", 0.0), ("green", 1.0)]

    asyncio.run(test())
