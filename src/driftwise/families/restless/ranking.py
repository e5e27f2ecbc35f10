"""The ranking of restless arms at a decision: indices in order, ties broken at random, and a reason for each arm.

Arms of a type in the same state have the same index. Policies take those with the lowest numbers first, as papers do;
where arms are people, that would favour the beginning of the alphabet. So an agent breaks ties at random, unless the
problem has `tie_break="first"`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftwise.core.encoding import Arm, unpacked
from driftwise.core.seeding import generator
from driftwise.core.serialization import Packed
from driftwise.core.types import Floats, Ints
from driftwise.errors import StateError
from driftwise.families.restless.random_subset import chance_of_set


@dataclass(frozen=True)
class Ranked:
    """One arm at a decision: its state and index, whether it is to be activated, and why."""

    arm: Arm
    state: Arm
    index: float
    chosen: bool
    why: str


class Latest(NamedTuple):
    """The latest decision: the states of the arms, their indices of priority, and the arms to activate."""

    states: Ints
    indices: Floats
    chosen: Ints


def break_ties(arms: Ints, indices: Floats, rng: np.uint64) -> tuple[Ints, float]:
    """Replace chosen arms by a random draw among all arms of the same index, and the probability of this set.

    It is 1 where there is nothing to draw, and nan where no float can represent it.
    """
    active = np.zeros(len(indices), bool)
    active[arms] = True
    least = indices[active].min(initial=np.inf)
    if not (indices[~active] <= least).all() or not (indices[~active] == least).any():
        return arms, 1.0  # no arm ties with the last one chosen; or the policy explores, or has no index
    above, tied = np.flatnonzero(indices > least), np.flatnonzero(indices == least)
    n_drawn = len(arms) - len(above)
    draw = generator(int(rng), "ties").choice(tied, size=n_drawn, replace=False)
    return np.sort(np.concatenate([above, draw])), chance_of_set(len(tied), n_drawn)


def rank_arms(
    latest: Latest, names: Sequence[Arm], state_names: Sequence[Arm], random_ties: bool
) -> tuple[Ranked, ...]:
    """All arms at a decision, those with the largest indices first."""
    states, indices, arms = latest
    active = set(arms.tolist())
    falling = -np.nan_to_num(indices, nan=-np.inf)
    ties = _tie_sizes(indices, arms) if random_ties else np.zeros(len(indices), np.int64)
    order = sorted(range(len(indices)), key=lambda arm: (falling[arm], ties[arm] > 0 and arm not in active, arm))
    return tuple(
        Ranked(
            names[arm],
            state_names[states[arm]],
            float(indices[arm]),
            arm in active,
            _why(indices[arm], rank, len(active), len(order), arm in active)
            + (f", drawn at random among {ties[arm]} of equal index" if ties[arm] else ""),
        )
        for rank, arm in enumerate(order, start=1)
    )


def decode_latest(arrays: dict[str, Packed], n_arms: int, n_states: int) -> Latest:
    """The latest decision of a saved agent; it must fit the arms."""
    if sorted(arrays) != sorted(Latest._fields):
        raise StateError("the latest decision of the saved agent is not complete")
    states = unpacked(arrays["states"], (n_arms,), "<i8")
    arms = unpacked(arrays["chosen"], (None,), "<i8")
    if (states < 0).any() or (states >= n_states).any() or (arms < 0).any() or (arms >= n_arms).any():
        raise StateError("the latest decision of the saved agent does not fit its arms")
    return Latest(states, unpacked(arrays["indices"], (n_arms,)), arms)


def _tie_sizes(indices: Floats, arms: Ints) -> Ints:
    """How many arms each arm was drawn among, itself included; 0 where its index decided."""
    if np.isnan(indices).any():
        return np.zeros(len(indices), np.int64)
    _, groups, sizes = np.unique(indices, return_inverse=True, return_counts=True)
    n_chosen = np.bincount(groups[arms], minlength=len(sizes))
    ties: Ints = np.where((n_chosen > 0) & (n_chosen < sizes), sizes, 0)[groups]
    return ties


def _why(index: float, rank: int, size: int, n_arms: int, active: bool) -> str:
    if np.isnan(index):
        return "this policy has no index"
    position = f"index {rank} of {n_arms}"
    if active:
        return position if rank <= size else f"explored, with {position}"
    return position if rank > size else f"left out to explore, with {position}"
