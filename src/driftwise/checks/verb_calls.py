"""The verbs that write a state, called from Python one at a time.

One compiled function has all four, so that a policy is compiled once for the contracts that call them, not four times:
most of that time goes into what the verbs share and into taking the arrays of a state out of Python.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from driftwise.core.fixtures import Fixtures
from driftwise.core.kernel import kernel
from driftwise.core.protocols import Policy
from driftwise.core.seeding import key
from driftwise.core.types import Decision, Record
from driftwise.core.validation import without_text
from driftwise.core.verbs import advance, pend, settle, update

ADVANCE, PEND, SETTLE, UPDATE = range(4)


@kernel
def _call(verb: int, policy: Any, state: Any, decision: Decision, outcome: Any, now: int) -> None:
    if verb == ADVANCE:
        advance(policy, state, now, decision.rng)
    elif verb == PEND:
        pend(policy, state, decision)
    elif verb == SETTLE:
        settle(policy, state, decision)
    else:
        update(policy, state, decision, outcome, now)


@dataclass(frozen=True)
class VerbCalls:
    """The verbs of a policy. Verbs that take no decision or no outcome are given one that they do not read."""

    policy: Policy
    decision: Decision
    outcome: Any

    @classmethod
    def of(cls, policy: Policy, fixtures: Fixtures) -> Self:
        """The verbs of a policy that is tried with these fixtures."""
        rng = np.random.default_rng(0)
        decision = Decision(0, fixtures.action(rng), 0.5, fixtures.row(rng), key(0))
        return cls(without_text(policy), decision, fixtures.kernel_outcome(rng))

    def advance(self, state: Record, t: int, rng: np.uint64) -> None:
        """Time has come to round t."""
        _call(ADVANCE, self.policy, state, self.decision._replace(rng=rng), self.outcome, t)

    def pend(self, state: Record, decision: Decision) -> None:
        """The outcome of a decision is under way."""
        _call(PEND, self.policy, state, decision, self.outcome, decision.t)

    def settle(self, state: Record, decision: Decision) -> None:
        """It is no longer."""
        _call(SETTLE, self.policy, state, decision, self.outcome, decision.t)

    def update(self, state: Record, decision: Decision, outcome: Any, now: int) -> None:
        """What came of a decision."""
        _call(UPDATE, self.policy, state, decision, outcome, now)
