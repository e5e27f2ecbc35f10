"""What an agent would choose for a round that somebody else decides.

Time comes to the round, as the decision that follows will bring it there; that it comes twice to the same round
changes nothing, which is a contract (`checks.time_stands_still`). The choice is drawn from a stream of its own: one
that shared the stream of whoever decides would agree with it too often.
"""

from typing import Any

import numpy as np

from driftwise.agent.agent import Agent
from driftwise.core.kernel import kernel
from driftwise.core.random import stream
from driftwise.core.verbs import advance, select


@kernel
def propose_once(policy: Any, state: Any, t: int, context: Any, rng: Any, luck: Any) -> tuple[Any, float, Any]:
    """Time comes to round `t` with the stream of `rng`, and the policy chooses with that of `luck`."""
    advance(policy, state, t, stream(rng, t))
    own = stream(luck, t)
    action, propensity = select(policy, state, t, context, own)
    return action, propensity, own


class Proposer:
    """Proposals of an agent, with randomness from the stream `luck`.

    >>> import driftwise as dw
    >>> from driftwise.core.seeding import key
    >>> agent = dw.Agent(dw.UCB1(), ["red", "blue"])
    >>> before = agent.dumps()
    >>> Proposer(agent, key(0, "shadow")).propose({}, 0)
    'red'
    >>> agent.dumps() == before
    True
    """

    def __init__(self, agent: Agent, luck: np.uint64) -> None:
        self.agent, self._luck = agent, luck
        self._state: Any = None
        self._propose: Any = None

    def propose(self, request: dict[str, Any], t: int) -> object:
        """The action that the agent would choose in round `t`, no earlier than its next."""
        agent, adapter, luck = self.agent, self.agent.adapter, self._luck
        with agent._lock:
            context = adapter.read_request(t, request)
            if self._state is not agent._state:  # it is another one after a change of arms, or of the problem
                examples = agent._plain, agent._pinned, 0, adapter.examples.context, agent._rng, luck
                self._propose = agent._bound(propose_once, *examples, holds=adapter.quick)
                self._state = agent._state
            before = adapter.checkpoint()
            try:
                index, propensity, own = self._propose(agent._plain, agent._address, t, context, agent._rng, luck)
                index, _ = adapter.refine(index, propensity, context, t, np.uint64(own), False)
                return adapter.publish(index, context)[0]
            except FloatingPointError as error:
                raise adapter.translate(error) from None
            finally:
                adapter.rollback(before)  # nothing is reserved for what is not done
