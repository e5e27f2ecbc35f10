"""What policies for restless arms are tried with."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from driftwise.core.fixtures import (
    FOREIGN_OPTIONS,
    FOREIGN_REQUESTS,
    HORIZON,
    N_ARMS,
    NAMES,
    Arguments,
    Fixtures,
    Rng,
    TransitionTables,
    Usage,
    foreign,
)
from driftwise.core.protocols import Policy
from driftwise.core.types import Floats, Ints, Moves, Problem
from driftwise.families.restless.problem import Restless
from driftwise.families.restless.structure import DRIFTING, KNOWN
from driftwise.families.restless.worlds import Climbing

N_ACTIVE, N_STATES, EPISODE_LENGTH = 2, 3, 50
PROBLEM = Restless(
    [*NAMES, "e"],
    n_active=N_ACTIVE,
    states=N_STATES,
    state_rewards=[0.0, 0.5, 1.0],
    episode_length=EPISODE_LENGTH,
    tie_break="first",  # as in the loop
    horizon=HORIZON,
)


class RestlessFixtures(Fixtures):
    """Some of many arms; the states they go to come back."""

    has_states = True
    zero_is_arbitrary = False  # states earn what the problem says

    @classmethod
    def small_world(cls, policy: Policy | None) -> Climbing:
        """Few arms that climb when activated."""
        return Climbing(n_arms=N_ARMS, activate=N_ACTIVE, rungs=N_STATES, episode=EPISODE_LENGTH)

    @property
    def usages(self) -> dict[str, Usage]:
        """Arms with names, states with numbers."""
        return {
            "restless arms": Usage(
                PROBLEM,
                lambda rng, arms: {"states": rng.integers(N_STATES, size=len(arms)).tolist()},
                [*_bad_states(), *foreign(FOREIGN_REQUESTS, "states")],
                bad_arms=[*({"activation_cost": each} for each in (np.nan, "much")), *_foreign_options()],
                forgets=False,
            )
        }

    def crowd(self, n_arms: int) -> Restless:
        """Two states, nothing known."""
        return Restless(n_arms, n_active=n_arms // 2, states=2, state_rewards=[0.0, 1.0])

    def context(self, rng: Rng) -> Ints:
        """The state of every arm."""
        return rng.integers(N_STATES, size=self.problem.n_arms)

    def action(self, rng: Rng) -> Ints:
        """Some arms, in their order."""
        return np.sort(rng.permutation(self.problem.n_arms)[: self.problem.slate])

    def every_action(self) -> Iterator[Ints]:
        """Sets that together hold every arm."""
        problem = self.problem
        for first in range(problem.n_arms):
            yield np.sort((first + np.arange(problem.slate)) % problem.n_arms)

    def kernel_outcome(self, rng: Rng) -> Moves:
        """Where arms went, which is what they earn."""
        states = self.context(rng)
        return Moves(float(states.sum()), states.astype(np.float64), states)

    def rewards_of(self, outcome: Moves) -> Floats:
        """That of every arm."""
        return outcome.rewards

    def problem_with(self, old_indices: Sequence[int]) -> Problem:
        """Each arm has its type and its cost."""
        structure = self.problem.structure
        arms = {"classes": structure.classes[list(old_indices)], "costs": structure.costs[list(old_indices)]}
        return super().problem_with(old_indices)._replace(structure=structure._replace(**arms))

    def transitions(self, tape: Any) -> TransitionTables:
        """The transitions of every stretch."""
        structure, tables = self.problem.structure, np.diff(tape.levels.table, axis=-1, prepend=0.0)
        known, still = structure.kinds == KNOWN, structure.kinds != DRIFTING
        return TransitionTables(tables, structure.support, known, structure.known, still)

    def outcome(self, rng: Rng, arms: Sequence[Any]) -> Arguments:
        """Where every arm went."""
        return {"states": {name: int(rng.integers(N_STATES)) for name in arms}}

    def bad_outcomes(self, rng: Rng) -> list[Arguments]:
        """No states, bad ones, rewards alone, and bad rewards."""
        states = [0] * (N_ARMS - 1), [N_STATES] * N_ARMS, [-1] * N_ARMS, 0, "much", {"z": 0}
        rewards = [np.nan] * N_ARMS, [np.inf] * N_ARMS, ["much"] * N_ARMS, [0.0], 1.0
        good: Arguments = {"states": [0] * N_ARMS}
        bad = [{}, {"reward": 1.0}, good | {"reward": 1.0}, good | {"unknown": 1.0}]
        return [*bad, *({"states": each} for each in states), *(good | {"rewards": each} for each in rewards)]

    def external_action(self, problem: Problem, arms: Sequence[Any]) -> list[Any]:
        """The last arms."""
        return list(arms[-N_ACTIVE:])

    @property
    def changes(self) -> list[Arguments]:
        """Also how many arms are activated."""
        return [*super().changes, {"n_active": 1}, {"n_active": 3, "horizon": 3 * HORIZON}]

    def further_calls(self, agent: Any) -> Iterator[tuple[str, str, Arguments]]:
        """Fewer arms are activated."""
        yield "change", "change", {"n_active": 1}

    def reward_scales(self, factor: float) -> list[Arguments]:
        """What states earn, and what it costs to activate an arm."""
        return [{"state_rewards": [0.0, 0.5 * factor, factor], "activation_cost": 0.1 * factor}]


def _bad_states() -> list[Arguments]:
    states: tuple[Any, ...] = ([], "much", 0, [0] * (N_ARMS - 1), [N_STATES] * N_ARMS, [None] * N_ARMS, [0.5] * N_ARMS)
    return [{}, *({"states": each} for each in (*states, {"z": 0}, {"a": 0}))]


def _foreign_options() -> list[Arguments]:
    return foreign(FOREIGN_OPTIONS, "activation_cost")
