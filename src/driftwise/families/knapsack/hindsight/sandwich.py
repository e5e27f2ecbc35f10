"""How much even spending can miss: Proposition 1 of *Non-stationary Bandits with Knapsacks*, as far as it is true.

Printed, with q the highest of the prices of the rounds and of the whole run:

    sum LP_t <= LP(T) <= T LP(mean) + W1 + q W2 <= sum LP_t + 2 (W1 + q W2)

The second inequality fails: its proof needs the prices of LP(mean), which q leaves out. Two arms that both pay 1 and
cost (0.4, 1) in one half of the rounds and (1, 0.4) in the other, with 0.5 to spend a round, have q = 0 and LP(T) = T,
but T LP(mean) = 0.714 T. What holds, with q_t the highest price of the rounds and q_mean that of LP(mean):

    even          sum LP_t     <= LP(T)
    by_mean       LP(T)        <= T LP(mean) + W1 + q_mean W2
    mean_by_even  T LP(mean)   <= sum LP_t + q_t W2
    outer         LP(T)        <= sum LP_t + W1 + 2 q_t W2
    any_centre    LP(T)        <= sum LP_t + 2 W1(centre) + 2 q_t W2(centre)

`by_mean`: the prices of LP(mean) are a question to the dual of LP(T). `mean_by_even`: the mix of LP(mean) is a try at
every round, and what it overspends there is paid for at the round's prices. `outer`: let x be the mean over time of the
best plan's mixes x_t. Playing x throughout loses sum_t (mu_t - centre)'(x_t - x), at most W1 if the centre is the mean
and 2 W1 for any other. In round t it is again a try: it overspends by what C_t strays from the centre and, as the best
plan does not overspend, by what all of them stray on average. So the nearest centres may take the place of the means,
as the paper's Proposition 3 wishes. Claims 1 and 2, by which it argues, are both false: `centre.py` has three means
whose nearest centre lies outside their hull; and one arm with rewards 1 and 0, costs 0.4 and 1 and a budget of 0.5 has
the price 0 in both rounds, but 0.714 for their mean.
"""

from typing import NamedTuple

from numpy.typing import ArrayLike

from driftwise.families.knapsack.hindsight.hindsight_lp import Plan, best_plan
from driftwise.families.knapsack.hindsight.minimal_spread import nearest_centres
from driftwise.families.knapsack.hindsight.path_length import spread
from driftwise.families.knapsack.hindsight.resource_prices import even_plan, mean_program
from driftwise.families.knapsack.means import Means


class Line(NamedTuple):
    """An inequality: `left <= right`."""

    left: float
    right: float

    @property
    def slack(self) -> float:
        """How much room there is; negative when it fails."""
        return self.right - self.left


class Chain(NamedTuple):
    """Both sides of every inequality. The last three are as the paper prints them; `printed_middle` can fail."""

    even: Line
    by_mean: Line
    mean_by_even: Line
    outer: Line
    any_centre: Line
    printed_middle: Line
    printed_last: Line
    printed_outer: Line


def chain(
    means: Means,
    budgets: ArrayLike,
    *,
    plan: Plan | None = None,
    rewards_centre: ArrayLike | None = None,
    costs_centre: ArrayLike | None = None,
) -> Chain:
    """What lies between even spending and the best plan.

    Parameters
    ----------
    means : Means
        Of the whole run.
    budgets : ArrayLike
        What may be spent of each resource.
    plan : Plan | None
        The best plan, if it is known already.
    rewards_centre, costs_centre : ArrayLike | None
        The centres of the line for any centre; by default the nearest ones.

    Examples
    --------
    >>> means = Means.of([[1.0, 1.0], [1.0, 1.0]], [[[0.4, 1.0]], [[1.0, 0.4]]], rows=[0] * 50 + [1] * 50)
    >>> lines = chain(means, [50.0])
    >>> round(lines.printed_middle.slack, 3), round(lines.by_mean.slack, 3), round(lines.outer.slack, 3)
    (-28.571, 14.286, 0.0)
    """
    means = Means.of(*means)
    if rewards_centre is None or costs_centre is None:
        nearest = nearest_centres(means)
        rewards_centre = nearest.rewards.point if rewards_centre is None else rewards_centre
        costs_centre = nearest.costs.point if costs_centre is None else costs_centre
    best = best_plan(means, budgets) if plan is None else plan
    even, (value, mean_prices) = even_plan(means, budgets), mean_program(means, budgets)
    (w1, w2), (near1, near2) = spread(means), spread(means, rewards_centre, costs_centre)
    q_t, q_mean, average = float(even.prices.max()), float(mean_prices.max()), means.horizon * value
    printed = max(q_t, float(best.prices.max()))
    return Chain(
        even=Line(even.value, best.value),
        by_mean=Line(best.value, average + w1 + q_mean * w2),
        mean_by_even=Line(average, even.value + q_t * w2),
        outer=Line(best.value, even.value + w1 + 2.0 * q_t * w2),
        any_centre=Line(best.value, even.value + 2.0 * near1 + 2.0 * q_t * near2),
        printed_middle=Line(best.value, average + w1 + printed * w2),
        printed_last=Line(average + w1 + printed * w2, even.value + 2.0 * (w1 + printed * w2)),
        printed_outer=Line(best.value, even.value + 2.0 * (w1 + printed * w2)),
    )
