"""Time SMPyBandits: ``choice()`` and ``getReward()`` of its policies.

Its ``SWUCB`` and ``SWklUCB`` keep the last ``tau`` rounds of all arms together, as sliding windows
are defined, but scan the whole window once per arm in every decision: the cost grows with arms x
window, although the docstring promises a constant one. The tests of CUSUM, Page-Hinkley and GLR
start over from the first reward each time, so their cost grows with the rounds since a restart.
It has no sliding-window Thompson sampling.

It cannot use Numba here: it imports ``numba.decorators``, which no Numba for this Python has. Only
the Kullback-Leibler functions would gain. Lent that module by hand (Numba 0.57.1, three runs each
way), klUCB was 5.4 times as fast, SWklUCB 3.1 times, GLR with its default shortcuts 1.8 times:
divide the ratios of these three accordingly.

Some of what it does is not what the papers say; it is timed as it is, and the notes tell:

* ``DiscountedUCB`` keeps its discounted counts as whole numbers, which stay at 1.
* ``DiscountedThompson`` discounts the arm played K times and the others not at all.
* ``Monitored_IndexPolicy`` takes ``(False, None)`` for an alarm: it restarts whenever a window is full.
* ``EpsilonGreedy`` compares sums of rewards, not means.
* Uniform exploration leaves out the last arm: ``randint(0, nbArms - 1)``.
* ``AdSwitch`` plays all arms in turn for ever once a check has begun; ``AdSwitchNew`` is compared.
* ``GLR_IndexPolicy`` gets alpha and delta, because what it makes of horizon and changes is a delta above 1.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
from collections.abc import Callable, Iterable
from typing import Any

import settings  # type: ignore[import-not-found]
from timing import Case, Options, Round, main  # type: ignore[import-not-found]

with contextlib.redirect_stdout(sys.stderr):  # it prints warnings, and stdout is for the JSON
    import numpy as np
    import SMPyBandits  # type: ignore[import-not-found]
    from SMPyBandits import Policies as smp  # noqa: N813
    from SMPyBandits.Policies.Posterior import Gauss  # type: ignore[import-not-found]

Fresh = Callable[..., Callable[[], Any]]


def cases(options: Options) -> dict[str, Case]:
    """Return the policies to time, by the name of their case."""

    def fresh(policy: type, /, **parameters: object) -> Callable[[], Any]:
        def make() -> Any:
            np.random.seed(options.seed)  # noqa: NPY002 - it draws from NumPy's global source
            random.seed(options.seed)  # and from Python's
            made = policy(options.arms, **parameters)
            made.startGame()
            return made

        return make

    return {**_still(fresh), **_forgetting(fresh, options), **_detecting(fresh, options)}


def _still(fresh: Fresh) -> dict[str, Case]:
    """Policies that remember everything."""
    return {
        "uniform": Case(fresh(smp.Uniform), "Uniform"),
        "epsilon-greedy": Case(
            fresh(smp.EpsilonGreedy, epsilon=settings.EPSILON), "EpsilonGreedy, on sums of rewards instead of means"
        ),
        "ucb1": Case(fresh(smp.UCB), "UCB, vectorised over arms"),
        "default": Case(fresh(smp.klUCB), "klUCB()"),
        "kl-ucb": Case(fresh(smp.klUCB), "klUCB, Bernoulli, level ln t, without Numba"),
        "thompson": Case(fresh(smp.Thompson), "Thompson with Beta posteriors, one draw per arm"),
        "gaussian-thompson": Case(
            fresh(smp.Thompson, posterior=Gauss),
            "Thompson with Gauss posteriors, whose standard deviation is 1/n instead of 1/sqrt(n)",
        ),
        "exp3": Case(fresh(smp.Exp3, gamma=settings.EXP3_GAMMA), "Exp3"),
    }


def _forgetting(fresh: Fresh, options: Options) -> dict[str, Case]:
    """Policies with a window, a discount or a share."""
    return {
        "sliding-ucb": Case(
            fresh(smp.SWUCB, tau=options.window), "SWUCB, global window, scanned once per arm in each decision"
        ),
        "sliding-kl-ucb": Case(
            fresh(smp.SWklUCB, tau=options.window),
            "SWklUCB, global window, scanned once per arm in each decision, level ln min(t, tau), without Numba",
        ),
        "discounted-ucb": Case(
            fresh(smp.DiscountedUCB, gamma=settings.DISCOUNT),
            "DiscountedUCB, its discounted counts cut to whole numbers",
        ),
        "discounted-thompson": Case(
            fresh(smp.DiscountedThompson, gamma=settings.DISCOUNT),
            "DiscountedThompson, which discounts only the arm played, K times",
        ),
        "exp3s": Case(fresh(smp.Exp3S, gamma=settings.EXP3_GAMMA, alpha=1 / options.horizon), "Exp3S"),
    }


def _detecting(fresh: Fresh, options: Options) -> dict[str, Case]:
    """Policies that restart when a test says so."""
    known = {"horizon": options.horizon, "max_nb_random_events": options.changes}
    lazy = "tested every 10th reward of an arm, its default, from the first reward on"
    monitored = {"w": settings.MONITORED, "b": settings.MONITORED_GAP, "gamma": settings.DETECTING_SHARE}
    # exploration in turn, local restarts and level ln t, as ours
    glr = functools.partial(
        fresh,
        smp.BernoulliGLR_IndexPolicy_WithDeterministicExploration,
        policy=functools.partial(smp.klUCB_forGLR, c=1),
        alpha0=settings.DETECTING_SHARE,
        delta=settings.GLR_DELTA,
    )
    every = {"lazy_detect_change_only_x_steps": 1, "lazy_try_value_s_only_x_steps": 1}
    return {
        "cusum-ucb": Case(
            fresh(
                smp.CUSUM_IndexPolicy,
                epsilon=settings.CUSUM_SLACK,
                min_number_of_observation_between_change_point=settings.WARM_UP,
                **known,
            ),
            f"CUSUM_IndexPolicy on UCB, {lazy}",
        ),
        "page-hinkley-ucb": Case(
            fresh(smp.PHT_IndexPolicy, epsilon=settings.PAGE_HINKLEY_SLACK, **known),
            f"PHT_IndexPolicy on UCB, {lazy}",
        ),
        "m-ucb": Case(
            fresh(smp.Monitored_IndexPolicy, horizon=options.horizon, **monitored),
            "Monitored_IndexPolicy on UCB, w=200, which restarts whenever a window is full",
        ),
        "for drift": Case(glr(), "Bernoulli GLR on klUCB, the policy of its authors"),
        "glr-kl-ucb": Case(glr(), "Bernoulli GLR on klUCB, local, its default Delta n = Delta s = 10, without Numba"),
        "glr-kl-ucb-full": Case(glr(**every), "Bernoulli GLR on klUCB, local, Delta n = Delta s = 1, without Numba"),
        "practical-ad-switch": Case(
            fresh(smp.AdSwitchNew, horizon=options.of("practical-ad-switch").horizon),
            "AdSwitchNew, checks every 50 rounds, at every 20th start, its defaults",
        ),
        "ad-switch-2018": Case(fresh(smp.AdSwitch, horizon=options.horizon), "AdSwitch, ends up playing arms in turn"),
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
