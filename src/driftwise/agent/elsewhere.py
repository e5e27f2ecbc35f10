"""Arms that move, seen from outside: what the index of each would be elsewhere, and what was seen of their moves."""

from typing import Any, NamedTuple

import numpy as np

from driftwise.agent.agent import Agent
from driftwise.agent.restless import RestlessArms
from driftwise.core.restless import ACTIONS
from driftwise.core.types import Floats
from driftwise.errors import ArmError


class Movers(NamedTuple):
    """The names of states and classes (none where arms are alike), the class of each arm, and what activation costs."""

    states: tuple[Any, ...]
    classes: tuple[str, ...]
    members: list[int]
    costs: list[float]


def herd_of(agent: Agent) -> Movers:
    """How a program calls what its agent was told of arms that move.

    >>> import driftwise as dw
    >>> herd_of(dw.Agent(dw.RoundRobin(), n_arms=2, activate=1, states=["low", "high"], rewards=[0.0, 1.0])).states
    ('low', 'high')
    """
    manner = agent._manner
    if not isinstance(manner, RestlessArms):
        raise ArmError("the arms of this agent do not move on their own")
    setting = manner.problem.setting
    return Movers(manner.words.calls, manner.words.classes, setting.classes.tolist(), setting.costs.tolist())


def index_table(agent: Agent) -> Floats:
    """The index of every arm in every state, (S, N), at the latest decision; nan where the policy goes by none."""
    table = np.zeros((len(herd_of(agent).states), len(agent.arms)))
    for state, indices in enumerate(table):
        agent._rank(agent._plain, agent._state, max(0, agent.t - 1), np.full(table.shape[1], state), indices)
    return table


def moves_from(agent: Agent, place: int, state: int) -> dict[str, Floats] | None:
    """How often each move from a state was seen of an arm, or of its class, in the longest window of the policy.

    None where the policy counts no moves.
    """
    counts: Any = getattr(agent._state, "counts", None)
    if not hasattr(counts, "views"):
        return None
    view, group = int(np.argmax(counts.sizes)), counts.groups[place]
    seen = counts.views[group, view, :, state] + counts.current[group, :, state]
    return dict(zip(ACTIONS, seen, strict=True))


def episodes_seen(agent: Agent) -> tuple[int, int] | None:
    """How many episodes a policy looks back, and how many rounds each has; None where it has no such window."""
    size, counts = getattr(agent.policy, "window", None), getattr(agent._state, "counts", None)
    return (size, int(counts.period[0])) if isinstance(size, int) and counts is not None else None
