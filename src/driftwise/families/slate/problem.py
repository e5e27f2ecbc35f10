"""The problem value of slates."""

from driftwise.core.fields import ArmNames, NArms
from driftwise.core.problem import RewardProblem


class Slate(RewardProblem, frozen=True, tag="slate"):
    """Several items are chosen at once, and each has a reward.

    Parameters
    ----------
    arms : int or list of str
        How many items, called 0, 1, ..., or their names.
    slate_size : int
        How many a decision chooses.
    reward_range, noise, horizon
        See `driftwise.core.problem.RewardProblem`; of one item.

    >>> Slate(["a", "b", "c"], slate_size=2).slate_size
    2
    """

    arms: NArms | ArmNames
    slate_size: NArms
