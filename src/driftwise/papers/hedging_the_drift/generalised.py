"""Section 8.2: generalised linear rewards, which the paper does not play. Here they are yes or no.

theta of length 3 turns four times in a plane, with 12 fixed actions and a logistic link.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

from driftwise.core.protocols import Policy
from driftwise.families import BanditOverBandit, Rotating, SlidingGLMUCB, SlidingLinUCB, Uniform
from driftwise.papers.hedging_the_drift.growth import growth
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_most
from driftwise.study.findings import lead
from driftwise.study.study import Study

DIM, NORM, TURNS = 3, 3.0, 4.0
VARIATION = 2.0 * math.pi * NORM * TURNS
HORIZONS = (5_000, 10_000, 20_000)
LAST = f"glm/T={HORIZONS[-1]}"
RUNS = {"quick": 8, "full": 40}
SMALL = 0.005  # of the theorem's bonus


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """A study for every T, with the same way of theta."""
    for horizon in HORIZONS:
        yield f"glm/T={horizon}", partial(_study, horizon, runs or RUNS[scale])


def _study(horizon: int, runs: int) -> Study:
    world = Rotating(dim=DIM, n_actions=12, actions="fixed", link="logistic", norm=NORM, turns=TURNS)

    def sliding(scale: float, index: str = "linear") -> SlidingGLMUCB:
        others = {"link": "logistic", "norm": NORM, "beta_scale": scale, "index": index}
        return SlidingGLMUCB.theorem9(horizon, DIM, VARIATION, **others)

    policies: dict[str, Policy] = {
        "GLM": sliding(1.0),
        "GLM-mu": sliding(1.0, "mu"),
        "GLM-small": sliding(SMALL),
        "GLM-small-mu": sliding(SMALL, "mu"),
        "BOB-GLM-small": BanditOverBandit(policy=sliding(SMALL)),
        "SW-UCB": SlidingLinUCB.theorem3(horizon, DIM, VARIATION)._replace(scale=0.1),
        "uniform": Uniform(),
    }
    return Study(name=f"glm/T={horizon}", worlds={"world": world}, policies=policies, horizon=horizon, runs=runs)


def claims() -> Iterator[Claim]:
    """Theorem 9's rate, and whether its bonus learns at all."""
    names = tuple(f"glm/T={horizon}" for horizon in HORIZONS)
    for policy in ("GLM", "GLM-small"):
        yield Claim(
            f"theorem9/T/{policy}",
            "with the window of the theorem, regret grows no faster than T^(2/3), within 0.05",
            names,
            partial(_measure_slope, names=names, policy=policy),
            agrees=at_most(2 / 3 + 0.05),
            paper=2 / 3,
            statement="theorem9/T",
            reading="literal" if policy == "GLM" else f"{SMALL:g} of the bonus",
            about=policy,
        )
    for best, other, says in (
        ("GLM-small", "GLM", f"{SMALL:g} of the theorem's bonus loses less than half of what all of it does"),
        ("GLM-small", "SW-UCB", "it loses less than the linear form on the same rewards"),
        ("GLM-small", "GLM-small-mu", "a bonus on the score, as printed, loses less than one on the mean, as proven"),
        ("BOB-GLM-small", "uniform", "BOB with that bonus loses less than half of what blind play does"),
    ):
        yield Claim(
            f"glm/{best}/{other}",
            says,
            (LAST,),
            partial(_measure_lead, best=best, other=other),
            agrees=at_most(0.5 if "half" in says else 1.0),
            possible=Range(0.0, math.inf),
            statement=None,
            about=best,
        )


def _measure_slope(evidence: Evidence, *, names: tuple[str, ...], policy: str) -> Finding:
    grown = growth(evidence, names, policy)
    listed = ", ".join(f"{mean:,.0f} at T = {size:,.0f}" for size, mean in zip(grown.sizes, grown.means, strict=True))
    return grown.slope._replace(why=f"It grows as T^{grown.slope.ours:.2f}: {listed}.")


def _measure_lead(evidence: Evidence, *, best: str, other: str) -> Finding:
    return lead(evidence, LAST, best, other)
