"""Time pymab: ``select_action()`` and ``update()`` of its policies.

The public policy classes are thin Python wrappers around state kept by its Rust extension, which
the wheel brings; without the extension the same names would quietly be pure Python classes, so
the script times nothing then. Its sliding windows are global: the last ``window_size`` rounds of
all arms together; their cost still grows with the window. It has no sliding-window Gaussian
Thompson sampling.

Not measured: its ``Experiment``, which runs whole simulations inside Rust. A live system calls the
policy once per round, and that is what is compared; leaving the other out hides nothing, for timed
by hand it cost no less per round (8 to 11 microseconds, with the records it keeps).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
from pymab import policies  # type: ignore[import-not-found]
from timing import Case, Options, Round, main  # type: ignore[import-not-found]


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""

    def fresh(policy: type, **settings: object) -> Callable[[], Any]:
        def make() -> Any:
            made = policy(n_arms=options.arms, **settings)
            if getattr(made, "backend", "python") != "rust":
                raise RuntimeError("pymab runs without its Rust extension")
            return made, np.random.default_rng(options.seed)

        return make

    window = options.window
    return {
        "ucb1": Case(fresh(policies.UCBPolicy), "UCBPolicy, Rust"),
        "thompson": Case(
            fresh(policies.BernoulliThompsonSamplingPolicy),
            "BernoulliThompsonSamplingPolicy, Rust",
        ),
        "sliding-ucb": Case(
            fresh(policies.SlidingWindowUCBPolicy, window_size=window),
            "SlidingWindowUCBPolicy, Rust, global window",
        ),
        "sliding-thompson": Case(
            fresh(policies.SlidingWindowBernoulliThompsonSamplingPolicy, window_size=window),
            "SlidingWindowBernoulliThompsonSamplingPolicy, Rust, global window",
        ),
        "gaussian-thompson": Case(
            fresh(policies.GaussianThompsonSamplingPolicy),
            "GaussianThompsonSamplingPolicy, Rust, known reward variance 1",
        ),
    }


def play(policy_and_rng: tuple[Any, np.random.Generator], rounds: Iterable[Round]) -> list[int]:
    """Play the rounds with the library's own calls; return the chosen arms."""
    policy, rng = policy_and_rng
    choose, update = policy.select_action, policy.update
    chosen = []
    for uniform, means in rounds:
        arm = choose(rng=rng)
        update(action=arm, reward=1.0 if uniform < means[arm] else 0.0)
        chosen.append(arm)
    return chosen


if __name__ == "__main__":
    main("pymab", version=version("pymab"), cases=cases, play=play)
