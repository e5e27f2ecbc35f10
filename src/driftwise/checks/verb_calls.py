"""The verbs of a policy, called from Python one at a time.

One compiled function has all five, so that a policy is compiled once for whoever calls them, not five times: most of
that time goes into what the verbs share and into taking the arrays of a state out of Python.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from driftwise.core.fixtures import Fixtures
from driftwise.core.kernel import kernel
from driftwise.core.pinned import PinnedState, pin
from driftwise.core.protocols import Policy
from driftwise.core.seeding import key
from driftwise.core.types import Decision, Record
from driftwise.core.validation import without_text
from driftwise.core.verbs import advance, pend, select, settle, update

ADVANCE, SELECT, PEND, SETTLE, UPDATE = range(5)


@kernel
def _call(
    verb: int, policy: Any, state: Any, context: Any, decision: Decision, outcome: Any, now: int
) -> tuple[Any, float]:
    action, propensity = decision.action, decision.propensity
    if verb == ADVANCE:
        advance(policy, state, now, decision.rng)
    elif verb == SELECT:
        action, propensity = select(policy, state, now, context, decision.rng)
    elif verb == PEND:
        pend(policy, state, decision)
    elif verb == SETTLE:
        settle(policy, state, decision)
    else:
        update(policy, state, decision, outcome, now)
    return action, propensity


@dataclass
class VerbCalls:
    """The verbs of a policy. Verbs that take no context, decision or outcome are given one that they do not read."""

    policy: Policy
    context: Any
    decision: Decision
    outcome: Any
    _last: PinnedState | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, policy: Policy, fixtures: Fixtures) -> Self:
        """The verbs of a policy that is tried with these fixtures."""
        rng = np.random.default_rng(0)
        decision = Decision(0, fixtures.action(rng), 0.5, fixtures.row(rng), key(0))
        return cls(without_text(policy), fixtures.context(rng), decision, fixtures.kernel_outcome(rng))

    def advance(self, state: Record, t: int, rng: np.uint64) -> None:
        """Time has come to round t."""
        _call(ADVANCE, self.policy, self._pin(state), self.context, self.decision._replace(rng=rng), self.outcome, t)

    def select(self, state: Record, t: int, context: object, rng: np.uint64) -> tuple[Any, float]:
        """What the policy chooses, and how likely that was."""
        return _call(SELECT, self.policy, self._pin(state), context, self.decision._replace(rng=rng), self.outcome, t)

    def pend(self, state: Record, decision: Decision) -> None:
        """The outcome of a decision is under way."""
        _call(PEND, self.policy, self._pin(state), self.context, decision, self.outcome, decision.t)

    def settle(self, state: Record, decision: Decision) -> None:
        """It is no longer."""
        _call(SETTLE, self.policy, self._pin(state), self.context, decision, self.outcome, decision.t)

    def update(self, state: Record, decision: Decision, outcome: Any, now: int) -> None:
        """What came of a decision."""
        _call(UPDATE, self.policy, self._pin(state), self.context, decision, outcome, now)

    def _pin(self, state: Record) -> PinnedState:
        """A state, pinned once for as long as it is the one that is asked about."""
        if self._last is None or self._last.state is not state:
            self._last = pin(state)
        return self._last
