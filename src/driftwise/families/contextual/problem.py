"""The problem value of contextual bandits."""

from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.fields import ArmNames, NArms, RowsByArm
from driftwise.core.problem import RewardProblem, in_one_order

Width = Annotated[int, Meta(ge=1, le=1000)]


class Disjoint(NamedTuple):
    """The structure of a problem in which every arm has a parameter of its own, of `dim / n_arms` features."""


class FeatureProblem(RewardProblem, frozen=True):
    """Actions with rows of features; where arms bring theirs, with numbers by name, these are put in one order."""

    arms: NArms | ArmNames | RowsByArm | None = None
    n_features: Width | None = None
    context_dim: Width | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.arms, dict):
            msgspec.structs.force_setattr(self, "arms", in_one_order(self.arms))


class Contextual(FeatureProblem, frozen=True, tag="contextual"):
    """One action is chosen by its row of features, and one reward comes back.

    Parameters
    ----------
    arms : int, list of str, or mapping of str to row, optional
        The arms: a count, their names, or a mapping from names to rows of features. Left out where actions have no
        names: they come with every decision.
    n_features : int, optional
        How many features an action has, where rows come with every decision.
    context_dim : int, optional
        Length of the vector that comes with every decision and multiplies the features of the arms.
    reward_range, noise, horizon
        See `driftwise.core.problem.RewardProblem`.

    >>> Contextual(n_features=3).n_features
    3
    """

    def arm_registry(self) -> ArmRegistry:
        """The arms; none where actions have no names."""
        return ArmRegistry([]) if self.arms is None else super().arm_registry()
