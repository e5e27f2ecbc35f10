"""What the paper says, cell by cell and in its prose, and how each is judged.

A cell matches when our mean is within 5% of the printed one, or the two differ by no more than both 95% intervals
together (in Table 2 widened by the noise of the paper's ten configurations, estimated from our runs).
"""

import csv
import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.measure.summary import paired_difference
from driftwise.papers.sliding_window_thompson.studies import (
    ALGORITHMS,
    ARMS,
    FIGURE_5_ARMS,
    HORIZONS,
    SIGMAS,
    SWEEP_HORIZONS,
    SWEEPS,
    label,
    reported,
)
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.worlds import SCMAB

TOLERANCE = 0.05
CONFIGURATIONS = 10

DEFECT = "The printed rows need a defect; see SW-UCB-printed."
SHIFT = "Neither reading of the ASC shift fits both tables."
KNOWN = {
    "SER4": "SER4's constants are not in the paper, its source could not be checked, and no setting tried fits all.",
    "REXP3 in table4": "No batch and mixing of the standard algorithm reaches the printed values; another was run.",
    "REXP3": "Ours is 1-8% high in nearly every cell: the variation the authors told REXP3 is not stated.",
    "TS in table5": SHIFT,
    "SW-UCB-printed, ASC": f"Not reproduced where the wave turns about ten radians in a run. {SHIFT}",
}


@cache
def published() -> dict[str, tuple[float, float]]:
    """Mean and 95% interval of every printed cell, by claim id."""
    cells = {}
    for number in range(2, 7):
        text = files(__package__).joinpath("published", f"sw-ts-table{number}.csv").read_text(encoding="utf-8")
        for row in csv.DictReader(text.splitlines()):
            place = f"table{number}/K={row['K']}/N={row['N']}/{row['algorithm']}"
            cells[place] = (float(row["regret_mean"]), float(row["ci95"]))
    return cells


def claims(scale: str) -> list[Claim]:
    """Every claim that the studies of a scale can judge."""
    return [*_cells(scale), *_orders(scale), *_prose(scale), *_figure_5(), *_sensitivity(scale)]


# ---- the tables, cell by cell ----


def _cells(scale: str) -> Iterator[Claim]:
    for table in ("table2", "table3", "table4", "table5", "table6", "table5-literal", "table6-literal"):
        literal = table.endswith("-literal")
        for n_arms in ARMS:
            for horizon in HORIZONS[scale][:1] if literal else HORIZONS[scale]:
                study = f"{table}/K={n_arms}/N={horizon}"
                for algorithm in ALGORITHMS:
                    printed = f"{study.replace('-literal', '')}/{algorithm.replace('-printed', '')}"
                    if printed in published():
                        yield _cell(study, algorithm, horizon, *published()[printed])


def _cell(study: str, algorithm: str, horizon: int, mean: float, ci95: float) -> Claim:
    return Claim(
        id=f"{study}/{algorithm}",
        says=f"regret of {algorithm} is {mean:,.0f}",
        studies=(study,),
        judge=partial(_judge_cell, study=study, algorithm=algorithm, horizon=horizon, mean=mean, ci95=ci95),
        paper=mean,
        paper_ci95=ci95,
        known=_known(study, algorithm),
    )


def _judge_cell(evidence: Evidence, *, study: str, algorithm: str, horizon: int, mean: float, ci95: float) -> Finding:
    runs = evidence.regrets(study, algorithm, reported(horizon))
    ours = evidence.regret(study, algorithm, reported(horizon))
    spread = float(runs.std(ddof=1)) if len(runs) > 1 else math.nan
    configurations = spread / math.sqrt(CONFIGURATIONS) if study.startswith("table2") else 0.0
    off = ours.mean - mean
    near = abs(off) <= TOLERANCE * mean
    allowed = ci95 + ours.ci95 + 1.96 * configurations
    error = math.sqrt((ci95 / 1.96) ** 2 + spread**2 / len(runs) + configurations**2)
    return Finding(
        ours=ours.mean,
        ours_ci95=ours.ci95,
        holds=near or abs(off) <= allowed,
        why="Within 5%." if near else "Within both intervals." if abs(off) <= allowed else f"Off by {off / mean:+.0%}.",
        sigmas=off / error if error > 0.0 else None,
        at_end=evidence.regret(study, algorithm).mean,
    )


