"""UCWhittle: Whittle indices of the most hopeful transitions, for arms taken to stand still and to go anywhere.

    ball of (s, a)   |P - frequencies|_1 <= sqrt( 2 S ln(4 S N T / eta) / C )        C: times seen since the start
    charge           the M-th largest index in the last slot of the episode before; 0 at first
    index_n          Whittle's index under the transitions in the ball that are worth most at this charge

Every arm has counts of its own, nothing is known beforehand, and nothing is forgotten. Where all balls hold everything
all indices are 0, and the arms with the lowest numbers are activated for ever: a policy that never changes.

| symbol | field | |
|---|---|---|
| eta | eta | how often a ball may miss |
| | size | in place of 2 S ln(4 S N T / eta), where it is above 0; very large: all balls hold everything |
| S, N, T | | states, arms and episodes, from the problem |

Wang, Xu, Taneja & Tambe, *Optimistic Whittle index policy: online learning for restless bandits*, AAAI 2023, as Shisher
et al. (`sliding-whittle`) describe it. Known in advance: the number of episodes; where it is not, T counts the episodes
so far. Regret: O(sqrt(T) ln T) for transitions that stand still.

Late moves count like others.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import About, Cache, Derived, Problem, Scratch, Shared
from driftwise.core.validation import number, whole
from driftwise.core.verbs import register
from driftwise.families.restless.index_planning import Arms, PlanRoom, arms_of, hopeful_indices, new_plan_room
from driftwise.families.restless.index_policy import (
    count_and_charge,
    rank_by_index,
    select_by_index,
    summarise_by_index,
    time_to_plan,
)
from driftwise.families.restless.structure import STATIONARY, restless_problem, with_knowledge
from driftwise.families.restless.transitions.counts import ArmCounts, new_counts
from driftwise.families.restless.transitions.optimistic import VACUOUS, ball_size


class UCWhittleState(NamedTuple):
    """What was counted, the index of every state of every arm, and the charge.

    `laws` holds S, N and the number of episodes, 0 when it is not known.
    """

    counts: ArmCounts
    table: Cache
    classes: Cache
    arms: Arms
    charge: Shared
    laws: Derived
    fresh: Cache
    costs: Cache
    indices: Scratch
    spare: Scratch
    chosen: Scratch
    room: PlanRoom


class UCWhittle(NamedTuple):
    """Whittle indices under the most hopeful transitions, nothing known and nothing forgotten.

    Parameters
    ----------
    eta : float
        How often a ball may miss.
    size : float
        Squared radius of a ball around one move, in place of the theorem's; 0 takes the theorem's.
    every : int
        Slots that count as an episode, where arms have none.

    >>> UCWhittle(size=10.0)
    UCWhittle(eta=0.1, size=10.0, every=100)
    """

    eta: float = 0.1
    size: float = 0.0
    every: int = 100

    @property
    def pools(self) -> bool:
        """Every arm is counted by itself, whatever its type."""
        return False

    def init(self, problem: Problem) -> UCWhittleState:
        """Nothing seen: every arm may go anywhere."""
        n_arms, active, structure = restless_problem("uc-whittle", problem)
        number("eta", self.eta, above=0.0, below=1.0)
        number("size", self.size, above=0.0, closed="[")
        period = int(structure.episode[0]) or whole("every", self.every, high=10**9)
        n_states = structure.rewards.shape[1]
        nothing = with_knowledge(structure, "none")  # but that nothing drifts, which it assumes
        return UCWhittleState(
            counts=new_counts(np.arange(n_arms), n_arms, n_states, np.zeros(1, np.int64), period, pooled=False),
            table=np.zeros((n_arms, n_states)),
            classes=structure.classes.copy(),
            arms=arms_of(nothing._replace(kinds=np.full_like(nothing.kinds, STATIONARY))),
            charge=np.zeros(1),
            laws=np.array([n_states, n_arms, problem.horizon // period], np.int64),
            fresh=np.ones(1, np.int64),
            costs=structure.costs.copy(),
            indices=np.zeros(n_arms),
            spare=np.zeros(n_arms),
            chosen=np.zeros(active, np.int64),
            room=new_plan_room(n_states),
        )


@kernel
def _advance(policy: UCWhittle, state: UCWhittleState, t: int, rng: Any) -> None:
    if time_to_plan(state, t):
        _plan(policy, state)


@kernel(inline=False)
def _plan(policy: UCWhittle, state: UCWhittleState) -> None:
    counts, room = state.counts, state.room
    size = policy.size
    if size == 0.0:
        episodes = state.laws[2] if state.laws[2] > 0 else state.counts.episode[0] + 1
        size = ball_size(int(state.laws[0]), 2 * int(state.laws[0]), int(state.laws[1]), max(2, episodes), policy.eta)
    for arm in range(len(state.table)):
        for action in range(2):
            for here in range(len(room.values)):
                for there in range(len(room.values)):
                    room.counts[action, here, there] = counts.views[arm, 0, action, here, there]
        sizes, slacks, own = (0.0, size, size), (0.0, 0.0, 0.0), state.classes[arm]
        hopeful_indices(room, state.arms, own, sizes, slacks, VACUOUS, state.charge[0], state.table[arm])


register(
    UCWhittle,
    about=About(
        "the number of episodes",
        "O(sqrt(T) ln T) where transitions stand still",
        "Wang, Xu, Taneja & Tambe 2023",
        drifts=False,
        family="restless",
        learns_rewards=False,
    ),
    advance=_advance,
    select=select_by_index,
    update=count_and_charge,
    rank=rank_by_index,
    summarise=summarise_by_index,
)
