"""Section 6: how much the window matters. tau = N^((1 - x)/2), x = alpha in AC-MAB and beta in SC-MAB."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from driftwise.core.types import Floats
from driftwise.papers.sliding_window_thompson.studies import ARMS, SWEEP_HORIZONS, SWEEPS, label
from driftwise.study.claims import Claim, Evidence, Finding


def sweep(evidence: Evidence, study: str) -> tuple[Floats, Floats]:
    """The grid of a sweep, and the mean regret at each of its points."""
    names = list(evidence.studies[study].policies)
    return np.array([float(name) for name in names]), np.array([evidence.regret(study, name).mean for name in names])


def sensitivity(scale: str) -> Iterator[Claim]:
    judges: dict[str, tuple[str, Callable[..., Finding], dict[str, str]]] = {
        "negative": ("the best value is negative: a longer window than prescribed is better", _judge_negative, {}),
        "below-50%": (
            "using 0, as prescribed, costs less than 50% over the best",
            _judge_cost,
            dict.fromkeys(SWEEPS, "It does not hold in any cell we ran."),
        ),
        "steeper-above": (
            "regret grows faster towards larger values than towards smaller ones",
            _judge_steeper,
            {"alpha": "True near the optimum for many arms, not for few.", "beta": "True for some K and N only."},
        ),
    }
    for name in SWEEPS:
        for horizon in SWEEP_HORIZONS[scale][name]:
            for n_arms in ARMS:
                study = f"{name}/K={n_arms}/N={horizon}"
                for key, (says, judge, known) in judges.items():
                    yield Claim(
                        f"sensitivity/{name}/{key}/K={n_arms}/N={horizon}",
                        f"{name}: {says}",
                        (study,),
                        partial(judge, study=study),
                        known=known.get(name, ""),
                    )
            names = tuple(f"{name}/K={n_arms}/N={horizon}" for n_arms in ARMS)
            yield Claim(
                f"sensitivity/{name}/falls-with-K/N={horizon}",
                f"{name}: the best value falls as arms are added",
                names,
                partial(_judge_falls, names=names),
            )
            yield Claim(
                f"sensitivity/{name}/level/N={horizon}",
                f"{name}: the best value is about {'-0.4' if name == 'alpha' else '-0.2'}, on average over K",
                names,
                partial(_judge_level, names=names, level=-0.4 if name == "alpha" else -0.2),
                paper=-0.4 if name == "alpha" else -0.2,
                known="" if name == "alpha" else "The text's 0.2 has lost its sign; the best values lie lower.",
            )


def _best(evidence: Evidence, study: str) -> float:
    values, regrets = sweep(evidence, study)
    return float(values[regrets.argmin()])


def _judge_negative(evidence: Evidence, *, study: str) -> Finding:
    best = _best(evidence, study)
    return Finding(best, math.nan, best < 0.0, f"The best is {best:+.2f}.")


def _judge_cost(evidence: Evidence, *, study: str) -> Finding:
    values, regrets = sweep(evidence, study)
    cost = float(regrets[values == 0.0][0] / regrets.min()) - 1.0
    return Finding(cost, math.nan, cost < 0.5, f"It costs {cost:.0%} more.")


def _judge_steeper(evidence: Evidence, *, study: str) -> Finding:
    """Compared at the same distance from the best value, as far as the shorter side reaches, up to 0.3."""
    values, regrets = sweep(evidence, study)
    best = int(regrets.argmin())
    reach = min(best, len(values) - 1 - best, round(0.3 / (values[1] - values[0])))
    if reach == 0:
        return Finding(math.nan, math.nan, False, "The best value lies at the end of the grid.")
    ratio = float((regrets[best + reach] - regrets[best]) / (regrets[best - reach] - regrets[best]))
    return Finding(
        ratio, math.nan, ratio > 1.0, f"{reach} grid steps above the best costs {ratio:.2f} times as much as below."
    )


def _judge_falls(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    best = [_best(evidence, study) for study in names]
    slope = float(np.polyfit(np.log(ARMS), best, 1)[0])
    return Finding(
        slope, math.nan, slope < 0.0, f"Best for K={', '.join(map(str, ARMS))}: {', '.join(map(label, best))}."
    )


def _judge_level(evidence: Evidence, *, names: tuple[str, ...], level: float) -> Finding:
    best = [_best(evidence, study) for study in names]
    mean = float(np.mean(best))
    return Finding(mean, math.nan, abs(mean - level) <= 0.1, _listed(best))


def _listed(best: list[float]) -> str:
    return f"Best for K={', '.join(map(str, ARMS))}: {', '.join(map(label, best))}."
