"""Time MABWiser: ``predict()`` and ``partial_fit()`` of its LinUCB, a ridge regression per arm.

It wants to be fitted once before it is asked; it is, to a context of zeros, from which nothing is learned. A
``partial_fit`` goes through all arms to find the one whose reward it is, and inverts its matrix afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
import settings  # type: ignore[import-not-found]
from mabwiser.mab import MAB, LearningPolicy  # type: ignore[import-not-found]
from timing import Case, LinearRound, Options, main, make_linear_world  # type: ignore[import-not-found]


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""
    policy = LearningPolicy.LinUCB(alpha=settings.BONUS, l2_lambda=settings.RIDGE)
    return {
        "lin-ucb": Case(
            _fresh(policy, options),
            "LinUCB, a ridge regression per arm",
            world=lambda options: make_linear_world(options, lambda context: np.array([context])),
        )
    }


def _fresh(policy: Any, options: Options) -> Callable[[], Any]:
    def make() -> Any:
        made = MAB(list(range(options.arms)), policy, seed=options.seed)
        made.fit(np.array([0]), np.array([0.0]), np.zeros((1, settings.FEATURES)))
        return made

    return make


def play(policy: Any, rounds: Iterable[LinearRound]) -> list[int]:
    """Play the rounds with the library's own calls; return the chosen arms."""
    chosen = []
    for noise, means, context in rounds:
        arm = policy.predict(context)
        policy.partial_fit(np.array([arm]), np.array([means[arm] + noise]), context)
        chosen.append(arm)
    return chosen


if __name__ == "__main__":
    main("mabwiser", version=version("mabwiser"), cases=cases, play=play)
