"""Time bayesianbandits: ``pull()`` and ``update()`` of agents with a posterior per arm.

Discounted Thompson sampling is ``decay`` after every round, by the rule that fades towards the prior. A Dirichlet
posterior over the rewards 0 and 1 is a Beta posterior; its samples are probabilities of both, of which one is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
import settings  # type: ignore[import-not-found]
from bayesianbandits import (  # type: ignore[import-not-found]
    EXP3A,
    Agent,
    Arm,
    ContextualAgent,
    DirichletClassifier,
    NormalInverseGammaRegressor,
    NormalRegressor,
    StabilizedForgetting,
    ThompsonSampling,
    UpperConfidenceBound,
)
from timing import Case, LinearRound, Options, Round, main  # type: ignore[import-not-found]

#: The precision of rewards in the linear world, and the prior precision that makes the ridge what ours is.
PRECISION = 1.0 / settings.LINEAR_NOISE**2
FADING = StabilizedForgetting(settings.DISCOUNT)
README_ALPHA = 0.84


def _success(samples: Any) -> Any:
    return samples[..., 1]


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""

    def fresh(kind: type, policy: Callable[[], Any], learner: Callable[[], Any], reward: Any = None) -> Any:
        def make() -> Any:
            arms = [Arm(arm, reward_function=reward, learner=learner()) for arm in range(options.arms)]
            return kind(arms, policy(), random_seed=options.seed)

        return make

    def beta() -> Any:
        return DirichletClassifier({0: 1.0, 1: 1.0})

    def regression() -> Any:
        return NormalRegressor(alpha=settings.RIDGE * PRECISION, beta=PRECISION)

    def optimism() -> Any:
        return UpperConfidenceBound(README_ALPHA)

    inverse_gamma = NormalInverseGammaRegressor
    thompson = fresh(Agent, ThompsonSampling, beta, _success)
    linear: dict[str, Any] = {"form": lambda context: np.array([context]), "play": play_linear}
    return {
        "thompson": Case(thompson, "ThompsonSampling, DirichletClassifier"),
        "discounted-thompson": Case(thompson, "the same, decay(StabilizedForgetting) every round", play=play_fading),
        "default": Case(fresh(Agent, ThompsonSampling, inverse_gamma), "ThompsonSampling, NormalInverseGammaRegressor"),
        "for drift": Case(fresh(Agent, EXP3A, inverse_gamma), "EXP3A(), NormalInverseGammaRegressor"),
        "lin-thompson": Case(
            fresh(ContextualAgent, ThompsonSampling, regression), "ThompsonSampling, NormalRegressor per arm", **linear
        ),
        "lin-ucb": Case(
            fresh(ContextualAgent, optimism, regression),
            "UpperConfidenceBound(0.84), NormalRegressor per arm",
            **linear,
        ),
        "linear default": Case(
            fresh(ContextualAgent, optimism, inverse_gamma),
            "UpperConfidenceBound(0.84), NormalInverseGammaRegressor per arm",
            **linear,
        ),
    }


def play(agent: Any, rounds: Iterable[Round]) -> list[int]:
    """Play the rounds with the library's own calls; return the chosen arms."""
    chosen = []
    for uniform, means in rounds:
        (arm,) = agent.pull()
        agent.update(np.array([1 if uniform < means[arm] else 0]))
        chosen.append(arm)
    return chosen


def play_fading(agent: Any, rounds: Iterable[Round]) -> list[int]:
    """The same, and every arm forgets a little after each round."""
    chosen = []
    for each in rounds:
        chosen += play(agent, [each])
        agent.decay(FADING)
    return chosen


def play_linear(agent: Any, rounds: Iterable[LinearRound]) -> list[int]:
    """The same with a context."""
    chosen = []
    for noise, means, context in rounds:
        (arm,) = agent.pull(context)
        agent.update(context, np.array([means[arm] + noise]))
        chosen.append(arm)
    return chosen


if __name__ == "__main__":
    main("bayesianbandits", version=version("bayesianbandits"), cases=cases, play=play)
