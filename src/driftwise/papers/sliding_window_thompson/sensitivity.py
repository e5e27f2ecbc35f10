"""Section 6: how much the window matters. tau = N^((1 - x)/2), x = alpha in AC-MAB and beta in SC-MAB.

All windows of a sweep meet the same runs, so that what they cost is compared run by run. Where a claim speaks of the
best value itself, its error is that of the best over resampled runs.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from driftwise.core.types import Floats
from driftwise.papers.sliding_window_thompson.studies import ARMS, SWEEP_HORIZONS, SWEEPS, label
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_least, at_most, between
from driftwise.study.findings import ratio_of

LEVELS = {"alpha": -0.4, "beta": -0.2}  # the text has "0.4" and "0.2", and says that the best values are negative
RESAMPLES = 200


def sweep(evidence: Evidence, study: str) -> tuple[Floats, Floats]:
    """The grid of a sweep, and the mean regret at each of its points."""
    values, runs = _runs(evidence, study)
    return values, runs.mean(axis=1)


def _runs(evidence: Evidence, study: str) -> tuple[Floats, Floats]:
    """The grid of a sweep, and the regret of every run at each of its points."""
    names = list(evidence.studies[study].policies)
    return np.array([float(name) for name in names]), np.array([evidence.regrets(study, name) for name in names])


class _Statement:
    """What is said of every sweep: its words, what is measured, and what agrees."""

    def __init__(self, says: str, measure: Callable[..., Finding], agrees: Range) -> None:
        self.says, self.measure, self.agrees = says, measure, agrees


def sensitivity(scale: str) -> Iterator[Claim]:
    """What is said of the best value, and of using 0 instead."""
    statements = {
        "negative": _Statement(
            "the best value is negative: the least regret below 0 over the least from 0 on",
            _measure_negative,
            at_most(1.0),
        ),
        "below-50%": _Statement(
            "0, as prescribed, costs less than 50% more than the best: shown is the ratio", _measure_cost, at_most(1.5)
        ),
        "steeper-above": _Statement(
            "regret grows faster towards larger values than towards smaller ones: the ratio of what both cost",
            _measure_steeper,
            at_least(1.0),
        ),
    }
    for name in SWEEPS:
        for horizon in SWEEP_HORIZONS[scale][name]:
            studies = tuple(f"{name}/K={n_arms}/N={horizon}" for n_arms in ARMS)
            for n_arms, study in zip(ARMS, studies, strict=True):
                for key, each in statements.items():
                    yield Claim(
                        f"sensitivity/{name}/{key}/K={n_arms}/N={horizon}",
                        f"{name}: {each.says}",
                        (study,),
                        partial(each.measure, study=study),
                        each.agrees,
                    )
            yield Claim(
                f"sensitivity/{name}/falls-with-K/N={horizon}",
                f"{name}: the best value falls as arms are added: shown is its slope against log K",
                studies,
                partial(_measure_best, names=studies, of=_fall),
                at_most(0.0),
            )
            level = LEVELS[name]
            yield Claim(
                f"sensitivity/{name}/level/N={horizon}",
                f"{name}: the best value is about {level}, within a tenth, on average over K",
                studies,
                partial(_measure_best, names=studies, of=_average),
                between(level - 0.1, level + 0.1),
                paper=level,
            )


def _measure_negative(evidence: Evidence, *, study: str) -> Finding:
    values, runs = _runs(evidence, study)
    means = runs.mean(axis=1)
    below, above = (np.flatnonzero(side)[means[side].argmin()] for side in (values < 0.0, values >= 0.0))
    return ratio_of(
        runs[below], runs[above], f"The best below is {values[below]:+.2f}, from 0 on {values[above]:+.2f}."
    )


def _measure_cost(evidence: Evidence, *, study: str) -> Finding:
    values, runs = _runs(evidence, study)
    best = int(runs.mean(axis=1).argmin())
    zero = int(np.flatnonzero(values == 0.0)[0])
    return ratio_of(runs[zero], runs[best], f"The best is {values[best]:+.2f}.")


def _measure_steeper(evidence: Evidence, *, study: str) -> Finding:
    """Compared at the same distance from the best value, as far as the shorter side reaches, up to 0.3."""
    values, runs = _runs(evidence, study)
    best = int(runs.mean(axis=1).argmin())
    reach = min(best, len(values) - 1 - best, round(0.3 / (values[1] - values[0])))
    if reach == 0:
        return Finding(np.nan, not_judged="The best value lies at the end of the grid.")
    above, below = (runs[best + side * reach] - runs[best] for side in (1, -1))
    return ratio_of(above, below, f"{reach} grid steps to either side of the best, {values[best]:+.2f}.")


def _fall(best: Floats) -> float:
    return float(np.polyfit(np.log(ARMS), best, 1)[0])


def _average(best: Floats) -> float:
    return float(best.mean())


def _measure_best(evidence: Evidence, *, names: tuple[str, ...], of: Callable[[Floats], float]) -> Finding:
    """A number made of the best values for every K, with its standard error over resampled runs."""
    sweeps = [_runs(evidence, study) for study in names]
    best = np.array([values[runs.mean(axis=1).argmin()] for values, runs in sweeps])
    draws = np.random.default_rng(0)
    resampled = []
    for _ in range(RESAMPLES):
        picked = [(values, runs[:, draws.integers(runs.shape[1], size=runs.shape[1])]) for values, runs in sweeps]
        resampled.append(of(np.array([values[runs.mean(axis=1).argmin()] for values, runs in picked])))
    why = f"Best for K={', '.join(map(str, ARMS))}: {', '.join(map(label, best))}."
    return Finding(of(best), float(np.std(resampled)), why, runs=min(runs.shape[1] for _, runs in sweeps))
