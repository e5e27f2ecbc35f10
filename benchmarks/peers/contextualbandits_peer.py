"""Time contextualbandits: ``predict()`` and ``partial_fit()`` of its LinUCB, a regression per arm in Cython.

In double precision, without an intercept and with the Sherman-Morrison updates it recommends for small batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
import settings  # type: ignore[import-not-found]
from contextualbandits.online import LinTS, LinUCB  # type: ignore[import-not-found]
from timing import Case, LinearRound, Options, main  # type: ignore[import-not-found]


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""
    exact = {"lambda_": settings.RIDGE, "fit_intercept": False, "use_float": False, "method": "sm"}

    def case(policy: type, note: str, **parameters: Any) -> Case:
        # its seeds must be positive
        return Case(
            lambda: policy(options.arms, **parameters, random_state=1 + options.seed, njobs=1),
            note,
            form=lambda context: np.array([context]),
        )

    return {
        "lin-ucb": case(LinUCB, "LinUCB, Sherman-Morrison, in doubles", alpha=settings.BONUS, **exact),
        "lin-thompson": case(LinTS, "LinTS, Sherman-Morrison, in doubles", v_sq=settings.LINEAR_NOISE**2, **exact),
        "linear default": case(LinUCB, "LinUCB()"),
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
