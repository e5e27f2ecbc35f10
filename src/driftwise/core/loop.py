"""The one loop. Every policy meets every world here; production calls the same verbs one at a time."""

from typing import Any

from driftwise.core.dispatch import decision_of, note, outcome_of
from driftwise.core.kernel import kernel
from driftwise.core.random import branch, stream
from driftwise.core.summary import Summary
from driftwise.core.types import Decision, Trace
from driftwise.core.verbs import advance, deliver, observe, pend, respond, select, settle, summarise, update

UNDER_WAY, OVER, KNOWN = range(3)  # stages of a decision


@kernel
def play(policy: Any, state: Any, tape: Any, nature: Any, rng: Any, trace: Trace, horizon: int) -> int:
    """Play the rounds of `trace` up to `horizon`; return how many were played before the world closed."""
    start = trace.start
    stop = min(horizon, start + len(trace.actions))
    for t in range(start, stop):
        own = stream(rng, t)
        advance(policy, state, t, own)
        context, is_open = observe(tape, nature, t)
        if not is_open:
            return t - start
        action, propensity = select(policy, state, t, context, own)
        outcome = respond(tape, nature, t, action)
        decision = decision_of(t, action, propensity, context, action, own)
        deliver(tape, nature, policy, state, decision, outcome)
        note(trace.actions, t - start, action)
        trace.rewards[t - start] = outcome.reward
    return stop - start


@kernel
def choose_once(policy: Any, state: Any, t: int, context: Any, rng: Any) -> tuple[Any, float, Any]:
    """Time comes to round `t`, and the policy chooses; the stream it drew from comes too."""
    own = stream(rng, t)
    advance(policy, state, t, own)
    action, propensity = select(policy, state, t, context, own)
    return action, propensity, own


@kernel
def decide_once(policy: Any, state: Any, t: int, context: Any, rng: Any, override: int) -> tuple[int, float, Any]:
    """The first half of a round, for a program that lives in the real world: choose one arm and let it pend.

    An `override` that is not negative is the arm that was chosen outside, and takes the place of the policy's.
    """
    own = stream(rng, t)
    advance(policy, state, t, own)
    action, propensity = select(policy, state, t, context, own)
    if override >= 0:
        action = override
    pend(policy, state, decision_of(t, action, propensity, context, action, own))
    return action, propensity, own


@kernel
def share_of(policy: Any, state: Any, t: int, context: Any, own: Any, action: int, draws: int) -> float:
    """How likely the arm just chosen was, counted: the share of it in `draws` with other luck and in the one made."""
    other, same = branch(branch(branch(own))), 1
    for i in range(draws):
        again, _ = select(policy, state, t, context, stream(other, i))
        same += again == action
    return same / (draws + 1)


@kernel
def follow_once(
    policy: Any,
    state: Any,
    t: int,
    action: Any,
    propensity: float,
    context: Any,
    rng: Any,
    value: Any,
    now: int,
    stage: int,
) -> None:
    """The second half, what becomes of the decision of round `t`: it pends, is over, or `value` came of it by `now`.

    `context` is what describes its action. The three are one function, because they share most of what is compiled.
    """
    decision = Decision(t, action, propensity, context, stream(rng, t))
    if stage == UNDER_WAY:
        pend(policy, state, decision)
    else:
        settle(policy, state, decision)
        if stage == KNOWN:
            update(policy, state, decision, outcome_of(value), now)


@kernel
def summarise_once(policy: Any, state: Any, t: int, context: Any, rng: Any, out: Summary) -> None:
    """Time comes to round `t`, and the policy says what it knows of its arms."""
    advance(policy, state, t, stream(rng, t))
    summarise(policy, state, t, context, out)
