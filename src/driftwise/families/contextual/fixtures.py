"""What contextual policies are tried with: rows that come with decisions, arms with features, arms and a context."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftwise.core.fixtures import (
    DIM,
    FOREIGN_OPTIONS,
    FOREIGN_REQUESTS,
    HORIZON,
    N_ARMS,
    NAMES,
    Arguments,
    Fixtures,
    Rng,
    Usage,
    foreign,
    random_rows,
)
from driftwise.core.protocols import Policy, World
from driftwise.core.types import Floats, Problem
from driftwise.families.contextual.problem import Contextual
from driftwise.families.contextual.worlds import Rotating

FEATURES: dict[str, list[float]] = dict(zip((*NAMES, "d"), np.eye(DIM).tolist(), strict=True))


class ContextualFixtures(Fixtures):
    """One row of a matrix, one reward."""

    has_rows = True
    zero_is_arbitrary = False  # a reward is what the features add up to

    @classmethod
    def small_world(cls, policy: Policy | None) -> Rotating:
        """Parameters that rotate, behind the policy's link."""
        return Rotating(n_actions=N_ARMS, dim=DIM, link=getattr(policy, "link", "identity"))

    @property
    def usages(self) -> dict[str, Usage]:
        """The three sources of features."""
        return {
            "rows that come with decisions": Usage(
                Contextual(n_features=DIM, horizon=HORIZON),
                lambda rng, arms: {"actions": random_rows(rng, int(rng.integers(1, 7)))},
                [*_bad_rows(), *foreign(FOREIGN_REQUESTS, "actions")],
                bad_arms=[{}, *foreign(FOREIGN_OPTIONS)],
            ),
            "arms with features": Usage(
                Contextual({name: FEATURES[name] for name in NAMES}, horizon=HORIZON),
                bad_requests=[{"context": [1.0, 1.0]}, *foreign(FOREIGN_REQUESTS)],
                new_arm={"features": FEATURES["d"]},
                bad_arms=[{}, *_bad_features(), *foreign(FOREIGN_OPTIONS, "features")],
                forgets=False,
            ),
            "arms and a context": Usage(
                Contextual([*NAMES], context_dim=2, horizon=HORIZON),
                lambda rng, arms: {"context": rng.uniform(0.2, 0.7, 2)},
                [*_bad_contexts(), *foreign(FOREIGN_REQUESTS)],
            ),
        }

    def late_world(self) -> World | None:
        """The small one."""
        world: World = self.world
        return world

    def observe(self, tape: Any, nature: object, t: int) -> tuple[Any, bool]:
        """The rows of a round."""
        _, is_open = super().observe(tape, nature, t)
        return tape.sets[tape.which[t]], is_open

    def context(self, rng: Rng) -> Floats:
        """A row for every action."""
        return random_rows(rng, N_ARMS)

    def row(self, rng: Rng) -> Floats:
        """One row."""
        row: Floats = random_rows(rng, 1)[0]
        return row

    def problem_with(self, old_indices: Sequence[int]) -> Problem:
        """Features come and go here, not rows."""
        return self.problem._replace(dim=len(old_indices))


def _bad_rows() -> list[Arguments]:
    nan, huge = np.ones((3, DIM)), np.ones((3, DIM))
    nan[1, 2], huge[2, 1] = np.nan, 1e300
    wrong = [[], np.ones((0, DIM)), np.ones(DIM), np.ones((2, DIM - 1)), [[1.0] * DIM, [1.0]], "rows"]
    return [{}, *({"actions": each} for each in (*wrong, nan, huge, np.zeros((3, DIM)), dict.fromkeys(NAMES)))]


def _bad_contexts() -> list[Arguments]:
    wrong = [[], [1.0], np.ones((1, 2)), [np.inf, 1.0], [0.0, 0.0], [1e300, 1.0], "xy"]
    return [{}, {"actions": np.ones((3, 2))}, *({"context": each} for each in wrong)]


def _bad_features() -> list[Arguments]:
    return [{"features": each} for each in ([1.0], np.full(DIM, np.nan), np.full(DIM, 1e300), "much")]