def _known(study: str, algorithm: str) -> str:
    """Why a cell is known to come out otherwise; empty for the rest."""
    table, _, horizon = study.split("/")
    if algorithm == "SER4":
        return KNOWN["SER4"]
    if algorithm == "SW-UCB":
        return DEFECT
    if table.endswith("literal"):
        return SHIFT
    if algorithm == "REXP3":
        return KNOWN["REXP3 in table4"] if table == "table4" else KNOWN["REXP3"]
    if algorithm == "TS" and table == "table5":
        return KNOWN["TS in table5"]
    ten_radians = {("table5", "N=10000"), ("table5", "N=100000"), ("table6", "N=10000")}
    if algorithm == "SW-UCB-printed" and (table, horizon) in ten_radians:
        return KNOWN["SW-UCB-printed, ASC"]
    return ""


# ---- who wins ----


def _orders(scale: str) -> Iterator[Claim]:
    for table in ("table2", "table3", "table4", "table5", "table6"):
        for n_arms in ARMS:
            for horizon in HORIZONS[scale]:
                study = f"{table}/K={n_arms}/N={horizon}"
                best, tie = _winner(table, n_arms, horizon)
                yield Claim(
                    id=f"order/{study}",
                    says=f"{best} loses least" + (f", {tie} not distinguishable from it" if tie else ""),
                    studies=(study,),
                    judge=partial(_judge_order, study=study, best=best, tie=tie, horizon=horizon),
                )


def _winner(table: str, n_arms: int, horizon: int) -> tuple[str, str]:
    """The algorithm the paper says is best in a cell, and one it cannot tell from it."""
    if table == "table2" and horizon == 10_000 and n_arms == 5:
        return "SW-KL-UCB", ""
    if table == "table2" and horizon == 10_000 and n_arms == 10:
        return "SW-TS", "SW-KL-UCB"
    if table in ("table3", "table5") and horizon == 10_000:
        return "TS", ""
    return "SW-TS", ""


def _judge_order(evidence: Evidence, *, study: str, best: str, tie: str, horizon: int) -> Finding:
    """Holds when no other algorithm of the paper lost clearly less, run by run."""
    rounds = reported(horizon)
    ours = evidence.regrets(study, best, rounds)
    others = [name for name in ALGORITHMS if name not in (best, tie, "SW-UCB") and _printed(study, name)]
    better = {name: paired_difference(ours, evidence.regrets(study, name, rounds)) for name in others}
    nearest = min(others, key=lambda name: evidence.regret(study, name, rounds).mean)
    ratio = float(ours.mean() / evidence.regret(study, nearest, rounds).mean)
    beaten_by = [name for name, gap in better.items() if gap.low > 0.0]
    why = f"{best} has {ratio:.2f} of the regret of {nearest}, the next."
    return Finding(ratio, math.nan, not beaten_by, why if not beaten_by else f"{', '.join(beaten_by)} lost less. {why}")


def _printed(study: str, algorithm: str) -> bool:
    return f"{study}/{algorithm.replace('-printed', '')}" in published()


# ---- the prose ----


