"""Figures 1 and 2, how regret grows with episodes at three lengths of them; and with T, against Theorem 2.

exponent of a curve    ln( R(50) / R(10) ) / ln 5          R(e) the mean regret after e episodes
exponent in T          the slope of ln Reg(T) against ln T, transitions moving by T^-k and w = T^(2k/3)
Theorem 2              Reg(T) = O( sqrt(ln T) T^r ),  r = max(1 - k/3, 1/2)

Sublinear is an exponent of at most 0.9: choosing at random has 0.98 to 1.2. A slope of at most r + 0.1 is within the
theorem, for constants and logarithms bend it.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.papers.whittle.orders import WINS, against
from driftwise.papers.whittle.readings import EPISODES, NEAREST
from driftwise.papers.whittle.studies import (
    EARLY,
    FIGURES,
    GROWING,
    LENGTHS,
    POWERS,
    SLOTS,
    WORLDS,
    figure,
    growing,
)
from driftwise.study.claims import Claim, Evidence, Finding, at_most
from driftwise.study.findings import mean_of, slope_of, worst_of

ROOM = 0.1
SUBLINEAR = at_most(0.9)
PLAYED = {"literal": "ours-literal", "calibrated": "ours-calibrated"}
FITTED = {"literal": "", "calibrated": "the radius, on Table 1"}


def curves() -> Iterator[Claim]:
    """Our policy is lowest at every H, and its regret flattens."""
    for name, world in FIGURES.items():
        rivals = {
            "literal": ("UCWhittle-literal", "Random", "WIQL-published"),
            "calibrated": (NEAREST[world], "Random", "WIQL"),
        }
        for slots in LENGTHS[name]:
            study = figure(name, slots)
            for reading, policy in PLAYED.items():
                end = "" if reading == "literal" else f"/{reading}"
                yield Claim(
                    id=f"{name}/lowest/H={slots}{end}",
                    says=f"Our Policy is lowest: less than {', '.join(rivals[reading])}",
                    studies=(study,),
                    measure=partial(_nearest_rival, study=study, policy=policy, rivals=rivals[reading]),
                    agrees=WINS,
                    statement=f"{name}/lowest/H={slots}",
                    reading=reading,
                    fitted=FITTED[reading],
                    about=policy,
                )
                yield Claim(
                    id=f"{name}/sublinear/H={slots}{end}",
                    says="the regret of Our Policy grows more slowly than the number of episodes",
                    studies=(study,),
                    measure=partial(_exponent, study=study, policy=policy),
                    agrees=SUBLINEAR,
                    statement=f"{name}/sublinear/H={slots}",
                    reading=reading,
                    fitted=FITTED[reading],
                    about=policy,
                )


def _nearest_rival(evidence: Evidence, *, study: str, policy: str, rivals: tuple[str, ...]) -> Finding:
    return worst_of(against(evidence, (study,), policy, rival) for rival in rivals)


def _exponent(evidence: Evidence, *, study: str, policy: str) -> Finding:
    """By the delta method on the pairs of early and late regret of each run."""
    slots = evidence.studies[study].horizon // EPISODES
    early, late = evidence.regrets(study, policy, EARLY * slots), evidence.regrets(study, policy)
    if min(early.mean(), late.mean()) <= 0.0:
        return Finding(math.nan, not_judged="Its mean regret is not above 0, so that there is no exponent.")
    span = math.log(EPISODES / EARLY)
    power = math.log(late.mean() / early.mean()) / span
    error = mean_of(late / late.mean() - early / early.mean()).error / span
    return Finding(power, error, f"It grows as the number of episodes to the {power:.2f}.", runs=len(late))


# ---- growth with T ----


def theorem(scale: str) -> Iterator[Claim]:
    """Regret at growing T, as transitions move more slowly the longer the run."""
    for world in WORLDS:
        for power in POWERS[scale]:
            names = tuple(growing(world, power, episodes) for episodes in GROWING[scale])
            bound = max(1.0 - power / 3.0, 0.5)
            for reading, policy in PLAYED.items():
                where = f"theorem2/world={world}/k={power:g}"
                yield Claim(
                    id=where + ("" if reading == "literal" else f"/{reading}"),
                    says=f"epsilon = T^-{power:g}: regret grows no faster than T^{bound:.2f}",
                    studies=names,
                    measure=partial(_slope, names=names, policy=policy),
                    agrees=at_most(bound + ROOM),
                    paper=bound,
                    statement=where if reading == "literal" else None,  # the theorem is about balls that cover
                    reading=reading,
                    about=policy,
                )


def _slope(evidence: Evidence, *, names: tuple[str, ...], policy: str) -> Finding:
    episodes = [evidence.studies[name].horizon / SLOTS for name in names]
    samples = [evidence.regrets(name, policy) for name in names]
    means = ", ".join(f"{sample.mean():,.0f}" for sample in samples)
    if min(sample.mean() for sample in samples) <= 0.0:
        return Finding(math.nan, not_judged=f"Not all mean regrets are above 0, so that there is no slope: {means}.")
    finding = slope_of(episodes, samples)
    return finding._replace(why=f"It grows as T^{finding.ours:.2f}: {means} at T = {_listed(episodes)}.")


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in np.round(values))
