"""What an agent would choose now if its luck were another: how sure it is, seen from outside.

Many policies cannot tell the probability of what they choose, Thompson sampling for one. It can be counted.
"""

from collections import Counter
from typing import Any

import numpy as np

from driftwise.agent.agent import Agent
from driftwise.core import serialization as states
from driftwise.core.loop import choose_once
from driftwise.core.seeding import key


def odds(agent: Agent, asked: dict[str, Any], draws: int = 1000) -> dict[Any, float]:
    """The share of `draws` in which each action is chosen; a slate counts for every item in it.

    >>> import driftwise as dw
    >>> odds(dw.Agent(dw.UCB1(), arms=["red", "blue"]), {})
    {'red': 1.0}
    """
    manner, state = agent._manner, states.clone(agent._state)
    shown = manner.show(agent.t, asked)
    choose: Any = choose_once if agent._joint else agent._decide  # nothing pends for it
    counts: Counter[Any] = Counter()
    for i in range(draws):
        place, _, _ = choose(agent._plain, state, agent.t, shown, key(agent.seed, "odds", i))
        if isinstance(place, np.ndarray) and place.dtype.kind == "f":
            return {}  # a point: no two are the same
        for each in place.tolist() if isinstance(place, np.ndarray) else [place]:
            counts[manner.roster.names[each] if each >= 0 and manner.roster else None if each < 0 else each] += 1
    return {action: count / draws for action, count in counts.items()}
