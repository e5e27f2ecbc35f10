"""Filter-bank UCB agrees with its slow twin, in any unit, and finds what it is made for."""

from typing import Any

import numpy as np
import pytest

from driftwise.agent import Agent
from driftwise.core.loop import play
from driftwise.core.seeding import at, key
from driftwise.core.types import Decision, Floats, Outcome, Problem, new_trace
from driftwise.families import Abrupt, FilterBankUCB, MultiArmed, Stationary, Uniform
from driftwise.families.composite.worlds.delayed import Delayed
from tests.families.multi_armed.twins.pair import Pair
from tests.fixtures.everyday import is_compared, latin
from tests.fixtures.summaries import table_of
from tests.fixtures.verbs import advance, pend, select, settle, update

CLOSE = 1e-7
NAME = "filter-bank-ucb"


def compiled_indices(pair: Pair, t: int) -> Floats:
    return table_of(pair.policy, pair.state, t, (), pair.twin.problem.n_arms).index


def assert_agree(pair: Pair, t: int) -> None:
    np.testing.assert_allclose(compiled_indices(pair, t), pair.twin.indices(t), rtol=CLOSE, atol=CLOSE)


def drive(pair: Pair, rounds: int, delays: Any, levels: Any, seed: int) -> None:
    """Half of the arms are the policy's own choice, half at random; `delays` draws when a reward comes, if ever."""
    luck, rng = np.random.default_rng(seed), key(seed)
    due: dict[int, list[tuple[Decision, float]]] = {}
    for t in range(rounds):
        own = at(rng, t)
        advance(pair.policy, pair.state, t, own)
        chosen, _ = select(pair.policy, pair.state, t, (), own)
        if is_compared(t):
            assert_agree(pair, t)
            indices = pair.twin.indices(t)
            assert indices[chosen] == indices.max() or indices[chosen] >= indices.max() - CLOSE
        arm = chosen if luck.random() < 0.5 else int(luck.integers(pair.twin.problem.n_arms))
        decision, reward, late = Decision(t, arm, 1.0, (), own), levels(luck, t, arm), delays(luck)
        pend(pair.policy, pair.state, decision)
        pair.twin.pend(t, arm)
        due.setdefault(t + abs(late), []).append((decision, reward if late >= 0 else np.nan))
        for each, paid in due.pop(t, []):
            settle(pair.policy, pair.state, each)
            pair.twin.settle(each.t, t)
            if paid == paid:
                update(pair.policy, pair.state, each, Outcome(paid), t)
                pair.twin.learn(each.t, each.action, paid, t)


