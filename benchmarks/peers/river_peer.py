"""Time river: ``pull()`` and ``update()`` of the policies in ``river.bandit``.

river has no sliding-window policy. Its recipe for drift is to pass
``reward_obj=utils.Rolling(stats.Mean, ...)``, and that drops the window without a word: a policy
makes each arm's reward object with ``reward_obj.clone()``, ``Rolling`` has no ``clone`` and
forwards unknown attributes to the object it wraps, so every arm gets a clone of the bare ``Mean``.
``Windowed`` below is ``Rolling`` with the missing ``clone``; nothing else is changed.

Even then it is not the textbook algorithm, and the notes say so: the window holds the last
``window`` rewards of *each arm* (an arm that is no longer pulled never forgets; ``TimeRolling``
does not help, since it too forgets only when its own arm is updated), and UCB's bonus still counts
every pull since the start. With a small window (20, say) the Gaussian case can end in a TypeError,
and is then left out: taking old rewards back out of a constant window leaves a variance just below
zero, whose square root is a complex number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import settings  # type: ignore[import-not-found]
from river import bandit, proba, stats, utils
from timing import Case, LinearRound, Options, Round, main  # type: ignore[import-not-found]

#: Pulls of each arm before the Gaussian policies may choose. They draw from the distribution of
#: the rewards seen, which is a constant 0 before two different rewards.
BURN_IN = 10


class Windowed(utils.Rolling):  # type: ignore[misc]
    """``utils.Rolling`` whose clones keep their window."""

    def __init__(self, cls: type, window_size: int, **settings: object) -> None:
        super().__init__(cls, window_size, **settings)
        self._again = cls, window_size, settings

    def clone(self, new_params: dict[str, Any] | None = None) -> Windowed:
        """Return an empty one with the same window, as policies ask for each arm."""
        cls, window_size, settings = self._again
        return Windowed(cls, window_size, **{**settings, **(new_params or {})})


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""

    def fresh(policy: type, **settings: Any) -> Callable[[], Any]:
        def make() -> Any:
            return policy(seed=options.seed, **settings), list(range(options.arms))

        return make

    def windowed(cls: type) -> Windowed:
        return Windowed(cls, options.window)

    linear: dict[str, Any] = {"form": lambda context: dict(enumerate(context)), "play": play_linear}
    per_arm = "window forced in by hand, per arm (last rewards of each arm, not last rounds)"
    return {
        "ucb1": Case(fresh(bandit.UCB, delta=1), "UCB(delta=1)"),
        "thompson": Case(fresh(bandit.ThompsonSampling, reward_obj=proba.Beta()), "ThompsonSampling, Beta"),
        "sliding-ucb": Case(
            fresh(bandit.UCB, delta=1, reward_obj=windowed(stats.Mean)),
            f"UCB(delta=1), {per_arm}; the bonus counts all pulls",
        ),
        "sliding-thompson": Case(
            fresh(bandit.ThompsonSampling, reward_obj=windowed(proba.Beta)),
            f"ThompsonSampling, Beta, {per_arm}",
        ),
        "gaussian-thompson": Case(
            fresh(bandit.ThompsonSampling, reward_obj=proba.Gaussian(), burn_in=BURN_IN),
            "ThompsonSampling, Gaussian of the rewards, not of their mean: never narrows",
        ),
        "sliding-gaussian-thompson": Case(
            fresh(bandit.ThompsonSampling, reward_obj=windowed(proba.Gaussian), burn_in=BURN_IN),
            f"ThompsonSampling, Gaussian of the rewards, {per_arm}",
        ),
        "lin-ucb": Case(
            fresh(bandit.LinUCBDisjoint, alpha=settings.RIDGE),
            "LinUCBDisjoint, a BayesianLinearRegression per arm",
            **linear,
        ),
        "default": Case(fresh(bandit.ThompsonSampling, reward_obj=proba.Beta()), "ThompsonSampling, Beta, of its docs"),
        "linear default": Case(fresh(bandit.LinUCBDisjoint), "LinUCBDisjoint()", **linear),
    }


def play(policy_and_arms: tuple[Any, list[int]], rounds: Iterable[Round]) -> list[int]:
    """Play the rounds with the library's own calls; return the chosen arms."""
    policy, arms = policy_and_arms
    choose, update = policy.pull, policy.update
    chosen = []
    for uniform, means in rounds:
        arm = choose(arms)
        update(arm, 1.0 if uniform < means[arm] else 0.0)
        chosen.append(arm)
    return chosen


def play_linear(policy_and_arms: tuple[Any, list[int]], rounds: Iterable[LinearRound]) -> list[int]:
    """The same with a context."""
    policy, arms = policy_and_arms
    choose, update = policy.pull, policy.update
    chosen = []
    for noise, means, context in rounds:
        arm = choose(arms, context)
        update(arm, context, means[arm] + noise)
        chosen.append(arm)
    return chosen


if __name__ == "__main__":
    main("river", version=version("river"), cases=cases, play=play)
