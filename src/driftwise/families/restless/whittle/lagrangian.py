"""What arms that move on their own could earn at most: the Lagrangian bound of every episode, and regret against it.

    bound = min over charges of  sum_n V_n(first state; charge) + charge M sum_h g^h
    V_n   = what arm n alone can earn in the episode when each activation is charged, by going back from its last slot

In every slot M arms are activated, so that charges paid and given back cancel: no policy that knows transitions earns
more on average than any charge allows, and the least bound is that of M activations on average. Where at most M are,
charges are not below 0.

Regret (17) of Shisher, Tripathi, Chiang & Brinton is the bound less what was earned. **As printed it lacks the term
charge M sum_h g^h.** Without it the least value is that of a charge at which nobody is activated, and says nothing.

g is the discount of rewards within an episode, 1 where they just add up; a slot earns in the state it leads to.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.core.validation import whole
from driftwise.errors import ParameterError
from driftwise.families.restless.ground_truth import RestlessGroundTruth

TURNS = 60  # halvings of the range of charges


class LagrangianBound(NamedTuple):
    """For every episode: the bound, and the charge at which it is least."""

    values: Floats
    charges: Floats


class _Lone(NamedTuple):
    """Arms by kind: those of a class with the same cost. Which kind each arm is of, and where it begins."""

    transitions: Floats
    rewards: Floats
    besides: Floats
    costs: Floats
    kinds: Ints
    origins: Ints
    slots: int
    fade: float


def lagrangian_bound(world: RestlessGroundTruth, horizon: int, seed: int) -> LagrangianBound:
    """The bound of every episode of a run.

    >>> from driftwise.families import Climbing
    >>> bound = lagrangian_bound(Climbing(drift="none"), horizon=200, seed=0)
    >>> bound.values.round(1).tolist(), bound.charges.round(2).tolist()
    ([1267.6, 1267.6], [20.0, 20.0])
    """
    arms, segments = _lone_arms(world, horizon, seed)
    values, charges = _least(arms, world.activate, at_most=bool(world.at_most))
    return LagrangianBound(values[segments], charges[segments])


def relaxed_values(world: RestlessGroundTruth, horizon: int, seed: int, charge: float) -> Floats:
    """For every episode: what all arms can earn, each by itself, at a charge that is not given back."""
    arms, segments = _lone_arms(world, horizon, seed)
    return _alone(arms, np.full(len(arms.transitions), charge))[0][segments]


def lagrangian_regret(world: RestlessGroundTruth, horizon: int, seed: int, earned: float) -> float:
    """What a run that earned so much in all missed of the bound; of a single run it may be negative, by luck."""
    return float(lagrangian_bound(world, horizon, seed).values.sum()) - earned


def _lone_arms(world: RestlessGroundTruth, horizon: int, seed: int) -> tuple[_Lone, Ints]:
    """The arms with all the transitions of a run, and which of those each episode has."""
    if not world.restarts:
        raise ParameterError("the Lagrangian bound is that of an episode, and in this world arms never start over")
    if whole("horizon", horizon) % world.episode:
        raise ParameterError(f"horizon={horizon} is not a whole number of episodes of {world.episode} slots")
    path, segments = world.segments(horizon, seed)
    structure = world.structure()
    pairs, kinds = np.unique(np.stack([structure.classes, structure.costs]), axis=1, return_inverse=True)
    classes = pairs[0].astype(np.int64)
    arms = _Lone(
        transitions=world.checked(path)[:, classes],
        rewards=structure.rewards[classes],
        besides=structure.activation_rewards[classes],
        costs=pairs[1],
        kinds=kinds.reshape(-1),
        origins=world.origins(),
        slots=world.episode,
        fade=world.discount if world.discounted else 1.0,
    )
    return arms, segments


def _least(arms: _Lone, activate: int, *, at_most: bool) -> tuple[Floats, Floats]:
    """The least bound of each row of transitions, by halving: it is convex in the charge, and its slope is known."""
    total = float((arms.fade ** np.arange(arms.slots)).sum())
    spread = np.ptp(arms.rewards) + np.ptp(arms.costs) + np.abs(arms.costs).max() + 2.0 * np.abs(arms.besides).max()
    reach = spread * total + 1.0
    low, high = np.full(len(arms.transitions), 0.0 if at_most else -reach), np.full(len(arms.transitions), reach)
    for _ in range(TURNS):
        charges = 0.5 * (low + high)
        _, activations = _alone(arms, charges)
        falls = activations > activate * total  # too many want to be activated: the charge must rise
        low, high = np.where(falls, charges, low), np.where(falls, high, charges)
    charges = 0.5 * (low + high)
    return _alone(arms, charges)[0] + charges * activate * total, charges


def _alone(arms: _Lone, charges: Floats) -> tuple[Floats, Floats]:
    """What arms earn at a charge, each by itself, and how often they are activated, discounted; a row per episode."""
    shape = (*arms.transitions.shape[:2], arms.transitions.shape[-1])
    values, counts = np.zeros(shape), np.zeros(shape)
    price = (arms.costs + charges[:, None])[..., None]
    for _ in range(arms.slots):
        ahead = arms.rewards + arms.fade * values
        passive = np.matmul(arms.transitions[:, :, 0], ahead[..., None])[..., 0]
        active = np.matmul(arms.transitions[:, :, 1], ahead[..., None])[..., 0] + arms.besides - price
        later = arms.fade * np.matmul(arms.transitions, counts[:, :, None, :, None])[..., 0]
        pays = active > passive
        values = np.where(pays, active, passive)
        counts = np.where(pays, 1.0 + later[:, :, 1], later[:, :, 0])
    return values[:, arms.kinds, arms.origins].sum(axis=1), counts[:, arms.kinds, arms.origins].sum(axis=1)
