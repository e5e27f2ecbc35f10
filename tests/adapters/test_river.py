"""Policies with river's verbs, used by river itself."""

import gymnasium
import pytest
from river import bandit

import driftwise as dw
from driftwise.adapters.gymnasium import env_id
from driftwise.adapters.river import RiverContextualPolicy, RiverPolicy
from driftwise.errors import ArmError, ParameterError


def test_rivers_evaluation_runs_our_policies_in_our_worlds() -> None:
    policies = [RiverPolicy(dw.SlidingThompson(window=100)), bandit.UCB(delta=1, seed=0)]
    env = gymnasium.make(env_id("abrupt"), horizon=200, n_arms=3)
    steps = list(bandit.evaluate(policies, env, n_episodes=2, seed=1))
    assert len(steps) == 2 * 2 * 200
    assert {type(step["arm"]) for step in steps} == {int}


def test_pulls_and_updates_are_decisions_and_rewards() -> None:
    policy, agent = (
        RiverPolicy(dw.SlidingUCB(window=50), seed=4),
        dw.Agent(dw.SlidingUCB(window=50), ["a", "b"], seed=4),
    )
    for t in range(60):
        arm, decision = policy.pull(["a", "b"]), agent.decide()
        assert arm == decision.action
        policy.update(arm, float(t % 3 == 0))
        agent.learn(decision, float(t % 3 == 0))
    assert policy.agent is not None and policy.agent.dumps() == agent.dumps()
    assert sorted(map(str, policy.ranking)) == ["a", "b"]
    assert policy.clone().agent is None


def test_arms_come_and_go_with_the_pulls() -> None:
    policy = RiverPolicy(dw.SlidingThompson(window=50))
    policy.update(policy.pull(["a", "b"]), 1.0)
    policy.update(policy.pull(["b", "c"]), 1.0)
    assert policy.agent is not None and policy.agent.arms == ("b", "c")


def test_arms_come_in_the_order_of_the_caller() -> None:
    """A set of names has another order in every process: then the same seed would choose other arms."""
    names = [f"arm{k}" for k in range(9)]
    policy = RiverPolicy(dw.SlidingThompson(window=50))
    policy.pull(names[:1])
    policy.pull(names)
    assert policy.agent is not None and policy.agent.arms == tuple(names)
    policy.pull(names[6:2:-1])
    assert policy.agent.arms == tuple(names[3:7])
    policy.pull([*names[3:7], *names[:3], *names[:3]])
    assert policy.agent.arms == (*names[3:7], *names[:3])


def test_rewards_of_arms_chosen_elsewhere_are_learned() -> None:
    policy = RiverPolicy(dw.SlidingThompson(window=50), forget=True)
    for _ in range(20):
        policy.pull(["a", "b"])
    assert policy.agent is not None and len(policy.agent.pending) == 1
    for _ in range(10):
        policy.update("a", 1.0)
    assert policy.agent.summary()[0].count == 10.0


def test_contexts_are_mappings() -> None:
    policy = RiverContextualPolicy(dw.LinUCB())
    for t in range(60):
        context = {"sun": float(t % 2), "rain": float(1 - t % 2)}
        arm = policy.pull(["hat", "coat"], context)
        policy.update(arm, context, float((arm == "hat") == (t % 2 == 1)))
    tail = [
        policy.pull(["hat", "coat"], {"rain": 1.0, "sun": 0.0}),
        policy.pull(["hat", "coat"], {"rain": 0.0, "sun": 1.0}),
    ]
    assert tail == ["coat", "hat"]
    policy.update("hat", {"rain": 0.5, "sun": 0.5}, 1.0)


def test_bad_input_is_one_sentence() -> None:
    fresh = RiverPolicy(dw.SlidingThompson(window=50))
    with pytest.raises(ParameterError, match="nothing was pulled yet"):
        fresh.update("a", 1.0)
    with pytest.raises(ArmError, match="there are no arms to pull"):
        fresh.pull([])
    contextual = RiverContextualPolicy(dw.SlidingLinUCB(window=100))
    with pytest.raises(ParameterError, match="context=3 is not a mapping"):
        contextual.pull(["a"], 3)  # type: ignore[arg-type]
    contextual.pull(["a", "b"], {"x": 1.0})
    with pytest.raises(ParameterError, match="context has y: the first one had x"):
        contextual.pull(["a", "b"], {"y": 1.0})
