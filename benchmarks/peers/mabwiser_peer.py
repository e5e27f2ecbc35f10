"""Time MABWiser: ``predict()`` and ``partial_fit()`` of its policies.

It wants to be fitted once before it is asked. With contexts it is, to a context of zeros, from which nothing is
learned. Without, each arm is played once first, because UCB1 never tries an arm that was not in the first fit. A
``partial_fit`` goes through all arms to find the one whose reward it is, and inverts its matrix afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
import settings  # type: ignore[import-not-found]
from mabwiser.mab import MAB, LearningPolicy  # type: ignore[import-not-found]
from timing import Case, LinearRound, Options, Round, main  # type: ignore[import-not-found]


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""

    def fresh(policy: Any) -> Callable[[], Any]:
        return lambda: (MAB(list(range(options.arms)), policy, seed=options.seed), [])

    def linear(policy: Any, note: str) -> Case:
        def make() -> Any:
            made, _ = fresh(policy)()
            made.fit(np.array([0]), np.array([0.0]), np.zeros((1, options.features)))
            return made

        return Case(make, note, form=lambda context: np.array([context]), play=play_linear)

    ridge = {"l2_lambda": settings.RIDGE}
    return {
        "ucb1": Case(fresh(LearningPolicy.UCB1(alpha=1.0)), "UCB1(alpha=1)"),
        "thompson": Case(fresh(LearningPolicy.ThompsonSampling()), "ThompsonSampling, Beta"),
        "default": Case(fresh(LearningPolicy.UCB1(alpha=1.25)), "UCB1(alpha=1.25), of its readme"),
        "lin-ucb": linear(LearningPolicy.LinUCB(alpha=settings.BONUS, **ridge), "LinUCB, a ridge regression per arm"),
        "lin-thompson": linear(LearningPolicy.LinTS(alpha=settings.LINEAR_NOISE, **ridge), "LinTS, likewise"),
        "linear default": linear(LearningPolicy.LinUCB(), "LinUCB()"),
    }


def play(policy_and_rewards: tuple[Any, list[float]], rounds: Iterable[Round]) -> list[int]:
    """Play the rounds with the library's own calls; return the chosen arms."""
    policy, rewards = policy_and_rewards
    chosen = []
    for uniform, means in rounds:
        first = len(rewards) < len(means)
        arm = len(rewards) if first else policy.predict()
        rewards.append(1.0 if uniform < means[arm] else 0.0)
        chosen.append(arm)
        if not first:
            policy.partial_fit(np.array([arm]), np.array(rewards[-1:]))
        elif len(rewards) == len(means):
            policy.fit(np.arange(len(means)), np.array(rewards))
    return chosen


def play_linear(policy: Any, rounds: Iterable[LinearRound]) -> list[int]:
    """The same with a context."""
    chosen = []
    for noise, means, context in rounds:
        arm = policy.predict(context)
        policy.partial_fit(np.array([arm]), np.array([means[arm] + noise]), context)
        chosen.append(arm)
    return chosen


if __name__ == "__main__":
    main("mabwiser", version=version("mabwiser"), cases=cases, play=play)
