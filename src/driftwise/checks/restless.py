"""What policies for restless arms promise besides."""

from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.checks._helpers import kind_name
from driftwise.checks.contract import agent_for, decide, fixtures_of, require, short_run
from driftwise.checks.verb_calls import VerbCalls
from driftwise.core import verbs
from driftwise.core.fixtures import ROUNDS, Fixtures, Rng, Usage
from driftwise.core.protocols import Policy
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, equal, lasting, regroup, roles
from driftwise.core.types import Decision, Moves, PerArm, Record
from driftwise.core.validation import cast, without_text
from driftwise.errors import RewardError

CROWD = 1200


def restless_arms_come_and_go(policy: Policy) -> str | None:
    """A retired arm is never chosen again, a new one is; what the others did in the meantime is learned.

    As many are activated as the latest `change` says.
    """
    fixtures = fixtures_of(policy)
    if not fixtures.has_states:
        return f"{kind_name(policy)} has no arms with states"
    luck = np.random.default_rng(4)
    for how, usage in fixtures.usages.items():
        agent = agent_for(policy, usage, seed=2)
        _live(agent, fixtures, usage, luck)
        waiting = decide(agent, usage, luck)
        agent.retire_arm("b")
        agent.learn(waiting, states=dict.fromkeys(("a", "b", "c", "e"), 0))
        require(agent.ignored == 0, f"{policy} ({how}) learned nothing when one of its arms had left")
        agent.add_arm("d", **usage.new_arm)
        active = _live(agent, fixtures, usage, luck)
        require("b" not in active, f"{policy} ({how}) activated a retired arm")
        require("d" in active, f"{policy} ({how}) never activated a new arm")
        for count in (1, 4, 3):
            agent.change(n_active=count)
            action = decide(agent, usage, luck).action
            require(len(set(action)) == count, f"{policy} ({how}) activated {action}, not {count} arms")
    return None


def indices_follow_their_arms(policy: Policy) -> str | None:
    """Arms that change places take their indices along."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not fixtures.has_states:
        return f"{kind_name(policy)} has no arms with states"
    luck, played = np.random.default_rng(5), short_run(policy)[0]
    order, same_order, calls = [2, 0, 3, 1], [0, 1, 2, 3], VerbCalls.of(policy, fixtures)
    state, permuted = (regroup(played, policy.init(fixtures.problem_with(arms)), arms) for arms in (same_order, order))
    for t in range(ROUNDS, ROUNDS + 20):
        states, one, other = fixtures.context(luck), np.zeros(len(order)), np.zeros(len(order))
        for each in (state, permuted):  # what is recomputed when arms move is so before the next decision
            calls.advance(each, t, at(key(7), t))
        verbs.rank(without_text(policy), state, t, states, one)
        verbs.rank(without_text(policy), permuted, t, np.ascontiguousarray(states[order]), other)
        if np.isnan(one).all():
            return f"{kind_name(policy)} has no index"
        require(bool((one[order] == other).all()), f"{policy} gave other indices to arms that had changed places")
    return None


def unseen_arms_teach_nothing(policy: Policy) -> str | None:
    """Where a state was not seen, before or after, that arm teaches nothing; where none was, nothing is learned."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not fixtures.has_states:
        return f"{kind_name(policy)} has no arms with states"
    luck, state = np.random.default_rng(6), short_run(policy)[0]
    for arm in (*range(fixtures.problem.n_arms), None):
        for before in (True, False):
            states, (_, rewards, after) = fixtures.context(luck), fixtures.kernel_outcome(luck)
            (states if before else after)[slice(None) if arm is None else arm] = -1
            decision = Decision(ROUNDS, fixtures.action(luck), np.nan, states, at(key(8), ROUNDS))
            taught = clone(state)
            VerbCalls.of(policy, fixtures).update(taught, decision, Moves(0.0, rewards, after), ROUNDS)
            if arm is None:
                require(equal(state, taught), f"{policy} learned something though no state was seen")
            else:
                require(_same_of(arm, state, taught), f"{policy} learned something of an arm that was not seen")
    return None


