"""Propensities that are counted, where a policy does not know them."""

import math
import threading

import numpy as np
import pytest
from scipy import integrate, stats

import driftwise as dw
from driftwise.agent import propensity
from driftwise.core import seeding
from driftwise.errors import ParameterError

SAMPLES = 4000


def learned(samples: int = 0) -> dw.Agent:
    """Thompson sampling after 3 of 5 successes of red and 1 of 4 of blue."""
    agent = dw.Agent(dw.Thompson(), ["red", "blue"], seed=3, propensity_samples=samples)
    for arm, rewards in (("red", [1, 1, 1, 0, 0]), ("blue", [1, 0, 0, 0])):
        for reward in rewards:
            agent.learn(agent.decide(override=(arm, math.nan)), reward=float(reward))
    return agent


def test_a_counted_propensity_is_the_probability() -> None:
    """P(Beta(4, 3) > Beta(2, 4)) by quadrature; a count that is right is 4.5 of its deviations off once in 10^5."""
    red, blue = stats.beta(4, 3), stats.beta(2, 4)
    chance, _ = integrate.quad(lambda x: red.pdf(x) * blue.cdf(x), 0.0, 1.0)
    chances = {"red": chance, "blue": 1.0 - chance}
    for seed in range(4):
        agent = learned(samples=SAMPLES)
        agent._rng = np.uint64(1000 + seed)
        decision = agent.decide()
        expected = (1.0 + SAMPLES * chances[decision.action]) / (SAMPLES + 1)
        deviation = math.sqrt(chance * (1.0 - chance) / SAMPLES)
        assert abs(decision.propensity - expected) < 4.5 * deviation


def test_counting_changes_no_choice_and_nothing_that_is_learned() -> None:
    plain, counted = learned(), learned(samples=50)
    for _ in range(100):
        one, other = plain.decide(), counted.decide()
        assert one.action == other.action
        assert math.isnan(one.propensity)
        assert 0.0 < other.propensity <= 1.0
        plain.learn(one, reward=1.0)
        counted.learn(other, reward=1.0)
    assert str(plain.state) == str(counted.state)


def test_what_a_policy_knows_or_was_chosen_outside_is_left_alone() -> None:
    agent = dw.Agent(dw.SlidingUCB(), 3, propensity_samples=50)
    assert agent.decide().propensity == 1.0
    agent = learned(samples=50)
    assert math.isnan(agent.decide(override=("red", math.nan)).propensity)
    assert agent.decide(override=("red", 0.25)).propensity == 0.25


def test_rows_of_features_are_counted_too_and_all_of_it_resumes() -> None:
    agent = dw.Agent(dw.LinThompson(), dw.Contextual(n_features=2), propensity_samples=200, seed=5)
    rows = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
    total = {agent.decide(actions=rows).propensity for _ in range(30)}
    assert all(0.0 < each <= 1.0 for each in total)
    again = dw.Agent.loads(agent.dumps())
    assert again.propensity_samples == 200
    assert again.decide(actions=rows) == agent.decide(actions=rows)


def test_where_no_single_arm_is_chosen_nothing_can_be_counted() -> None:
    with pytest.raises(ParameterError, match="propensity_samples=50 counts how often an arm is chosen: this agent"):
        dw.Agent(dw.SlidingSlateUCB(), dw.Slate(5, slate_size=2), propensity_samples=50)
    with pytest.raises(ParameterError, match="propensity_samples=-1 is not a whole number of at least 0 and at most"):
        dw.Agent(dw.Thompson(), 2, propensity_samples=-1)


def test_shares_are_those_of_their_own_request_whatever_is_decided_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are read into room that all calls of an agent share."""
    agent = dw.Agent(dw.LinUCB(), dw.Contextual(["red", "blue"], context_dim=2))
    own, other = [1.0, 0.0], [0.0, 1.0]
    for _ in range(20):
        for context, red in ((own, 1.0), (other, 0.0)):
            agent.learn(agent.decide(context=context, override=("red", 1.0)), reward=red)
            agent.learn(agent.decide(context=context, override=("blue", 1.0)), reward=1.0 - red)
    assert propensity.choice_shares(agent, {"context": own}) == {"red": 1.0}
    assert propensity.choice_shares(agent, {"context": other}) == {"blue": 1.0}
    meanwhile = threading.Thread(target=lambda: agent.decide(context=other))
    draw = seeding.key

    def key(*parts: object) -> np.uint64:
        if not meanwhile.ident:
            meanwhile.start()
            meanwhile.join(0.5)
        return draw(*parts)  # type: ignore[arg-type]

    monkeypatch.setattr(propensity, "key", key)
    assert propensity.choice_shares(agent, {"context": own}, samples=20) == {"red": 1.0}
    meanwhile.join()
    assert agent.t == 81
