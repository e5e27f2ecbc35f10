"""Replay of a policy that learns, on a log of random choices.

In every row the policy proposes an arm. Where the log has the same arm, the row is accepted with probability c / p, p
the propensity of the log and c the `acceptance`, no larger than any p: so that every row is accepted with the same
probability c, whatever was proposed, and what the policy learns from is a random share c of what it would have seen
had it decided itself. (Li, Chu, Langford & Wang 2011 for uniform logs; Dudik, Erhan, Langford & Li 2014, section 4.)

    rounds="log"        a round of the policy is a row of the log, and rewards of rows that are not accepted are lost.
                        Windows and discounts mean what they mean when the policy decides for all of these rows.
    rounds="accepted"   a round is an accepted row, as in the papers: the policy decides for a share c of the rows, and
                        the world drifts 1 / c times faster for it.

Proposals of all rows, not only of those accepted, go into the estimators. The policy's state depends on rows before
only, so that a proposal is a choice like that of a fixed policy.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.dispatch import decision_of
from driftwise.core.foresight import Foresight, with_numbers
from driftwise.core.kernel import kernel
from driftwise.core.protocols import Policy
from driftwise.core.random import stream, uniform
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Ints, Outcome, Problem
from driftwise.core.validation import cast, one_of, without_text
from driftwise.core.verbs import advance, observe, pend, select, settle, update
from driftwise.evaluate.logged_tape import AnyTape, room_for

ROUNDS = ("log", "accepted")


class Replay(NamedTuple):
    """What the policy proposed in each row, and the rounds of accepted rows; -1 where a row was not accepted."""

    proposals: Ints
    rounds: Ints
    chances: Floats

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """Which rows the policy learned from."""
        return self.rounds >= 0


@kernel
def replay(
    policy: Any, state: Any, tape: Any, nature: Any, rng: Any, luck: Any, acceptance: float, dense: bool, out: Replay
) -> int:
    """Play the rows of a tape; return how many were accepted. `dense` rounds count accepted rows, others all rows."""
    n, due, n_accepted, last = len(tape.actions), 0, 0, -1
    for i in range(n):
        t = n_accepted if dense else i
        own = stream(rng, t)
        if t > last:
            advance(policy, state, t, own)
        last = t
        context, _ = observe(tape, nature, i)
        action, propensity = select(policy, state, t, context, own)
        out.proposals[i], out.chances[i] = action, propensity
        u, _ = uniform(stream(luck, i))
        if action == tape.actions[i] and u * tape.propensities[i] < acceptance:
            out.rounds[i] = t
            n_accepted += 1
            if tape.arrivals[i] > i:
                pend(policy, state, decision_of(t, action, propensity, context, action, own))
        now = n_accepted - 1 if dense else i
        while due < n and tape.arrivals[tape.order[due]] <= i:
            j = tape.order[due]
            due += 1
            if out.rounds[j] < 0:
                continue
            arm = out.proposals[j]
            row, _ = observe(tape, nature, j)
            decision = decision_of(out.rounds[j], arm, out.chances[j], row, arm, stream(rng, out.rounds[j]))
            if tape.arrivals[j] > j:
                settle(policy, state, decision)
            update(policy, state, decision, Outcome(tape.rewards[j]), now)
    return n_accepted


def replay_policy(
    policy: Policy,
    problem: Problem,
    tape: AnyTape,
    *,
    acceptance: float,
    rounds: str = "log",
    seed: int = 0,
) -> Replay:
    """Replay a policy from its first round on."""
    dense = one_of("rounds", rounds, ROUNDS) == "accepted"
    n = len(tape.actions)
    nature = room_for(tape)
    out = Replay(np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.full(n, np.nan))
    policy = with_numbers(cast(policy), Foresight(problem))
    state, plain = policy.init(problem), without_text(policy)
    replay(plain, state, tape, nature, key(seed, "agent"), key(seed, "acceptance"), float(acceptance), dense, out)
    return out