def rewards_are_learned_or_refused(policy: Policy) -> str | None:
    """Rewards that come with the states change what is learned; where they would not, they are refused."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not fixtures.has_states:
        return f"{kind_name(policy)} has no arms with states"
    for how, usage in fixtures.usages.items():
        agents = [agent_for(policy, usage, seed=3) for _ in range(3)]
        arms = agents[0].arms
        request, states = usage.request(np.random.default_rng(7), arms), [0] * len(arms)
        learned = []
        for agent, rewards in zip(agents, (None, [0.25] * len(arms), dict.fromkeys(arms, 0.75)), strict=True):
            decision = agent.decide(**request)
            before = agent.dumps()
            try:
                agent.learn(decision, states=states, rewards=rewards)
            except RewardError:
                require(agent.dumps() == before, f"{policy} ({how}) changed although its rewards were refused")
            else:
                learned.append(agent.dumps())
        require(len(learned) in (1, 3), f"{policy} ({how}) took {len(learned) - 1} of 2 sets of rewards")
        require(len(set(learned)) == len(learned), f"{policy} ({how}) took rewards and learned nothing from them")
        refuses, ignores = len(learned) == 1, _ignores_rewards(fixtures, policy)
        require(refuses <= ignores, f"{policy} ({how}) refuses rewards, but would learn from them")
    return None


def _ignores_rewards(fixtures: Fixtures, policy: Policy) -> bool:
    """Whether `update` ends in the same state whatever the rewards."""
    luck, states = np.random.default_rng(8), [policy.init(fixtures.problem) for _ in range(2)]
    action, before, (_, rewards, after) = fixtures.action(luck), fixtures.context(luck), fixtures.kernel_outcome(luck)
    for state, earned in zip(states, (rewards, rewards + 1.0), strict=True):
        decision = Decision(0, action, np.nan, before, at(key(9), 0))
        VerbCalls.of(policy, fixtures).update(state, decision, Moves(0.0, earned, after), 0)
    return equal(*states)


def crowds_can_be_chosen_from(policy: Policy) -> str | None:
    """Half of many arms that are all alike are chosen, though the chance of just these is too small for a float."""
    problem = fixtures_of(policy).crowd(CROWD)
    if problem is None:
        return f"{kind_name(policy)} has no arms with states"
    agent = Agent(policy, problem, seed=1)
    for _ in range(3):
        decision = agent.decide(states=[0] * CROWD)
        chance = decision.propensity
        require(len(set(decision.action)) == CROWD // 2, f"{policy} activated {len(set(decision.action))} of {CROWD}")
        require(np.isnan(chance) or 0.0 < chance <= 1.0, f"{policy} gave the propensity {chance} for half of {CROWD}")
        agent.learn(decision, states=[0] * CROWD)
    return None


def _same_of(arm: int, one: Record, other: Record) -> bool:
    """Whether two states hold the same of one arm."""
    pairs = zip(lasting(one), lasting(other), strict=True)
    return all((a[arm] == b[arm]).all() for (path, a), (_, b) in pairs if _role(one, path) is PerArm)


def _role(state: Record, path: str) -> object:
    """The role of an array, by its dotted path."""
    *outer, name = path.split(".")
    for each in outer:
        state = getattr(state, each)
    return roles(type(state))[name]


def _live(agent: Agent, fixtures: Fixtures, usage: Usage, luck: Rng, rounds: int = 300) -> set[Any]:
    """Some rounds in which arms go anywhere; all that were activated."""
    active: set[Any] = set()
    for _ in range(rounds):
        decision = decide(agent, usage, luck)
        agent.learn(decision, **fixtures.outcome(luck, agent.arms))
        active |= set(decision.action)
    return active
