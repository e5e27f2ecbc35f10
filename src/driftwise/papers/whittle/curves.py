"""Figures 1 and 2, how regret grows with episodes at four lengths of them; and with T, against Theorem 2.

exponent of a curve    ln( R(50) / R(10) ) / ln 5          R(e) the mean regret after e episodes
exponent in T          the slope of ln Reg(T) against ln T, kernels moving by T^-k and w = T^(2k/3)
Theorem 2              Reg(T) = O( sqrt(ln T) T^r ),  r = max(1 - k/3, 1/2)
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.papers.whittle.studies import (
    EARLY,
    EPISODES,
    FIGURES,
    FITTED,
    GROWING,
    LENGTHS,
    POWERS,
    SLOTS,
    WORLDS,
    figure,
    growing,
)
from driftwise.study.claims import Claim, Evidence, Finding

ROOM = 0.1  # a slope this much above a theorem's is within it: constants and logarithms bend it
READINGS = ("ours-calibrated", "ours-literal")
SMALL = "The theorem is about balls that cover, and the calibrated ones do not."
WIDE = "With the radii of (13) the balls hold nearly everything this early: the regime of the theorem is not reached."


def curves() -> Iterator[Claim]:
    """Our policy is lowest at every H, and its regret flattens."""
    for name, world in FIGURES.items():
        for slots in LENGTHS:
            study = figure(name, slots)
            rivals = {"ours-calibrated": FITTED[world], "ours-literal": "UCWhittle-literal"}
            for policy, rival in rivals.items():
                yield Claim(
                    f"{name}/lowest/H={slots}/{policy}",
                    f"{policy} loses less than {rival}, WIQL and Random",
                    (study,),
                    partial(_judge_lowest, study=study, policy=policy, rivals=(rival, "WIQL", "Random")),
                )
                yield Claim(
                    f"{name}/sublinear/H={slots}/{policy}",
                    f"{policy}: regret grows more slowly than the number of episodes",
                    (study,),
                    partial(_judge_exponent, study=study, policy=policy),
                    known=WIDE if world == "ladder" and policy == "ours-literal" else "",
                )


def _judge_lowest(evidence: Evidence, *, study: str, policy: str, rivals: tuple[str, ...]) -> Finding:
    ours = evidence.regret(study, policy)
    means = {name: evidence.regret(study, name).mean for name in rivals}
    nearest = min(means, key=lambda name: means[name])
    why = f"{ours.mean:,.0f}; the next is {nearest} with {means[nearest]:,.0f}."
    return Finding(ours.mean, ours.ci95, ours.mean < means[nearest], why)


def exponent(evidence: Evidence, study: str, policy: str) -> float:
    """How regret grows from the tenth episode to the last; nan where it was not positive."""
    slots = evidence.studies[study].horizon // EPISODES
    early, late = evidence.regret(study, policy, EARLY * slots).mean, evidence.regret(study, policy).mean
    return math.log(late / early) / math.log(EPISODES / EARLY) if min(early, late) > 0.0 else math.nan


def _judge_exponent(evidence: Evidence, *, study: str, policy: str) -> Finding:
    power = exponent(evidence, study, policy)
    return Finding(power, math.nan, power < 1.0, f"It grows as the number of episodes to the {power:.2f}.")


# ---- growth with T ----


def theorem(scale: str) -> Iterator[Claim]:
    """Regret at growing T, as kernels move more slowly the longer the run."""
    for world in WORLDS:
        for power in POWERS[scale]:
            names = tuple(growing(world, power, episodes) for episodes in GROWING[scale])
            bound = max(1.0 - power / 3.0, 0.5)
            for policy in READINGS:
                yield Claim(
                    f"theorem2/{policy}/world={world}/k={power:g}",
                    f"epsilon = T^-{power:g}: regret grows no faster than T^{bound:.2f}",
                    names,
                    partial(_judge_slope, names=names, policy=policy, bound=bound),
                    paper=bound,
                    known=WIDE if policy == "ours-literal" else SMALL,
                )


def slope(evidence: Evidence, names: tuple[str, ...], policy: str) -> float:
    """The power of T that fits mean regrets best; what is below 1 counts as 1."""
    episodes = [evidence.studies[name].horizon / SLOTS for name in names]
    means = [max(1.0, evidence.regret(name, policy).mean) for name in names]
    return float(np.polyfit(np.log(episodes), np.log(means), 1)[0])


def _judge_slope(evidence: Evidence, *, names: tuple[str, ...], policy: str, bound: float) -> Finding:
    power = slope(evidence, names, policy)
    means = ", ".join(f"{evidence.regret(name, policy).mean:,.0f}" for name in names)
    return Finding(power, math.nan, power <= bound + ROOM, f"It grows as T^{power:.2f}: {means}.")
