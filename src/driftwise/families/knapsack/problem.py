"""The problem value of bandits with knapsacks, and what kernels know of it."""

from typing import Literal, NamedTuple

from driftwise.core.fields import Amounts, ArmNames, NArms
from driftwise.core.problem import RewardProblem
from driftwise.core.types import Floats


class Knapsack(RewardProblem, frozen=True, tag="knapsack"):
    """One arm is chosen, or none; every choice costs something of each budget, and budgets must last to the horizon.

    Parameters
    ----------
    arms : int or list of str
        How many arms, called 0, 1, ..., or their names.
    budgets : mapping of str to float
        What may be spent of each resource over the `horizon`, e.g. `{"euros": 5000}`; costs come with rewards.
    max_cost : mapping of str to float, optional
        The most a single decision can cost of each resource; 1 where it is not given.
    reserve : str
        What is kept back for pending decisions: "maximum", the most they can cost, so that nothing is ever overspent;
        or "estimate", what they cost at most but for a tiny chance, by what their arms have cost of late. Where
        outcomes come late the estimate leaves more to decide with.
    allow_overspend : bool
        True where nothing is kept back: pending decisions may together cost more than is left.
    horizon : int
        For how many rounds budgets must last.
    reward_range, noise
        See `driftwise.core.problem.RewardProblem`; the range starts at 0, which is what choosing nothing pays.

    >>> Knapsack(["low", "high"], budgets={"units": 500}, horizon=30_000).budgets
    {'units': 500}
    """

    arms: NArms | ArmNames
    budgets: Amounts
    max_cost: Amounts | None = None
    reserve: Literal["maximum", "estimate"] = "maximum"
    allow_overspend: bool = False


class Budgets(NamedTuple):
    """What may be spent of each resource over the whole run, in units in which one choice costs at most 1.

    Once the problem of an agent has changed on the way: what a whole run would spend at the pace of what was left.
    """

    amounts: Floats
