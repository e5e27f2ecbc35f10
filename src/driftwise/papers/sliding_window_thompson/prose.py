"""What the paper says in its prose: of its figures, of the world, of the speed of the drift."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.families import SCMAB
from driftwise.papers.sliding_window_thompson.cells import KNOWN, printed_in
from driftwise.papers.sliding_window_thompson.studies import (
    ALGORITHMS,
    ARMS,
    FIGURE_5_ARMS,
    HORIZONS,
    SIGMAS,
    reported,
)
from driftwise.study.claims import Claim, Evidence, Finding


def prose(scale: str) -> Iterator[Claim]:
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
    curves = {name: _curve(evidence, study, name)[1] for name in ALGORITHMS if printed_in(study, name)}
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
    names = [name for name in ALGORITHMS if printed_in(study, name)]
    means = {name: evidence.regret(study, name, rounds).mean for name in names}
    worse = [name for name in names if means[name] > means[worst]]
    return Finding(means[worst], math.nan, not worse, f"Worse: {', '.join(worse) or 'none'}.")


def _judge_slope(evidence: Evidence, *, study: str, start: int, stop: int) -> Finding:
    slopes = {}
    for name in (name for name in ALGORITHMS if printed_in(study, name)):
        t, values = _curve(evidence, study, name)
        slopes[name] = float(np.diff(np.interp([start, stop], t, values))[0]) / (stop - start)
    best = min(slopes, key=lambda name: slopes[name])
    return Finding(
        slopes["SW-TS"], math.nan, best == "SW-TS", f"The smallest slope is that of {best}, {slopes[best]:.4f}."
    )


def _curve(evidence: Evidence, study: str, algorithm: str) -> tuple[Ints, Floats]:
    chosen = evidence.studies[study]
    rounds, curves = evidence.results.curves(chosen.cells_of("world", algorithm))
    return rounds, curves.mean(axis=0)


# ---- Figure 5: the speed of the drift ----


def figure_5() -> Iterator[Claim]:
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
