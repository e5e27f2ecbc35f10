"""Whittle's index policy with the true transitions of every episode: the comparator of restless runs.

    activate the M arms with the largest  W_n(s_n) / discount - c_n        W_n of the transitions of the episode at hand

W is for rewards of the state an arm is in, and a slot earns in the state it leads to, one discount later: so W by the
discount is what activating is worth in the slot itself, where its cost c_n counts. Indices within 1e-7 are equal, and
of equal ones the lowest arms win. The policy is not the best there is, only as good as one by one: it becomes optimal
as arms grow many. An arm that is not indexable gets the charge from which on it stays passive, and a warning says so.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.foresight import not_live
from driftwise.core.kernel import kernel
from driftwise.core.types import About, Decision, Floats, Ints, Moves, Problem, Scratch, Shared
from driftwise.core.verbs import register
from driftwise.families.restless.ground_truth import RestlessGroundTruth
from driftwise.families.restless.structure import restless_problem, rewards_by_action
from driftwise.families.restless.top_m import floor_of, leave_out_below, top_arms
from driftwise.families.restless.whittle.api import whittle_index

CHUNK = 1 << 22  # numbers in the transitions that are worked out at a time


class WhittleOracleState(NamedTuple):
    """The indices of every segment, class and state; the segment of every episode, and how long those are."""

    indices: Shared
    segments: Shared
    episode: Shared
    classes: Shared
    costs: Shared
    floor: Shared
    chosen: Scratch
    room: Scratch


class WhittleOracle(NamedTuple):
    """Knows all transitions, and activates the arms with the largest indices."""

    def init(self, problem: Problem) -> WhittleOracleState:
        """Refused: it needs the world."""
        not_live(self, problem)

    def foresee(self, problem: Problem, world: RestlessGroundTruth, horizon: int, seed: int) -> WhittleOracleState:
        """Work out the indices of all transitions to come."""
        n_arms, size, structure = restless_problem("whittle-oracle", problem)
        path, segments = world.segments(horizon, seed)
        return WhittleOracleState(
            indices=indices_of(world, path) / structure.discount[0],
            segments=segments,
            episode=np.array([world.episode], np.int64),
            classes=structure.classes,
            costs=structure.costs,
            floor=floor_of(structure),
            chosen=np.zeros(size, np.int64),
            room=np.zeros((2, n_arms)),
        )


def indices_of(world: RestlessGroundTruth, path: Floats) -> Floats:
    """The Whittle indices of a restless world for each row of its drifting numbers, by class and state."""
    structure = world.structure()
    (n_classes, n_states), discount = structure.rewards.shape, float(structure.discount[0])
    indices, by_state = np.empty((len(path), n_classes, n_states)), rewards_by_action(structure).transpose(0, 2, 1)
    size = max(1, CHUNK // structure.support.size)
    for start in range(0, len(path), size):
        transitions = world.checked(path[start : start + size]).reshape(-1, 2, n_states, n_states)
        rewards = np.tile(by_state, (len(transitions) // n_classes, 1, 1))
        result = whittle_index(transitions[:, 0], transitions[:, 1], rewards, discount, threads=1)
        indices[start : start + size] = result.values.reshape(-1, n_classes, n_states)
    return indices


@kernel
def rank_by_truth(policy: Any, state: WhittleOracleState, t: int, context: Ints, indices: Floats) -> None:
    segment = state.segments[t // state.episode[0]]
    for arm in range(len(context)):
        indices[arm] = state.indices[segment, state.classes[arm], context[arm]] - state.costs[arm]


@kernel
def select_by_truth(policy: Any, state: WhittleOracleState, t: int, context: Ints, rng: Any) -> tuple[Ints, float]:
    rank_by_truth(policy, state, t, context, state.room[0])
    top_arms(state.room[0], state.room[1], state.chosen)
    leave_out_below(state.floor[0], state.room[0], state.chosen)
    return state.chosen, 1.0


@kernel
def unmoved(policy: Any, state: WhittleOracleState, decision: Decision, outcome: Moves, now: int) -> None:
    """Nothing to learn."""


register(
    WhittleOracle,
    about=About("the world itself", "the standard", "Whittle 1988", family="restless", learns_rewards=False),
    select=select_by_truth,
    update=unmoved,
    rank=rank_by_truth,
)
