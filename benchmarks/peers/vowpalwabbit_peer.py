"""Time Vowpal Wabbit: ``predict()``, a draw from the probabilities it returns, and ``learn()``.

A context and the arms are lines of text, as in its tutorials; ``-q sa`` crosses the features of the context with the
name of the arm, so every arm has weights of its own. It learns by stochastic gradient steps, not by regression with a
matrix per arm: a cheaper model than LinUCB, without widths. Nothing of it is the same algorithm as ours.

It forgets only through the rate of its steps. ``--power_t 0`` keeps that from falling, for rewards that drift.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import settings  # type: ignore[import-not-found]
from timing import Case, LinearRound, Options, Round, main  # type: ignore[import-not-found]
from vowpalwabbit import Workspace  # type: ignore[import-not-found]

CONTEXT = "--cb_explore_adf -q sa"
ARMS = "--cb_explore_adf"
STEADY = "--power_t 0"


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""

    def fresh(words: str) -> Callable[[], Any]:
        def make() -> Any:
            arms = [f"|a arm{arm}" for arm in range(options.arms)]
            return Workspace(f"{words} --quiet --random_seed {options.seed + 1}"), arms, random.Random(options.seed)

        return make

    def bare(words: str) -> Case:
        return Case(fresh(f"{ARMS} {words}"), words)

    def linear(words: str) -> Case:
        return Case(fresh(f"{CONTEXT} {words}"), f"{CONTEXT} {words}, text", form=_line, play=play_linear)

    return {
        "default": bare(""),
        "for drift": bare(STEADY),
        "epsilon-greedy": bare(f"--epsilon {settings.EPSILON}"),
        "linear default": linear(""),
        "linear for drift": linear(STEADY),
        "square-cb": linear("--squarecb"),
    }


def _line(context: list[float]) -> str:
    return "shared |s " + " ".join(f"f{place}:{value:.6g}" for place, value in enumerate(context))


def _draw(probabilities: list[float], rng: random.Random) -> int:
    level, last = rng.random(), len(probabilities) - 1
    for arm, probability in enumerate(probabilities):
        level -= probability
        if level < 0.0:
            return arm
    return last


def play(learner: tuple[Any, list[str], random.Random], rounds: Iterable[Round]) -> list[int]:
    """Play the rounds with the library's own calls; return the chosen arms."""
    workspace, arms, rng = learner
    chosen = []
    for uniform, means in rounds:
        probabilities = workspace.predict(arms)
        arm = _draw(probabilities, rng)
        cost = -1.0 if uniform < means[arm] else 0.0
        workspace.learn([*arms[:arm], f"0:{cost}:{probabilities[arm]} {arms[arm]}", *arms[arm + 1 :]])
        chosen.append(arm)
    return chosen


def play_linear(learner: tuple[Any, list[str], random.Random], rounds: Iterable[LinearRound]) -> list[int]:
    """The same with a context."""
    workspace, arms, rng = learner
    chosen = []
    for noise, means, context in rounds:
        probabilities = workspace.predict([context, *arms])
        arm = _draw(probabilities, rng)
        label = f"0:{-(means[arm] + noise)}:{probabilities[arm]} {arms[arm]}"
        workspace.learn([context, *arms[:arm], label, *arms[arm + 1 :]])
        chosen.append(arm)
    return chosen


if __name__ == "__main__":
    main("vowpalwabbit", version=version("vowpalwabbit"), cases=cases, play=play)
