"""How large rewards are: what is declared, what is learned, and what that does to choices.

That units change no choice is a contract over all policies (`driftwise.checks.units`); here is what it rests on.
"""

import math
from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest

import driftwise as dw
from driftwise.checks.units import rewards_have_no_unit
from driftwise.core.types import Problem
from driftwise.errors import ParameterError
from driftwise.numerics.reward_scale import measure, new_scale
from driftwise.service.deployments.spec import agent_of
from driftwise.service.deployments.stats.collector import StatsCollector
from driftwise.service.http.schemas.requests import DeploymentSpec
from tests.fixtures.everyday import deep_unless

INF = math.inf


# ---- what a problem says ----


@pytest.mark.parametrize(
    ("problem", "spread", "size"),
    [
        (Problem(2), 0.5, 1.0),
        (Problem(2, 0.0, 10.0), 5.0, 10.0),
        (Problem(2, -1.0, 1.0), 1.0, 1.0),
        (Problem(2, -30.0, 10.0, noise=2.0), 2.0, 30.0),
        (Problem(2, -INF, INF, 0.1, unit=1.0), 0.1, 1.0),
        (Problem(2, -INF, INF, 0.1), 0.1, 0.0),
        (Problem(2, 0.0, INF), 0.0, 0.0),
    ],
)
def test_noise_and_unit_follow_from_the_range(problem: Problem, spread: float, size: float) -> None:
    assert (problem.spread, problem.size) == (spread, size)


def test_what_is_declared_is_not_learned() -> None:
    scale = new_scale(Problem(2, 0.0, 10.0, dim=3, family="contextual"))
    measure(scale, 10.0)
    assert (scale.noise[0], scale.unit[0]) == (5.0, 10.0)
    assert not scale.learned.any()


def test_what_is_not_declared_is_learned() -> None:
    scale = new_scale(Problem(2, -INF, INF, dim=3, family="contextual"))
    measure(scale, 0.0)
    assert (scale.noise[0], scale.unit[0]) == (0.5, 1.0), "zeros tell nothing"
    rewards = [0.0, -8.0, 3.0, 5.0, 5.0]
    for i, reward in enumerate(rewards[1:], 1):
        measure(scale, reward)
        so_far = [0.0, *rewards[: i + 1]]  # and one that is taken to have been 0
        np.testing.assert_allclose(scale.noise[0], np.std(so_far), rtol=1e-12)
        assert scale.unit[0] == 8.0


def test_one_of_the_two_may_be_declared() -> None:
    noise, unit = (
        new_scale(Problem(2, -INF, INF, 0.2, dim=3, family="contextual")),
        new_scale(Problem(2, -INF, INF, dim=3, unit=4.0, family="contextual")),
    )
    assert (noise.noise[0], noise.unit[0]) == (0.2, 0.4), "at first, as if the range were two noises wide"
    assert (unit.noise[0], unit.unit[0]) == (2.0, 4.0)
    for scale in (noise, unit):
        measure(scale, 6.0)
    assert (noise.noise[0], noise.unit[0]) == (0.2, 6.0)
    assert (unit.noise[0], unit.unit[0]) == (3.0, 4.0)


# ---- agents ----

LINEAR = (
    *(dw.LinUCB(), dw.SlidingLinUCB(window=500), dw.DiscountedLinUCB()),
    *(dw.LinThompson(), dw.SlidingLinThompson(window=500), dw.DiscountedLinThompson(), dw.KalmanMixture()),
)


EVERYDAY = (dw.SlidingLinUCB, dw.KalmanMixture)


@pytest.mark.parametrize(
    "policy",
    [deep_unless(isinstance(policy, EVERYDAY), policy) for policy in LINEAR],
    ids=lambda policy: type(policy).__name__,
)
@pytest.mark.parametrize("largest", [0.01, 10.0, 1e4])
@pytest.mark.parametrize("declared", [True, False], ids=["range", "no range"])
def test_the_best_of_three_arms_is_found_whatever_the_range(policy: Any, largest: float, declared: bool) -> None:
    """Means 0.3, 0.5 and 0.8 of the range, coins: the best arm is chosen in more than half of the last 1,500 rounds."""
    arms = {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0], "c": [0.0, 0.0, 1.0]}
    means, luck, chosen = {"a": 0.3, "b": 0.5, "c": 0.8}, np.random.default_rng(4), []
    reward_range = (0.0, largest) if declared else None
    agent = dw.Agent(policy, dw.Contextual(arms, reward_range=reward_range, horizon=3000), seed=1)
    for _ in range(3000):
        decision = agent.decide()
        chosen.append(decision.action)
        agent.learn(decision, reward=largest * float(luck.random() < means[decision.action]))
    assert Counter(chosen[1500:])["c"] > 750


