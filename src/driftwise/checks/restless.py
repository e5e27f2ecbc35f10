"""What policies for arms that move on their own promise besides."""

from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.checks._helpers import called
from driftwise.checks.fixtures import ARMS, ROUNDS, STATES, Ground, Luck, ground_of, require
from driftwise.core import verbs
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, equal, lasting, regroup, roles
from driftwise.core.types import Decision, Moves, PerArm
from driftwise.core.validation import cast
from driftwise.errors import RewardError
from driftwise.families import Restless

CROWD = 1200


def moving_arms_come_and_go(policy: Any) -> str | None:
    """A retired arm is never chosen again, a new one is; what the others did in the meantime is learned.

    So many are activated as was said last.
    """
    ground = ground_of(policy)
    if ground.family != "restless":
        return f"{called(policy)} has no arms that move on their own"
    luck = np.random.default_rng(4)
    for how, way in ground.ways.items():
        agent = way.agent(policy, seed=2)
        _live(agent, luck)
        waiting = agent.decide(states=_states(agent, luck))
        agent.retire_arm("b")
        agent.learn(waiting, states=dict.fromkeys(("a", "b", "c", "e"), 0))
        require(agent.ignored == 0, f"{policy} ({how}) learned nothing when one of its arms had left")
        agent.add_arm("d", **way.brings)
        chosen = _live(agent, luck)
        require("b" not in chosen, f"{policy} ({how}) activated a retired arm")
        require("d" in chosen, f"{policy} ({how}) never activated a new arm")
        for count in (1, 4, 3):
            agent.change(activate=count)
            action = agent.decide(states=_states(agent, luck)).action
            require(len(set(action)) == count, f"{policy} ({how}) activated {action} when {count} were asked for")
    return None


def indices_follow_their_arms(policy: Any) -> str | None:
    """Arms that change places take their indices along."""
    ground, policy = ground_of(policy), cast(policy)
    if ground.family != "restless":
        return f"{called(policy)} has no arms that move on their own"
    luck, played = np.random.default_rng(5), ground.played(policy)[0]
    order, kept = [2, 0, 3, 1], [0, 1, 2, 3]
    state, turned = (regroup(played, policy.init(ground.problem_of(arms)), arms) for arms in (kept, order))
    for t in range(ROUNDS, ROUNDS + 20):
        states, one, other = ground.any_context(luck), np.zeros(len(order)), np.zeros(len(order))
        for each in (state, turned):  # what is recomputed when arms move is so before the next decision
            verbs.advance(policy, each, t, at(key(7), t))
        verbs.rank(policy, state, t, states, one)
        verbs.rank(policy, turned, t, np.ascontiguousarray(states[order]), other)
        if np.isnan(one).all():
            return f"{called(policy)} goes by no index"
        require(bool((one[order] == other).all()), f"{policy} gave other indices to arms that had changed places")
    return None


def unseen_arms_teach_nothing(policy: Any) -> str | None:
    """Where a state was not seen, before or after, that arm teaches nothing; where none was, nothing is learned."""
    ground, policy = ground_of(policy), cast(policy)
    if ground.family != "restless":
        return f"{called(policy)} has no arms that move on their own"
    luck, state = np.random.default_rng(6), ground.played(policy)[0]
    for arm in (*range(ground.problem.n_arms), None):
        for before in (True, False):
            states, (_, rewards, after) = ground.any_context(luck), ground.any_outcome(luck)
            (states if before else after)[slice(None) if arm is None else arm] = -1
            decision = Decision(ROUNDS, ground.any_action(luck), np.nan, states, at(key(8), ROUNDS))
            taught = clone(state)
            verbs.update(policy, taught, decision, Moves(0.0, rewards, after), ROUNDS)
            if arm is None:
                require(equal(state, taught), f"{policy} learned something though no state was seen")
            else:
                require(_same_of(arm, state, taught), f"{policy} learned something of an arm that was not seen")
    return None


def rewards_are_learned_or_refused(policy: Any) -> str | None:
    """Rewards that come with the states change what is learned; where they would not, they are refused."""
    ground, policy = ground_of(policy), cast(policy)
    if ground.family != "restless":
        return f"{called(policy)} has no arms that move on their own"
    for how, way in ground.ways.items():
        agents = [way.agent(policy, seed=3) for _ in range(3)]
        context, states = way.told(np.random.default_rng(7)), [0] * ARMS
        learned = []
        for agent, rewards in zip(agents, (None, [0.25] * ARMS, dict.fromkeys(agents[0].arms, 0.75)), strict=True):
            decision = agent.decide(**context)
            before = agent.dumps()
            try:
                agent.learn(decision, states=states, rewards=rewards)
            except RewardError:
                require(agent.dumps() == before, f"{policy} ({how}) changed although its rewards were refused")
            else:
                learned.append(agent.dumps())
        require(len(learned) in (1, 3), f"{policy} ({how}) took {len(learned) - 1} of 2 sets of rewards")
        require(len(set(learned)) == len(learned), f"{policy} ({how}) took rewards and learned nothing from them")
        refuses, ignores = len(learned) == 1, _ignores_rewards(ground, policy)
        require(refuses <= ignores, f"{policy} ({how}) refuses rewards, but would learn from them")
    return None


def _ignores_rewards(ground: Ground, policy: Any) -> bool:
    """Whether `update` ends in the same state whatever the rewards."""
    luck, states = np.random.default_rng(8), [policy.init(ground.problem) for _ in range(2)]
    action, before, (_, rewards, after) = ground.any_action(luck), ground.any_context(luck), ground.any_outcome(luck)
    for state, earned in zip(states, (rewards, rewards + 1.0), strict=True):
        verbs.update(policy, state, Decision(0, action, np.nan, before, at(key(9), 0)), Moves(0.0, earned, after), 0)
    return equal(*states)


def crowds_can_be_chosen_from(policy: Any) -> str | None:
    """Half of many arms that are all alike are chosen, though the chance of just these is too small for a float."""
    if ground_of(policy).family != "restless":
        return f"{called(policy)} has no arms that move on their own"
    agent = Agent(policy, Restless(CROWD, n_active=CROWD // 2, states=2, state_rewards=[0.0, 1.0]), seed=1)
    for _ in range(3):
        decision = agent.decide(states=[0] * CROWD)
        chance = decision.propensity
        require(len(set(decision.action)) == CROWD // 2, f"{policy} activated {len(set(decision.action))} of {CROWD}")
        require(np.isnan(chance) or 0.0 < chance <= 1.0, f"{policy} told the propensity {chance} for half of {CROWD}")
        agent.learn(decision, states=[0] * CROWD)
    return None


def _same_of(arm: int, one: Any, other: Any) -> bool:
    """Whether two states hold the same of one arm."""
    pairs = zip(lasting(one), lasting(other), strict=True)
    return all((a[arm] == b[arm]).all() for (path, a), (_, b) in pairs if _role(one, path) is PerArm)


def _role(state: Any, path: str) -> Any:
    """The role of an array, by its dotted path."""
    *outer, name = path.split(".")
    for each in outer:
        state = getattr(state, each)
    return roles(type(state))[name]


def _states(agent: Agent, luck: Luck) -> dict[Any, int]:
    return {name: int(luck.integers(STATES)) for name in agent.arms}


def _live(agent: Agent, luck: Luck, rounds: int = 300) -> set[Any]:
    """Some rounds in which arms go anywhere; all that were activated."""
    chosen: set[Any] = set()
    for _ in range(rounds):
        decision = agent.decide(states=_states(agent, luck))
        agent.learn(decision, states=_states(agent, luck))
        chosen |= set(decision.action)
    return chosen
