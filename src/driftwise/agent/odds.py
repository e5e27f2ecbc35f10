"""What an agent would choose now if its luck were another: how sure it is, seen from outside.

Many policies cannot tell the probability of what they choose, Thompson sampling for one. It can be counted.
"""

from collections import Counter
from typing import Any

import numpy as np

from driftwise.agent.agent import Agent
from driftwise.core import state as states
from driftwise.core.seeding import key


def odds(agent: Agent, asked: dict[str, Any], draws: int = 1000) -> dict[Any, float]:
    """The share of `draws` in which each action is chosen; a slate counts for every item in it.

    >>> import driftwise as dw
    >>> odds(dw.Agent(dw.UCB1(), arms=["red", "blue"]), {})
    {'red': 1.0}
    """
    manner, state = agent._manner, states.clone(agent._state)
    shown = manner.show(agent.t, asked)
    counts: Counter[Any] = Counter()
    joint = agent._joint  # then a choice pends at once, and takes an action from outside, of which there is none
    for i in range(draws):
        if joint and agent._pends:
            state = states.clone(agent._state)  # where no other draw pends
        luck = key(agent.seed, "odds", i)
        place, _, _ = agent._decide(agent._plain, state, agent.t, shown, luck, *([-1] if joint else []))
        if isinstance(place, np.ndarray) and place.dtype.kind == "f":
            return {}  # a point: no two are the same
        for each in place.tolist() if isinstance(place, np.ndarray) else [place]:
            counts[manner.roster.names[each] if each >= 0 and manner.roster else None if each < 0 else each] += 1
    return {action: count / draws for action, count in counts.items()}
