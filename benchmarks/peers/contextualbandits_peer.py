"""Time contextualbandits: ``predict()`` and ``partial_fit()`` of its LinUCB, a regression per arm in Cython.

In double precision, without an intercept and with the Sherman-Morrison updates it recommends for small batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
import settings  # type: ignore[import-not-found]
from contextualbandits.online import LinUCB  # type: ignore[import-not-found]
from timing import Case, LinearRound, Options, main, make_linear_world  # type: ignore[import-not-found]


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""
    parameters = {"alpha": settings.BONUS, "lambda_": settings.RIDGE, "fit_intercept": False, "use_float": False}
    return {
        "lin-ucb": Case(
            # its seeds must be positive
            lambda: LinUCB(options.arms, **parameters, method="sm", random_state=1 + options.seed, njobs=1),
            "LinUCB, Sherman-Morrison, in doubles",
            world=lambda options: make_linear_world(options, lambda context: np.array([context])),
        )
    }


def play(policy: Any, rounds: Iterable[LinearRound]) -> list[int]:
    """Play the rounds with the library's own calls; return the chosen arms."""
    chosen = []
    for noise, means, context in rounds:
        arm = int(policy.predict(context)[0])
        policy.partial_fit(context, np.array([arm]), np.array([means[arm] + noise]))
        chosen.append(arm)
    return chosen


if __name__ == "__main__":
    main("contextualbandits", version=version("contextualbandits"), cases=cases, play=play)