def moving(luck: Any, t: int, arm: int) -> float:
    """Means that jump now and then, with little noise."""
    return float((arm * 7 + t // 60) % 5 + luck.normal(0.0, 0.3))


def clicks(luck: Any, t: int, arm: int) -> float:
    return float(luck.random() < 0.05 * (arm + 1))


DELAYS = [lambda luck: 0, lambda luck: int(luck.integers(12)), lambda luck: int(luck.integers(-20, 30))]


@pytest.mark.parametrize(("n_arms", "delays", "levels"), latin([2, 5], DELAYS, [moving, clicks]))
def test_the_policy_agrees_with_its_twin(n_arms: int, delays: Any, levels: Any) -> None:
    drive(Pair.of(NAME, Problem(n_arms), alertness=2.0), 400, delays, levels, seed=n_arms)


def test_the_compiled_loop_agrees_with_the_twin() -> None:
    """`play` in a world that delays and loses rewards, long enough for several scales of the variogram."""
    rounds = 1500
    world = Delayed(world=Abrupt(n_arms=3, phases=4), delay=6.0, kind="geometric", lost=0.2)
    pair = Pair.of(NAME, world.problem())
    tape, nature = world.draw(rounds, seed=2)
    trace, rng = new_trace(0, rounds), key(5, "loop")
    assert play(pair.policy, pair.state, tape, nature, rng, trace, rounds) == rounds
    for t in range(rounds):
        indices = pair.twin.indices(t)
        assert indices[trace.actions[t]] >= indices.max() - CLOSE
        pair.end_round(world, tape, trace, rng, t)
    advance(pair.policy, pair.state, rounds, at(rng, rounds))
    assert_agree(pair, rounds)
    assert (pair.state.variogram.seen > 0).sum() >= 4


def test_rounds_without_decisions_may_pass_at_once_or_one_by_one() -> None:
    states = []
    for stops in (range(41, 2001), [2000]):
        policy, luck = FilterBankUCB(), np.random.default_rng(3)
        state = policy.init(Problem(3))
        for t in range(40):
            advance(policy, state, t, at(key(1), t))
            update(policy, state, Decision(t, t % 3, 1.0, (), at(key(1), t)), Outcome(t % 3 + luck.normal()), t)
        for t in stops:
            advance(policy, state, t, at(key(1), t))
        states.append(state)
    for name in ("alerts", "variances", "extras", "estimates"):
        np.testing.assert_allclose(getattr(states[0], name), getattr(states[1], name), rtol=1e-9)


def choices(factor: float, shift: float, rounds: int = 4000) -> list[Any]:
    luck = np.random.default_rng(8)
    agent = Agent(FilterBankUCB(), MultiArmed(4, reward_range=None))
    actions = []
    for t in range(rounds):
        decision = agent.decide()
        actions.append(decision.action)
        agent.learn(decision, reward=factor * moving(luck, t // 10, decision.action) + shift)
    return actions


def test_rewards_times_a_hundred_plus_a_thousand_lead_to_the_same_choices() -> None:
    assert choices(1.0, 0.0) == choices(100.0, 1000.0)


def regret(policy: Any, world: Any, rounds: int, seed: int) -> float:
    tape, nature = world.draw(rounds, seed)
    trace = new_trace(0, rounds)
    play(policy, policy.init(world.problem()), tape, nature, key(seed), trace, rounds)
    means = tape.levels.table[tape.levels.rows]
    return float((means.max(axis=1) - means[np.arange(rounds), trace.actions]).sum())


@pytest.mark.parametrize("world", [Stationary(n_arms=5), Abrupt(n_arms=5, phases=5)])
def test_it_learns_with_nothing_set(world: Any) -> None:
    """A sixth of the regret of uniform play at most, whether the world changes or not."""
    ours, uniform = (
        sum(regret(policy, world, 5000, seed) for seed in range(5)) for policy in (FilterBankUCB(), Uniform())
    )
    assert ours < uniform / 6.0


def test_more_alertness_means_more_visits_to_arms_that_were_given_up() -> None:
    world, visits = Stationary(n_arms=3, rewards="gaussian", sd=0.05), []
    for alertness in (0.0, 1.0, 20.0):
        tape, nature = world.draw(20_000, seed=1)
        trace, policy = new_trace(0, 20_000), FilterBankUCB(alertness=alertness)
        play(policy, policy.init(world.problem()), tape, nature, key(1), trace, 20_000)
        visits.append(int((trace.actions == tape.levels.table[0].argmin()).sum()))
    assert visits[0] < visits[1] < visits[2]


def test_with_a_floor_every_arm_has_its_share_and_says_so() -> None:
    agent = Agent(FilterBankUCB(floor=0.2), ["a", "b", "c", "d"], seed=3)
    chances: dict[float, list[Any]] = {}
    for _ in range(600):
        decision = agent.decide()
        chances.setdefault(decision.propensity, []).append(decision.action)
        agent.learn(decision, reward=float(decision.action == "c"))
    assert {round(each, 12) for each in chances} == {0.05, 0.85}
    assert 0.8 < len(chances[max(chances)]) / 600 < 0.9


def test_an_arm_whose_only_rewards_were_lost_is_tried_again() -> None:
    agent, luck = Agent(FilterBankUCB(), MultiArmed(["a", "b"], reward_range=None)), np.random.default_rng(2)
    tries = 0
    for _ in range(300):
        decision = agent.decide()
        if decision.action == "b":
            tries += 1  # never answered
        else:
            agent.learn(decision, reward=float(luck.normal()))
    assert 2 <= tries <= 30
