"""What policies that fill slates are tried with."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from driftwise.core.fixtures import BAD_NUMBERS, HORIZON, N_ARMS, NAMES, Arguments, Fixtures, Rng, Usage
from driftwise.core.protocols import Policy
from driftwise.core.types import Floats, Ints, Problem, SlateOutcome
from driftwise.families.slate.problem import Slate
from driftwise.families.slate.worlds import Slates

SLATE_SIZE = 2


class SlateFixtures(Fixtures):
    """Several items, a reward of each."""

    @classmethod
    def small_world(cls, policy: Policy | None) -> Slates:
        """Few items, and the best ones change twice."""
        return Slates(size=SLATE_SIZE, drift=f"abrupt:n_arms={N_ARMS},phases=3")

    @property
    def usages(self) -> dict[str, Usage]:
        """Items with names."""
        return {"slates": Usage(Slate([*NAMES, "e"], slate_size=SLATE_SIZE, horizon=HORIZON))}

    def action(self, rng: Rng) -> Ints:
        """Some items in any order."""
        return rng.permutation(self.problem.n_arms)[: self.problem.slate].astype(np.int64)

    def every_action(self) -> Iterator[Ints]:
        """Slates that together hold every item."""
        problem = self.problem
        for first in range(problem.n_arms):
            yield (first + np.arange(problem.slate)) % problem.n_arms

    def kernel_outcome(self, rng: Rng) -> SlateOutcome:
        """The reward of every item."""
        items = rng.integers(2, size=self.problem.slate).astype(np.float64)
        return SlateOutcome(float(items.sum()), items)

    def rewards_of(self, outcome: SlateOutcome) -> Floats:
        """That of every item."""
        return outcome.items

    def outcome(self, rng: Rng, arms: Sequence[Any]) -> Arguments:
        """Items pay or do not."""
        return self.outcome_of((rng.random(SLATE_SIZE) < 0.5).astype(float).tolist())

    def outcome_of(self, rewards: Sequence[float]) -> Arguments:
        """A reward per item."""
        return {"rewards": list(rewards)}

    def bad_outcomes(self, rng: Rng) -> list[Arguments]:
        """Bad numbers, too few of them, one for all, and what other families learn from."""
        wrong = [*([0.0, each] for each in BAD_NUMBERS), [0.0], 0.5]
        good = self.outcome(rng, ())
        return [{}, *({"rewards": each} for each in wrong), good | {"reward": 1.0}, good | {"costs": {"euros": 0.5}}]

    def external_action(self, problem: Problem, arms: Sequence[Any]) -> list[Any]:
        """The last items."""
        return list(arms[-problem.slate :])
