"""Time SMPyBandits: ``choice()`` and ``getReward()`` of its policies.

Its ``SWUCB`` keeps the last ``tau`` rounds of all arms together, as sliding-window UCB is defined,
but scans the whole window once per arm in every decision: the cost grows with arms x window,
although its docstring promises a constant one. It has no sliding-window Thompson sampling, only a
discounted one, which is not measured here.

Its Numba decorators are only on the Kullback-Leibler functions, which none of these policies
calls, so running without Numba costs it nothing.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

from timing import Case, Options, Round, main  # type: ignore[import-not-found]

with contextlib.redirect_stdout(sys.stderr):  # it prints warnings, and stdout is for the JSON
    import numpy as np
    import SMPyBandits  # type: ignore[import-not-found]
    from SMPyBandits.Policies import SWUCB, UCB, Thompson  # type: ignore[import-not-found]
    from SMPyBandits.Policies.Posterior import Gauss  # type: ignore[import-not-found]


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""

    def fresh(policy: type, **settings: object) -> Callable[[], Any]:
        def make() -> Any:
            np.random.seed(options.seed)  # noqa: NPY002 - its only source of randomness is NumPy's global one
            made = policy(options.arms, **settings)
            made.startGame()
            return made

        return make

    return {
        "ucb1": Case(fresh(UCB), "UCB, vectorised over arms"),
        "thompson": Case(fresh(Thompson), "Thompson with Beta posteriors, one draw per arm"),
        "sliding-ucb": Case(
            fresh(SWUCB, tau=options.window),
            "SWUCB, global window, scanned once per arm in each decision",
        ),
        "gaussian-thompson": Case(
            fresh(Thompson, posterior=Gauss),
            "Thompson with Gauss posteriors, whose standard deviation is 1/n instead of 1/sqrt(n)",
        ),
    }


def play(policy: Any, rounds: Iterable[Round]) -> list[int]:
    """Play the rounds with the library's own calls; return the chosen arms."""
    choose, update = policy.choice, policy.getReward
    chosen = []
    for uniform, means in rounds:
        arm = choose()
        update(arm, 1.0 if uniform < means[arm] else 0.0)
        chosen.append(arm)
    return chosen


if __name__ == "__main__":
    main("smpybandits", version=SMPyBandits.__version__, cases=cases, play=play)
