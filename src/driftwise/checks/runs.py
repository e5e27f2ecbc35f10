"""What a run is: reading and writing in their places, the same bits however it is played, honest propensities."""

from typing import Any

import numpy as np

from driftwise.checks._helpers import called
from driftwise.checks.fixtures import ROUNDS, ground_of, require
from driftwise.core import verbs
from driftwise.core.dispatch import decision_of
from driftwise.core.loop import play
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, dump, equal, load
from driftwise.core.validation import cast


def select_reads_only(policy: Any) -> None:
    """`select` leaves the state as it was, and answers with something that exists."""
    ground, policy, luck = ground_of(policy), cast(policy), np.random.default_rng(0)
    state = ground.played(policy)[0]
    before = clone(state)
    for t in range(ROUNDS, ROUNDS + 50):
        action, propensity = ground.select(policy, state, ROUNDS, ground.any_context(luck), at(key(3), t))
        require(ground.exists(action), f"{policy} chose {action!r}, which does not exist")
        require(np.isnan(propensity) or 0.0 < propensity <= 1.0, f"{policy} gave the propensity {propensity}")
    require(equal(before, state), f"select of {policy} changed the state")


def same_seed_same_run(policy: Any) -> None:
    """A run is a function of policy, world and seed."""
    one, other = (ground_of(policy).played(policy) for _ in range(2))
    require(equal(one[0], other[0]), f"two runs of {policy} with one seed ended in different states")
    require(bool((one[1].actions == other[1].actions).all()), f"two runs of {policy} with one seed chose differently")


def loop_equals_verbs(policy: Any) -> None:
    """The compiled loop gives the same bits as calling one verb after another."""
    ground, policy = ground_of(policy), cast(policy)
    state, trace = ground.played(policy)
    tape, nature = ground.world.draw(ROUNDS, seed=1)
    by_hand, rng = policy.init(ground.problem), key(2)
    for t in range(ROUNDS):
        own = at(rng, t)
        verbs.advance(policy, by_hand, t, own)
        context, is_open = ground.observe(tape, nature, t)
        if not is_open:
            break
        action, propensity = verbs.select(policy, by_hand, t, context, own)
        there = bool(np.all(action == trace.actions[t]))
        require(there, f"{policy} chose {trace.actions[t]} in the loop and {action} by hand, round {t}")
        outcome = verbs.respond(tape, nature, t, action)
        verbs.update(policy, by_hand, decision_of(t, action, propensity, context, action, own), outcome, t)
    require(equal(state, by_hand), f"{policy} ended in another state by hand than in the loop")


def blocks_join(policy: Any) -> None:
    """A run cut into blocks is the same run."""
    ground, policy = ground_of(policy), cast(policy)
    whole_state, whole_trace = ground.played(policy)
    state, nature, rng, actions = policy.init(ground.problem), ground.world.nature(ROUNDS), key(2), []
    for tape in ground.world.tapes(ROUNDS, seed=1, size=97):
        rounds = min(97, ROUNDS - tape.start)
        trace = ground.trace(tape.start, rounds)
        played = play(policy, state, tape, nature, rng, trace, ROUNDS)
        actions.append(trace.actions[:played])
        if played < rounds:
            break
    joined = np.concatenate(actions)
    same = bool((joined == whole_trace.actions[: len(joined)]).all())
    require(same, f"{policy} chose differently in blocks")
    require(equal(state, whole_state), f"{policy} ended differently when played in blocks")


def bytes_come_back(policy: Any) -> None:
    """`dump` and `load` give the same state, bit for bit."""
    ground = ground_of(policy)
    state = ground.played(policy)[0]
    again = load(dump(state), cast(policy).init(ground.problem))
    require(equal(state, again), f"the state of {policy} did not survive dump and load")


def propensities_are_frequencies(policy: Any) -> str | None:
    """Where a propensity is told, actions are chosen that often (binomial, 5 standard errors)."""
    ground, policy, draws = ground_of(policy), cast(policy), 4000
    state, context = ground.played(policy)[0], ground.any_context(np.random.default_rng(2))
    told: dict[Any, float] = {}
    chosen: dict[Any, int] = {}
    for i in range(draws):
        action, propensity = ground.select(policy, state, ROUNDS, context, at(key(6), i))
        told[action], chosen[action] = propensity, chosen.get(action, 0) + 1
    if all(np.isnan(list(told.values()))):
        return f"{called(policy)} tells no propensities"
    for action in (action for action in told if not np.isnan(told[action])):
        error, rate = np.sqrt(told[action] * (1.0 - told[action]) / draws), chosen[action] / draws
        close = abs(rate - told[action]) <= 5.0 * error
        require(bool(close), f"{policy} told {told[action]:.3f} for {action} and chose it {rate:.3f}")
    return None