@pytest.mark.parametrize("kind", [dw.UCB1, dw.SlidingUCB, dw.GaussianThompson, dw.CusumUCB, dw.MUCB])
def test_unbounded_rewards_of_unknown_noise_are_refused(kind: Any) -> None:
    policy = kind()
    with pytest.raises(ParameterError, match=r"give reward_range=.* or noise="):
        dw.Agent(policy, dw.MultiArmed(2, reward_range=None))
    dw.Agent(policy, dw.MultiArmed(2, reward_range=None, noise=3.0))


def test_a_prior_is_in_the_unit_of_rewards() -> None:
    bounded = dw.GaussianThompson().init(Problem(2, 10.0, 30.0)).beliefs
    assert (bounded.centres.tolist(), bounded.spreads.tolist()) == ([20.0, 20.0], [20.0, 20.0])
    own = dw.GaussianThompson(prior_mean=100.0, prior_sd=50.0).init(Problem(2, -INF, INF, 8.0)).beliefs
    assert (own.centres.tolist(), own.spreads.tolist()) == ([100.0, 100.0], [50.0, 50.0])
    with pytest.raises(ParameterError, match="prior_mean=100 needs a prior_sd"):
        dw.GaussianThompson(prior_mean=100.0).init(Problem(2))


@pytest.mark.parametrize("policy", [dw.GaussianThompson(), dw.SlidingGaussianThompson(window=3)], ids=str)
def test_without_a_prior_every_arm_is_tried_first(policy: Any) -> None:
    agent = dw.Agent(policy, dw.MultiArmed(3, reward_range=None, noise=1.0))
    for arm in range(3):
        decision = agent.decide()
        assert decision.action == arm
        agent.learn(decision, reward=100.0 - arm)


def test_contextual_policies_take_noise_or_learn_it() -> None:
    for noise in (None, 3.0):
        problem = dw.Contextual(["a", "b"], context_dim=2, reward_range=None, noise=noise)
        same = msgspec.json.decode(msgspec.json.encode(problem), type=dw.Contextual)
        assert dw.Agent(dw.SlidingLinUCB(), same).problem.noise == (noise or 0.0)


def test_the_service_takes_noise_or_learns_it() -> None:
    def noise(policy: str, problem: Any) -> float:
        return float(agent_of(DeploymentSpec(name="watts", policy=policy, problem=problem)).problem.noise)

    arms = ["a", "b"]
    assert noise("sliding-lin-ucb", dw.Contextual(arms, context_dim=2, reward_range=None)) == 0.0
    assert noise("sliding-lin-ucb", dw.Contextual(arms, context_dim=2, reward_range=None, noise=3.0)) == 3.0
    with pytest.raises(ParameterError, match=r"give reward_range=.* or noise="):
        noise("sliding-ucb", dw.MultiArmed(arms, reward_range=None))


# ---- the monitor of a deployment ----


def changes_seen(factor: float, span: float) -> list[tuple[int, float]]:
    """What a monitor notices in rewards of mean 0, and of mean 2 standard deviations from reward 200 on."""
    monitor, luck = StatsCollector(-INF, span), np.random.default_rng(2)
    for t in range(400):
        reward = factor * (luck.standard_normal() + (2.0 if t >= 200 else 0.0))
        monitor.add_outcome(t, t, (["a"], [reward]), status="learned", defaulted=False)
    return [(at, direction) for at, _, direction, _ in monitor.state.changes]


def test_a_change_is_noticed_where_nothing_is_known_of_rewards() -> None:
    found = changes_seen(1.0, 0.0)
    assert [direction for _, direction in found] == [1.0] and 200 < found[0][0] < 260
    assert changes_seen(1e4, 0.0) == changes_seen(1e-3, 0.0) == found
    assert [direction for _, direction in changes_seen(1.0, 2.0)] == [1.0]


# ---- Bandit-over-Bandit over every kind of policy ----

INSIDE = (
    *(dw.SlidingGaussianThompson(), dw.SlidingArmedUCB(), dw.SlidingThompson(), dw.SlidingKLUCB()),
    *(dw.SlidingLinThompson(), dw.SlidingGLMUCB(), dw.SlidingGPUCB()),
)


@pytest.mark.deep
@pytest.mark.parametrize("inside", INSIDE, ids=lambda policy: type(policy).__name__)
def test_a_bandit_over_any_bandit_has_no_unit(inside: Any) -> None:
    rewards_have_no_unit(dw.BanditOverBandit(policy=inside))
