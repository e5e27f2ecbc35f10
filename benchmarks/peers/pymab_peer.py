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

import math
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
import settings  # type: ignore[import-not-found]
from pymab import policies  # type: ignore[import-not-found]
from timing import Case, LinearRound, Options, Round, main  # type: ignore[import-not-found]

Fresh = Callable[..., Callable[[], Any]]

#: KL-UCB's weight of the iterated logarithm; ours is compared with none, and pymab wants more than zero.
TINY = 1e-9


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""

    def fresh(policy: type, **parameters: object) -> Callable[[], Any]:
        def make() -> Any:
            made = policy(n_arms=options.arms, **parameters)
            if getattr(made, "backend", "python") != "rust":
                raise RuntimeError("pymab runs without its Rust extension")
            return made, np.random.default_rng(options.seed)

        return make

    return {**_still(fresh), **_forgetting(fresh, options), **_detecting(fresh, options), **_linear(fresh, options)}


def _still(fresh: Fresh) -> dict[str, Case]:
    """Policies that remember everything."""
    return {
        "uniform": Case(fresh(policies.RandomPolicy), "RandomPolicy, Rust"),
        "epsilon-greedy": Case(
            fresh(policies.EpsilonGreedyPolicy, epsilon=settings.EPSILON),
            "EpsilonGreedyPolicy, Rust, on means of all history",
        ),
        "ucb1": Case(fresh(policies.UCBPolicy), "UCBPolicy, Rust"),
        "default": Case(fresh(policies.UCBPolicy), "UCBPolicy(), of its readme"),
        "kl-ucb": Case(fresh(policies.KLUCBPolicy, c=TINY), "KLUCBPolicy, Rust, level ln t"),
        "thompson": Case(
            fresh(policies.BernoulliThompsonSamplingPolicy),
            "BernoulliThompsonSamplingPolicy, Rust",
        ),
        "gaussian-thompson": Case(
            fresh(policies.GaussianThompsonSamplingPolicy),
            "GaussianThompsonSamplingPolicy, Rust, known reward variance 1",
        ),
        "exp3": Case(fresh(policies.EXP3Policy, gamma=settings.EXP3_GAMMA), "EXP3Policy, Rust"),
    }


def _forgetting(fresh: Fresh, options: Options) -> dict[str, Case]:
    """Policies with a window or a discount."""
    return {
        "sliding-ucb": Case(
            fresh(policies.SlidingWindowUCBPolicy, window_size=options.window),
            "SlidingWindowUCBPolicy, Rust, global window",
        ),
        "sliding-thompson": Case(
            fresh(policies.SlidingWindowBernoulliThompsonSamplingPolicy, window_size=options.window),
            "SlidingWindowBernoulliThompsonSamplingPolicy, Rust, global window",
        ),
        "for drift": Case(
            fresh(policies.SlidingWindowBernoulliThompsonSamplingPolicy),
            "SlidingWindowBernoulliThompsonSamplingPolicy(), a window of 100",
        ),
        "discounted-ucb": Case(
            fresh(policies.DiscountedUCBPolicy, discount_factor=settings.DISCOUNT), "DiscountedUCBPolicy, Rust"
        ),
        "discounted-thompson": Case(
            fresh(policies.DiscountedBernoulliThompsonSamplingPolicy, discount_factor=settings.DISCOUNT),
            "DiscountedBernoulliThompsonSamplingPolicy, Rust",
        ),
    }


def _detecting(fresh: Fresh, options: Options) -> dict[str, Case]:
    """Policies that restart when a test says so; they do not explore beyond their bonus."""
    test = {"threshold": math.log(options.horizon / options.changes), "min_observations": settings.WARM_UP}
    return {
        "cusum-ucb": Case(
            fresh(policies.CUSUMUCBPolicy, drift=settings.CUSUM_SLACK, **test),
            "CUSUMUCBPolicy, Rust, against the running mean",
        ),
        "page-hinkley-ucb": Case(
            fresh(policies.PageHinkleyUCBPolicy, drift=settings.PAGE_HINKLEY_SLACK, **test),
            "PageHinkleyUCBPolicy, Rust, sees only means that rise",
        ),
    }


def _linear(fresh: Fresh, options: Options) -> dict[str, Case]:
    """Policies with a regression per arm."""

    def case(policy: type, note: str, **parameters: object) -> Case:
        # it takes a row per arm, here the same for all
        return Case(
            fresh(policy, n_features=options.features, **parameters),
            note,
            form=lambda context: np.tile(context, (options.arms, 1)),
            play=play_linear,
        )

    spread = {"exploration_scale": settings.LINEAR_NOISE, "l2": settings.RIDGE}
    return {
        "lin-ucb": case(policies.LinUCBPolicy, "LinUCBPolicy, Rust", alpha=settings.BONUS, l2=settings.RIDGE),
        "lin-thompson": case(policies.LinearThompsonSamplingPolicy, "LinearThompsonSamplingPolicy, Rust", **spread),
        "linear default": case(policies.LinUCBPolicy, "LinUCBPolicy(), Rust"),
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


def play_linear(policy_and_rng: tuple[Any, np.random.Generator], rounds: Iterable[LinearRound]) -> list[int]:
    """The same with a context."""
    policy, rng = policy_and_rng
    choose, update = policy.select_action, policy.update
    chosen = []
    for noise, means, context in rounds:
        arm = choose(rng=rng, context=context)
        update(action=arm, reward=means[arm] + noise, context=context)
        chosen.append(arm)
    return chosen


if __name__ == "__main__":
    main("pymab", version=version("pymab"), cases=cases, play=play)
