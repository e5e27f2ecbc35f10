"""The problem value of restless bandits."""

from typing import Annotated, Literal

from msgspec import Meta

from driftwise.core.fields import ArmNames, NArms
from driftwise.core.problem import ProblemValue
from driftwise.families.restless.fields import ArmTypes, ByArm, StateNames, StateRewards, Transitions


class Restless(ProblemValue, frozen=True, tag="restless"):
    """Some of many arms are activated at a time; all change state, whether or not they are.

    Parameters
    ----------
    arms : int or list of str
        How many arms, called 0, 1, ..., or their names.
    n_active : int
        How many arms are activated at a time; with `at_most`, the most there may be.
    states : int or list of str
        Their states, counted or named.
    state_rewards : sequence or mapping
        What an arm earns in each state, in their order or by name; or one such for each type of arms.
    arm_types : sequence or mapping, optional
        The type of each arm: arms of a type move alike. "own" where no two do.
    transitions : mapping, optional
        What is known of how arms move; see `driftwise.families.restless.arguments`.
    episode_length : int
        Slots after which all arms start over; 0 where they never do.
    discount : float
        Of rewards from slot to slot.
    activation_cost : float, sequence or mapping, optional
        What it costs to activate an arm.
    activation_rewards : sequence or mapping, optional
        What activating an arm earns besides, by the state it is in, like `state_rewards`; negative where it costs.
    at_most : bool
        True: arms that would not gain by being activated, whose index is below 0, are left alone.
    tie_break : str
        Of arms with equal indices, which: drawn at "random", or the "first" in their order.
    horizon : int
        Slots to come; 0 where nobody knows.

    >>> Restless(["ana", "bo"], n_active=1, states=["low", "high"], state_rewards=[0.0, 1.0]).states
    ['low', 'high']
    """

    arms: NArms | ArmNames
    n_active: NArms
    states: StateNames
    state_rewards: StateRewards
    arm_types: ArmTypes | None = None
    transitions: Transitions | None = None
    episode_length: Annotated[int, Meta(ge=0, le=10**9)] = 0
    discount: Annotated[float, Meta(gt=0, lt=1)] = 0.99
    activation_cost: ByArm | None = None
    activation_rewards: StateRewards | None = None
    at_most: bool = False
    tie_break: Literal["random", "first"] = "random"