def _prose(scale: str) -> Iterator[Claim]:
    figure_4 = "table4/K=10/N=10000"
    yield Claim(
        "figure4/TS-first",
        "up to round 4,000 TS loses less than SW-KL-UCB, in the end more",
        (figure_4,),
        partial(_judge_crossing, study=figure_4, early="TS", late="SW-KL-UCB", rounds=4_000),
    )
    yield Claim(
        "figure4/SW-TS-throughout",
        "SW-TS loses least over the whole horizon",
        (figure_4,),
        partial(_judge_throughout, study=figure_4),
    )
    yield Claim(
        "figure4/REXP3-like-TS",
        "REXP3 does about as well as TS",
        (figure_4,),
        partial(_judge_ratio, study=figure_4, one="REXP3", other="TS", low=0.9, high=1.1),
        paper=1426 / 1419,
        known=KNOWN["REXP3 in table4"],
    )
    for algorithm, known in (("SW-UCB", "The order is an artefact of the defect."), ("SW-UCB-printed", "")):
        yield Claim(
            f"figure4/TS-beats-{algorithm}",
            "TS loses less than SW-UCB although the latter forgets",
            (figure_4,),
            partial(_judge_ratio, study=figure_4, one="TS", other=algorithm, low=0.0, high=1.0),
            paper=1419 / 3247,
            known=known,
        )
    yield Claim(
        "world/first-change",
        "sigma=1e-4, K=5: the best arm stays the same until round 5,000",
        (),
        _judge_first_change,
        paper=5_000,
        known="By the printed formula it changes at 2,527.",
    )
    yield Claim(
        "world/changes",
        "sigma=1e-4, K=5: the best arm changes 14 times in 100,000 rounds",
        (),
        _judge_changes,
        paper=14,
        known="The printed formula gives 13 changes, that is 14 phases.",
    )
    if 100_000 in HORIZONS[scale]:
        for n_arms in ARMS:
            study = f"table3/K={n_arms}/N=100000"
            yield Claim(
                f"prose/table3/TS-worst/K={n_arms}",
                "at N=100,000 TS becomes the worst",
                (study,),
                partial(_judge_worst, study=study, worst="TS"),
                known="False in the paper's own table, where SER4 is worse everywhere and others are too at K >= 10.",
            )
        study = "table2/K=10/N=100000"
        yield Claim(
            "figure1/SW-TS-learns-again",
            "between rounds 60,000 and 70,000 SW-TS has the smallest slope",
            (study,),
            partial(_judge_slope, study=study, start=60_000, stop=70_000),
        )


def _judge_crossing(evidence: Evidence, *, study: str, early: str, late: str, rounds: int) -> Finding:
    """Holds when `early` falls behind for good within half of `rounds` of `rounds`."""
    t, first = _curve(evidence, study, early)
    _, second = _curve(evidence, study, late)
    crossing = float(t[first <= second][-1])
    holds = abs(crossing - rounds) <= 0.5 * rounds and bool(first[-1] > second[-1])
    return Finding(crossing, math.nan, holds, f"{early} falls behind {late} for good at round {crossing:,.0f}.")


def _judge_throughout(evidence: Evidence, *, study: str) -> Finding:
    """Holds when SW-TS is nowhere above another by more than a figure shows: 1% of its height."""
    curves = {name: _curve(evidence, study, name)[1] for name in ALGORITHMS if _printed(study, name)}
    height = max(float(values[-1]) for values in curves.values())
    ours = curves.pop("SW-TS")
    above = max(float((ours - values).max()) for values in curves.values()) / height
    why = f"It is nowhere above another by more than {above:.1%} of the figure's height."
    return Finding(above, math.nan, above <= 0.01, why)


def _judge_ratio(evidence: Evidence, *, study: str, one: str, other: str, low: float, high: float) -> Finding:
    rounds = reported(evidence.studies[study].horizon)
    ratio = evidence.regret(study, one, rounds).mean / evidence.regret(study, other, rounds).mean
    return Finding(ratio, math.nan, low <= ratio <= high, f"{one} has {ratio:.2f} of the regret of {other}.")


def _best_arm_changes(rounds: int) -> Ints:
    """Counted on the world itself; nothing is simulated."""
    tape, _ = SCMAB(n_arms=5, sigma=1e-4).draw(rounds, seed=0)
    return np.flatnonzero(np.diff(tape.levels.table.argmax(axis=1)))


