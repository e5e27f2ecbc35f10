"""A shadow is a replay of the journal into its policy, whatever the family, and its estimate that of slow formulas."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from driftwise.agent import Agent
from driftwise.agent.proposal import Proposer
from driftwise.core.family import FAMILIES, family_of
from driftwise.core.fixtures import Fixtures, Usage
from driftwise.core.seeding import key
from driftwise.errors import DriftwiseError, ParameterError
from driftwise.families import POLICIES, MultiArmed
from driftwise.measure.estimators import Terms, doubly_robust, effective_sample_size
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.fold import replay
from driftwise.service.deployments.shadow import Shadow
from driftwise.service.deployments.shadow_feed import apply
from driftwise.service.deployments.shadows import shadow_spec
from driftwise.service.http.schemas.requests import DeploymentSpec, Override
from driftwise.service.store.events import ArmAdded, Decided, Learned, body_of
from driftwise.service.store.journal import Event
from tests.fixtures.engine import deployment_spec

DECIDES = {  # by family
    "multi-armed": "epsilon-greedy:epsilon=0.3",
    "contextual": "sliding-lin-ucb:window=50",
    "slate": "sliding-slate-ucb:window=50",
    "knapsack": "greedy-ratio",
    "contextual-knapsack": "lin-pacing",
    "convex": "virtual-queue",
    "restless": "round-robin",
}
EVERYDAY = [
    ("multi-armed", "sliding-thompson:window=20"),
    ("contextual", "sliding-lin-ucb:window=9"),
    ("slate", "sliding-slate-ucb:window=9"),
    ("knapsack", "sliding-knapsack-ucb:window=9"),
    ("restless", "wiql"),
]
ALL = [(family, name) for name, kind in POLICIES.items() if (family := family_of(kind())) in DECIDES]
CASES = [*EVERYDAY, *(pytest.param(*each, marks=pytest.mark.deep) for each in ALL)]


def jsonable(arguments: dict[str, Any]) -> dict[str, Any]:
    text = msgspec.json.encode(arguments, enc_hook=lambda each: each.tolist())
    return msgspec.json.decode(text, type=dict[str, Any])


def live_journal(fixtures: Fixtures, usage: Usage, spec: DeploymentSpec, n_rounds: int = 60) -> list[Event]:
    """The events of a life: late outcomes, lost ones, cancellations, and arms that come and go."""
    live, rng, events, waiting = Deployment(1, spec), np.random.default_rng(3), [], []
    for n in range(n_rounds):
        now = 1_000_000 * (n + 1)
        event, body = live.decide(jsonable(usage.request(rng, live.agent.arms)), None, now)
        events.append(event)
        if body.action is not None:
            waiting.append(event.number)
        if n % 11 == 5:
            events.append(live.cancel(waiting.pop(), now))
        while len(waiting) > n % 4:
            outcome = jsonable(fixtures.outcome(rng, live.agent.arms))
            events.append(live.learn(waiting.pop(rng.integers(len(waiting))), outcome, now)[0])
        if usage.named and n == 40 and not fixtures.has_states:
            events.append(live.add_arm(ArmAdded("late", jsonable(usage.new_arm)), now))
        if usage.named and n == 50 and not fixtures.has_states:
            events.append(live.retire_arm(live.agent.arms[0], now))
    return events


def lives(family: str) -> Iterator[tuple[DeploymentSpec, list[Event]]]:
    """A journal for each usage of a family that its everyday policy can serve."""
    fixtures = FAMILIES[family].fixtures.of()
    for usage in fixtures.usages.values():
        spec = deployment_spec(policy=DECIDES[family], problem=usage.problem, seed=5)
        yield spec, live_journal(fixtures, usage, spec)


@pytest.mark.parametrize(("family", "policy"), CASES)
def test_its_state_is_that_of_a_replay_into_its_policy(family: str, policy: str) -> None:
    tried = 0
    for spec, events in lives(family):
        own = shadow_spec(spec, policy)
        try:
            shadow = Shadow(policy, Deployment(1, own))
        except ParameterError:  # refused when it is named: it needs names of arms
            continue
        tried += 1
        for event in events:
            apply(shadow, event)
        try:
            straight = replay(Deployment(1, own), events)
        except DriftwiseError as error:  # a change of policy is refused, too
            assert shadow.failure is not None and str(error.__cause__) in shadow.failure
            continue
        assert shadow.failure is None
        assert shadow.deployment.snapshot() == straight.snapshot()
        view = shadow.view(len(events))
        assert view.lag == 0 and view.agreement is not None
        assert (view.why is None) == (view.estimate is not None)
        if FAMILIES[family].service.no_estimate is not None:
            assert view.why == FAMILIES[family].service.no_estimate
    assert tried


def clicks(spec: DeploymentSpec, n_rounds: int, seed: int = 1) -> list[Event]:
    """A life with outcomes up to ten rounds late; some are lost, some decided outside."""
    live, rng, events = Deployment(1, spec), np.random.default_rng(seed), []
    due: list[tuple[int, int, float]] = []
    for n in range(n_rounds):
        now = 1_000_000 * (n + 1)
        outside = Override("blue", 0.25 if n % 20 else None) if n % 10 == 0 else None
        event, body = live.decide({}, None, now, outside)
        events.append(event)
        if n % 13:
            reward = float(rng.random() < {"red": 0.2, "blue": 0.5, "green": 0.7}[body.action])
            due.append((n + int(rng.integers(10)), event.number, reward))
        for each in [each for each in due if each[0] <= n]:
            due.remove(each)
            events.append(live.learn(each[1], {"reward": each[2]}, now)[0])
    return events


def slow_rows(spec: DeploymentSpec, events: list[Event], policy: str) -> list[tuple[float, float, float, float]]:
    """Weight, reward, prediction and expectation of every decision with a propensity and an outcome, plainly."""
    agent = Agent(Deployment(1, shadow_spec(spec, policy)).agent.policy, spec.problem, seed=spec.seed)
    luck, decided, rows = key(spec.seed, "shadow", policy), {}, []
    rewards: list[tuple[Any, float]] = []

    def mean(arm: Any) -> float:
        own = [reward for each, reward in rewards if each == arm] or [reward for _, reward in rewards]
        return sum(own) / len(own) if own else 0.0

    for event in events:
        body = body_of(event)
        if isinstance(body, Decided):
            choice = Proposer(agent, luck).propose({}, agent.t)
            agent.decide(override=(body.action, body.propensity or np.nan), id=event.number)
            predictions = mean(body.action), mean(choice)
            decided[event.number] = body.action, choice, body.propensity, predictions
        elif isinstance(body, Learned):
            action, choice, propensity, predictions = decided[event.ref]
            reward = body.outcome["reward"]
            agent.learn(event.ref, reward=reward)
            if propensity is not None:
                rows.append(((action == choice) / propensity, reward, *predictions))
            rewards.append((action, reward))
    return rows


@pytest.mark.parametrize("policy", ["sliding-ucb:window=50", "uniform"])
def test_its_estimate_is_that_of_the_formulas(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftwise.service.deployments.reward_means.MEMORY", 10**9)  # plain means
    spec = deployment_spec(policy="epsilon-greedy:epsilon=0.4", seed=7)
    events = clicks(spec, 400)
    shadow = Shadow(policy, Deployment(1, shadow_spec(spec, policy)))
    for event in events:
        shadow.apply(event)
    view, terms = shadow.view(len(events)), Terms(*np.array(slow_rows(spec, events, policy)).T)
    assert view.estimate is not None and view.live is not None and view.difference is not None, view.why
    assert view.n == len(terms.rewards) > 300
    assert view.estimate.mean == pytest.approx(doubly_robust(terms).mean())
    assert view.estimate.effective_sample_size == pytest.approx(effective_sample_size(terms.weights))
    assert view.live.mean == pytest.approx(terms.rewards.mean())
    assert view.difference.mean == pytest.approx(view.estimate.mean - view.live.mean)
    low, high = view.difference.ci95
    assert low is not None and high is not None and low < view.difference.mean < high


def refusal(policy: str, shadow: str = "uniform", n_rounds: int = 60, **fields: Any) -> str:
    spec = deployment_spec(policy=policy, **fields)
    follower = Shadow(shadow, Deployment(1, shadow_spec(spec, shadow)))
    for event in clicks(spec, n_rounds):
        follower.apply(event)
    view = follower.view(0)
    assert view.estimate is view.live is view.difference is None
    return str(view.why)


def test_without_propensities_there_is_no_number_and_a_sentence_says_what_to_set() -> None:
    assert "set propensity_samples, such as 200" in refusal("sliding-thompson:window=100")
    assert "leaves nothing to chance" in refusal("ucb1")
    assert "no outcome of a decision with a propensity" in refusal("uniform", "ucb1", 0)
    assert "effective sample size" in refusal("epsilon-greedy:epsilon=0.1", n_rounds=40)


def test_counted_propensities_are_enough() -> None:
    spec = deployment_spec(policy="sliding-thompson:window=100", propensity_samples=200)
    shadow = Shadow("uniform", Deployment(1, shadow_spec(spec, "uniform")))
    for event in clicks(spec, 900):
        shadow.apply(event)
    assert shadow.view(0).estimate is not None, shadow.why_not(0)


def test_a_unit_that_keeps_its_arm_counts_once() -> None:
    spec = deployment_spec(policy="uniform", problem=MultiArmed(["red", "blue"]), sticky=True)
    live, shadow = Deployment(1, spec), Shadow("ucb1", Deployment(1, shadow_spec(spec, "ucb1")))
    for n in range(60):
        event, _ = live.decide({}, f"unit {n % 20}", 1_000_000 * n)
        for each in (event, live.learn(event.number, {"reward": 1.0}, 1_000_000 * n)[0]):
            shadow.apply(each)
    assert shadow.estimate.n == shadow.state.n_decisions == 20
