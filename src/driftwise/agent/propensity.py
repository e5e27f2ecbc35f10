"""How likely an agent is to choose each action now, by choosing many times with other random numbers.

Many policies cannot tell the probability of what they choose, Thompson sampling for one. It can be counted.
"""

from collections import Counter
from typing import Any

import numpy as np

from driftwise.agent.agent import Agent
from driftwise.core import serialization as states
from driftwise.core.loop import choose_once
from driftwise.core.pinned import pin
from driftwise.core.seeding import key


def choice_shares(agent: Agent, request: dict[str, Any], samples: int = 1000) -> dict[Any, float]:
    """The share of `samples` in which each action is chosen; a slate counts for every item in it.

    >>> import driftwise as dw
    >>> choice_shares(dw.Agent(dw.UCB1(), ["red", "blue"]), {})
    {'red': 1.0}
    """
    with agent._lock:  # a request is read into room that decisions share
        return _shares(agent, request, samples)


def _shares(agent: Agent, request: dict[str, Any], samples: int) -> dict[Any, float]:
    adapter, pinned = agent.adapter, pin(states.clone(agent._state))
    context = adapter.read_request(agent.t, request)
    choose: Any = choose_once if adapter.bare else agent._decide  # of bare arms, what `decide` chooses pends, too
    counts: Counter[Any] = Counter()
    for i in range(samples):
        index, _, _ = choose(agent._plain, pinned, agent.t, context, key(agent.seed, "odds", i))
        if isinstance(index, np.ndarray) and index.dtype.kind == "f":
            return {}  # a point: no two are the same
        for each in index.tolist() if isinstance(index, np.ndarray) else [index]:
            counts[adapter.registry.names[each] if each >= 0 and adapter.registry else None if each < 0 else each] += 1
    return {action: count / samples for action, count in counts.items()}
