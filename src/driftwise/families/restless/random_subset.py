"""Any of many arms, every set of them alike, in ascending order of their numbers; and what can be counted of it."""

import math
from typing import Any

from driftwise.core.kernel import kernel
from driftwise.core.random import uniform
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import Decision, Ints, Moves


@kernel
def draw_arms(n_arms: int, active: Ints, rng: Any) -> Any:
    """Fill `active` with any of the arms, every set of them alike (Knuth's algorithm S); the stream moved on."""
    place, wanting = 0, len(active)
    for arm in range(n_arms):
        u, rng = uniform(rng)
        if u * (n_arms - arm) < wanting:
            active[place] = arm
            place += 1
            wanting -= 1
    return rng


def chance_of_set(n_arms: int, size: int) -> float:
    """How likely a given set of `size` arms is when every set is alike; nan where there are more than e^709 sets.

    Below that no float holds the weight 1 / chance that evaluating other policies on a log would give the decision:
    such a decision tells them nothing, and nan says so. It was possible all the same, so 0 would be wrong.
    """
    logarithm = math.lgamma(n_arms + 1) - math.lgamma(size + 1) - math.lgamma(n_arms - size + 1)
    return 1 / math.comb(n_arms, size) if logarithm < 709.0 else math.nan


@kernel
def count_activated(policy: Any, state: Any, decision: Decision, outcome: Moves, now: int) -> None:
    """Count the arms that were activated and whose next state was seen: all that a policy without indices learns."""
    for arm in decision.action:
        if decision.context[arm] >= 0 and outcome.states[arm] >= 0:
            state.counts[arm] += 1


@kernel
def summarise_activated(policy: Any, state: Any, t: int, context: Ints, out: Summary) -> None:
    """How often each arm was activated, and its next state seen."""
    clear_summary(out)
    for arm in range(len(state.counts)):
        out.count[arm] = state.counts[arm]
