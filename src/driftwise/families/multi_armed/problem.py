"""The problem value of multi-armed bandits."""

from driftwise.core.fields import ArmNames, NArms
from driftwise.core.problem import RewardProblem


class MultiArmed(RewardProblem, frozen=True, tag="multi-armed"):
    """One of several arms is chosen, and one reward comes back.

    Parameters
    ----------
    arms : int or list of str
        How many arms, called 0, 1, ..., or their names.
    reward_range, noise, horizon
        See `driftwise.core.problem.RewardProblem`.

    >>> MultiArmed(["red", "blue"], reward_range=(0, 10)).arms
    ['red', 'blue']
    """

    arms: NArms | ArmNames
