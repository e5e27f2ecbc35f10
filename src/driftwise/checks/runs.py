"""What a run is: reading and writing in their places, the same bits however it is played, honest propensities."""

from typing import Any

import numpy as np

from driftwise.checks._helpers import kind_name, spoil_scratch
from driftwise.checks.contract import ContractError, fixtures_of, require, select, short_run
from driftwise.checks.verb_calls import VerbCalls
from driftwise.core import verbs
from driftwise.core.dispatch import decision_of
from driftwise.core.family import trace_for
from driftwise.core.fixtures import ROUNDS
from driftwise.core.kernel import bounds_checked
from driftwise.core.loop import play
from driftwise.core.protocols import Policy
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, dump, equal, load
from driftwise.core.types import Decision
from driftwise.core.validation import cast, without_text


def no_index_is_out_of_bounds(policy: Policy) -> None:
    """No kernel reads or writes outside of an array, which compiled code would do without a word."""
    with bounds_checked():
        try:
            short_run(policy)
        except IndexError as error:
            raise ContractError(f"{policy}: a kernel reads or writes outside of an array ({error})") from None


def select_reads_only(policy: Policy) -> None:
    """`select` leaves the state as it was, and answers with something that exists."""
    fixtures, policy, luck = fixtures_of(policy), cast(policy), np.random.default_rng(0)
    state, calls = short_run(policy)[0], VerbCalls.of(policy, fixtures)
    before = clone(state)
    for t in range(ROUNDS, ROUNDS + 50):
        action, propensity = select(calls, state, ROUNDS, fixtures.context(luck), at(key(3), t))
        require(fixtures.exists(action), f"{policy} chose {action!r}, which does not exist")
        require(np.isnan(propensity) or 0.0 < propensity <= 1.0, f"{policy} gave the propensity {propensity}")
    require(equal(before, state), f"select of {policy} changed the state")


def time_stands_still(policy: Policy) -> None:
    """Time that comes to a round a second time changes nothing, whether a choice was read between or not.

    So a policy can say what it would choose in a round that somebody else decides.
    """
    fixtures, policy, luck, rng = fixtures_of(policy), cast(policy), np.random.default_rng(4), key(5)
    state, calls = short_run(policy)[0], VerbCalls.of(policy, fixtures)
    for t in range(ROUNDS, ROUNDS + 20):
        own = at(rng, t)
        calls.advance(state, t, own)
        before = clone(state)
        calls.select(state, t, fixtures.context(luck), at(key(6), t))
        calls.advance(state, t, own)
        require(equal(before, state), f"{policy} changed when time came to round {t} a second time")
        calls.pend(state, Decision(t, fixtures.action(luck), 0.5, fixtures.row(luck), own))


def same_seed_same_run(policy: Policy) -> None:
    """A run is a function of policy, world and seed."""
    one, other = (short_run(policy) for _ in range(2))
    require(equal(one[0], other[0]), f"two runs of {policy} with one seed ended in different states")
    require(bool((one[1].actions == other[1].actions).all()), f"two runs of {policy} with one seed chose differently")


def loop_equals_verbs(policy: Policy) -> None:
    """The compiled loop gives the same bits as calling one verb after another, whatever is in the room to work in."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    state, trace = short_run(policy)
    tape, nature = fixtures.world.draw(ROUNDS, seed=1)
    by_hand, rng, calls = policy.init(fixtures.problem), key(2), VerbCalls.of(policy, fixtures)
    for t in range(ROUNDS):
        own = at(rng, t)
        calls.advance(by_hand, t, own)
        context, is_open = fixtures.observe(tape, nature, t)
        if not is_open:
            break
        spoil_scratch(by_hand)
        action, propensity = calls.select(by_hand, t, context, own)
        there = bool(np.all(action == trace.actions[t]))
        require(there, f"{policy} chose {trace.actions[t]} in the loop and {action} by hand, round {t}")
        outcome = verbs.respond(tape, nature, t, action)
        if isinstance(action, np.ndarray):
            action = action.copy()  # it may be room that a policy works in
        spoil_scratch(by_hand)
        calls.update(by_hand, decision_of(t, action, propensity, context, action, own), outcome, t)
    require(equal(state, by_hand), f"{policy} ended in another state by hand than in the loop")


def blocks_join(policy: Policy) -> None:
    """A run cut into blocks is the same run."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    whole_state, whole_trace = short_run(policy)
    state, nature, rng, actions = policy.init(fixtures.problem), fixtures.world.nature(ROUNDS), key(2), []
    for tape in fixtures.world.tapes(ROUNDS, seed=1, size=97):
        rounds = min(97, ROUNDS - tape.start)
        trace = trace_for(fixtures.problem, tape.start, rounds)
        played = play(without_text(policy), state, tape, nature, rng, trace, ROUNDS)
        actions.append(trace.actions[:played])
        if played < rounds:
            break
    joined = np.concatenate(actions)
    same = bool((joined == whole_trace.actions[: len(joined)]).all())
    require(same, f"{policy} chose differently in blocks")
    require(equal(state, whole_state), f"{policy} ended differently when played in blocks")


def bytes_come_back(policy: Policy) -> None:
    """`dump` and `load` give the same state, bit for bit."""
    state = short_run(policy)[0]
    again = load(dump(state), cast(policy).init(fixtures_of(policy).problem))
    require(equal(state, again), f"the state of {policy} did not survive dump and load")


def propensities_are_frequencies(policy: Policy) -> str | None:
    """Where a policy knows propensities, actions are chosen that often (binomial, 5 standard errors)."""
    fixtures, policy, draws = fixtures_of(policy), cast(policy), 4000
    state, calls = short_run(policy)[0], VerbCalls.of(policy, fixtures)
    context = fixtures.context(np.random.default_rng(2))
    propensities: dict[Any, float] = {}
    counts: dict[Any, int] = {}
    for i in range(draws):
        action, propensity = select(calls, state, ROUNDS, context, at(key(6), i))
        propensities[action], counts[action] = propensity, counts.get(action, 0) + 1
    if all(np.isnan(list(propensities.values()))):
        return f"{kind_name(policy)} has no propensities"
    for action, propensity in propensities.items():
        if not np.isnan(propensity):
            error, rate = np.sqrt(propensity * (1.0 - propensity) / draws), counts[action] / draws
            close = abs(rate - propensity) <= 5.0 * error
            require(bool(close), f"{policy} gave {action} the propensity {propensity:.3f} and chose it {rate:.3f}")
    return None