def _judge_first_change(_: Evidence) -> Finding:
    first = float(_best_arm_changes(5_000)[0] + 2)  # rounds are numbered from 1 in the paper
    return Finding(first, math.nan, first >= 5_000, f"It changes at {first:,.0f} on the tape.")


def _judge_changes(_: Evidence) -> Finding:
    changes = len(_best_arm_changes(100_000))
    return Finding(changes, math.nan, changes == 14, f"{changes} on the tape.")


def _judge_worst(evidence: Evidence, *, study: str, worst: str) -> Finding:
    rounds = reported(evidence.studies[study].horizon)
    names = [name for name in ALGORITHMS if _printed(study, name)]
    means = {name: evidence.regret(study, name, rounds).mean for name in names}
    worse = [name for name in names if means[name] > means[worst]]
    return Finding(means[worst], math.nan, not worse, f"Worse: {', '.join(worse) or 'none'}.")


def _judge_slope(evidence: Evidence, *, study: str, start: int, stop: int) -> Finding:
    slopes = {}
    for name in (name for name in ALGORITHMS if _printed(study, name)):
        t, values = _curve(evidence, study, name)
        slopes[name] = float(np.diff(np.interp([start, stop], t, values))[0]) / (stop - start)
    best = min(slopes, key=lambda name: slopes[name])
    return Finding(
        slopes["SW-TS"], math.nan, best == "SW-TS", f"The smallest slope is that of {best}, {slopes[best]:.4f}."
    )


def _curve(evidence: Evidence, study: str, algorithm: str) -> tuple[Any, Floats]:
    chosen = evidence.studies[study]
    rounds, curves = evidence.results.curves(chosen.cells_of("world", algorithm))
    return rounds, curves.mean(axis=0)


# ---- Figure 5: the speed of the drift ----


def _figure_5() -> Iterator[Claim]:
    for n_arms in FIGURE_5_ARMS:
        names = tuple(f"figure5/K={n_arms}/sigma={sigma:g}" for sigma in SIGMAS)
        yield Claim(
            f"figure5/K={n_arms}/SW-TS-best",
            "SW-TS loses least for every sigma from 0.001 to 0.01",
            names,
            partial(_judge_all_speeds, names=names),
        )
    fastest = "figure5/K=30/sigma=0.01"
    for other, known in (("REXP3", ""), ("SW-KL-UCB", "")):
        yield Claim(
            f"figure5/K=30/TS-beats-{other}",
            f"at sigma=0.01 TS loses less than {other}",
            (fastest,),
            partial(_judge_end_ratio, study=fastest, one="TS", other=other),
            known=known,
        )


def _judge_all_speeds(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    ratios = []
    for study in names:
        ours = evidence.regret(study, "SW-TS").mean
        others = [evidence.regret(study, name).mean for name in ALGORITHMS if name not in ("SW-TS", "SW-UCB")]
        ratios.append(ours / min(others))
    return Finding(
        max(ratios), math.nan, max(ratios) <= 1.0, f"At most {max(ratios):.2f} of the regret of the next best."
    )


def _judge_end_ratio(evidence: Evidence, *, study: str, one: str, other: str) -> Finding:
    ratio = evidence.regret(study, one).mean / evidence.regret(study, other).mean
    return Finding(ratio, math.nan, ratio < 1.0, f"{one} has {ratio:.2f} of the regret of {other}.")


# ---- section 6: how much the window matters ----


def sweep(evidence: Evidence, study: str) -> tuple[Any, Floats]:
    """The grid of a sweep, and the mean regret at each of its points."""
    names = list(evidence.studies[study].policies)
    return np.array([float(name) for name in names]), np.array([evidence.regret(study, name).mean for name in names])


def _sensitivity(scale: str) -> Iterator[Claim]:
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
