"""What policies with budgets say of their arms (`core/summary.py`).

Policies reckon with sums over n + 1, which draw an arm that is hardly known towards 0; people are told plain means. The
interval is as wide as the policy's bounds are, and ends at 0 and at the largest reward, where no mean lies beyond.
"""

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, put_interval
from driftwise.core.types import Floats


@kernel
def put_reward(out: Summary, arm: int, count: int, total: float, width: float, unit: float) -> None:
    """Write the mean reward of an arm, from `count` rewards that came to `total` units."""
    out.count[arm] = count
    if count > 0:
        mean = total / count
        put_interval(out, arm, unit * mean, unit * max(0.0, mean - width), unit * min(1.0, mean + width))


@kernel
def put_cost(out: Summary, arm: int, count: int, costs: Floats) -> None:
    """Write the mean cost of an arm in each resource."""
    for resource in range(len(costs)):
        if count > 0:
            out.costs[arm, resource] = costs[resource] / count


@kernel
def worth_less_costs(earns: float, costs: Floats, prices: Floats) -> float:
    """What an arm earns once its costs are paid for."""
    for resource in range(len(prices)):
        earns -= prices[resource] * costs[resource]
    return earns
