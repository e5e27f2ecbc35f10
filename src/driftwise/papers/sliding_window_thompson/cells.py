"""Tables 2 to 6, cell by cell and row by row.

A cell is judged at the checkpoint that the printed numbers fit, within 5%. Table 2 averages over ten configurations,
drawn at random and not printed: its means carry their noise, which is larger than 5% for most algorithms. Such a cell
stays inconclusive however often we play, unless it is far off.

The text leaves the parameters of REXP3 and SER4 open, the printed SW-UCB has a defect, and the printed ASC-MAB is not
that of the text: these cells have other readings, which count for the same printed number.
"""

import csv
import math
from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files

from driftwise.papers.sliding_window_thompson.studies import (
    ALGORITHMS,
    AMPLITUDE,
    ARMS,
    HORIZONS,
    PRINTED_NAME,
    RESETS,
    TABLES,
    TRUE_VARIATION,
    places,
    reported,
    with_arms,
)
from driftwise.study.claims import LITERAL, Claim, Evidence, Finding, around
from driftwise.study.findings import mean_of, row_of
from driftwise.study.printed import PrintedTable

MARGIN = 0.05

# The standard deviation of a mean over ten configurations of Table 2, as a share of it, for K = 5, 10, 20, 30: from 300
# configurations at N = 10,000 with a run each, whose own luck makes it up to a fifth too large.
NOISE = {
    "TS": (0.112, 0.095, 0.087, 0.080),
    "SER4": (0.079, 0.045, 0.025, 0.018),
    RESETS: (0.055, 0.037, 0.025, 0.020),
    "REXP3": (0.045, 0.034, 0.026, 0.020),
    TRUE_VARIATION: (0.050, 0.037, 0.027, 0.022),
    "SW-UCB": (0.063, 0.030, 0.019, 0.016),
    "SW-UCB-printed": (0.263, 0.217, 0.172, 0.150),
    "SW-KL-UCB": (0.074, 0.070, 0.059, 0.052),
    "SW-TS": (0.081, 0.073, 0.060, 0.052),
}
READINGS = {
    "SW-UCB-printed": "with the defect",
    RESETS: "with resets",
    TRUE_VARIATION: "true variation",
    AMPLITUDE: "variation times (K-1)/K",
}
SHIFT = "shift N/2"
FITTED = {
    "SER4": "C = 2 and a reset with probability 1/N, on Table 3",
    RESETS: "C = sqrt(2) and a reset with probability 0.005 a pass, on Table 3 at N = 10,000 and 100,000",
    AMPLITUDE: "the factor (K-1)/K among about twenty settings, on Tables 3 and 6 at N = 100,000",
    SHIFT: "the shift N/2 among about thirty rules, on this table at N = 10,000, K = 5 and 30",
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


def printed_in(study: str, algorithm: str) -> bool:
    """Whether the paper prints this algorithm in this cell; Table 4 has no SER4."""
    return f"{study.replace('-literal', '')}/{PRINTED_NAME.get(algorithm, algorithm)}" in published()


def cells(scale: str) -> Iterator[Claim]:
    """Every printed cell, in each of its readings."""
    for table, n_arms, horizon in places(scale):
        study = f"{table}/K={n_arms}/N={horizon}"
        for algorithm in _readings(table):
            if printed_in(study, algorithm):
                yield _cell(table, n_arms, horizon, algorithm)


def _readings(table: str) -> tuple[str, ...]:
    """The algorithms and their other readings in a table; beside the literal ASC-MAB, the paper's six only."""
    if table.endswith("-literal"):
        return ALGORITHMS
    return (*ALGORITHMS, RESETS, AMPLITUDE if TABLES[table].sigma else TRUE_VARIATION)


def _cell(table: str, n_arms: int, horizon: int, algorithm: str) -> Claim:
    study, name = f"{table}/K={n_arms}/N={horizon}", PRINTED_NAME.get(algorithm, algorithm)
    place = f"{study.replace('-literal', '')}/{name}"
    mean, ci95 = published()[place]
    noise = NOISE[algorithm][ARMS.index(n_arms)] if table == "table2" else 0.0
    return Claim(
        id=f"{study}/{algorithm}",
        says=f"regret of {name} is {mean:,.0f}",
        studies=(study,),
        measure=partial(_measure_cell, study=study, algorithm=algorithm, horizon=horizon, mean=mean),
        agrees=around(mean, MARGIN),
        paper=mean,
        paper_ci95=ci95,
        paper_error=math.hypot(ci95 / 1.96, noise * mean),
        statement=place,
        reading=_reading(table, algorithm),
        fitted=_fitted(table, n_arms, horizon, algorithm),
        about=algorithm,
    )


def _measure_cell(evidence: Evidence, *, study: str, algorithm: str, horizon: int, mean: float) -> Finding:
    finding = mean_of(evidence.regrets(study, algorithm, reported(horizon)))
    end = evidence.regret(study, algorithm).mean
    table, arms, _ = study.split("/")
    uniform = uniform_loss(table, int(arms.removeprefix("K=")), horizon)
    silent = f"Uniform play loses {uniform:,.0f}: the cell says nothing of {algorithm}."
    return finding._replace(
        why=f"Off by {finding.ours / mean - 1.0:+.1%}.",
        at_end=end,
        not_judged=silent if abs(uniform - mean) <= MARGIN * mean else "",
    )


@cache
def uniform_loss(table: str, n_arms: int, horizon: int) -> float:
    """What uniform play loses up to the reported round where means are not random; nan in Table 2."""
    world = with_arms(TABLES[table].world, n_arms)
    if table == "table2":
        return math.nan
    lost = 0.0
    for course in world.courses(horizon, seed=0):
        means = course.means.table[course.means.rows][: max(0, reported(horizon) - course.start)]
        lost += float((means.max(axis=1) - means.mean(axis=1)).sum()) if len(means) else 0.0
    return lost


def _reading(table: str, algorithm: str) -> str:
    shifted = [SHIFT] if table in ("table5", "table6") else []
    return ", ".join([*([READINGS[algorithm]] if algorithm in READINGS else []), *shifted]) or LITERAL


def _fitted(table: str, n_arms: int, horizon: int, algorithm: str) -> str:
    """What was fitted on this very cell; nothing for most."""
    if algorithm in ("SER4", RESETS) and table == "table3" and horizon <= 100_000:
        return FITTED[algorithm]
    if algorithm == AMPLITUDE and table in ("table3", "table6") and horizon == 100_000:
        return FITTED[algorithm]
    by_shift = table == "table6" and horizon == 10_000 and n_arms in (5, 30)
    return FITTED[SHIFT] if by_shift and algorithm in ("TS", "SW-TS", "SW-KL-UCB") else ""


# ---- rows ----


def rows(scale: str) -> Iterator[Claim]:
    """On which side of the printed cells ours lie: in each table with all of its lengths, and over all tables.

    Not for SW-UCB with its defect: uniform play, too, has cells on both sides of its rows.
    """
    tables = [table for table in TABLES if not table.endswith("-literal")]
    every = [claim for claim in cells(scale) if not claim.id.split("/")[0].endswith("-literal")]
    for algorithm in (*(name for name in ALGORITHMS if name != "SW-UCB-printed"), RESETS, TRUE_VARIATION, AMPLITUDE):
        own = [claim for claim in every if claim.id.endswith(f"/{algorithm}")]
        for table in tables:
            members = [claim for claim in own if claim.id.startswith(f"{table}/")]
            if len(members) >= len(ARMS) * len(HORIZONS["full"]):
                yield row_of(f"{table}/{algorithm}", members)
        yield row_of(f"tables/{algorithm}", own)


# ---- the tables in the paper's own form ----

TITLES = {
    "table2": "Table 2: AC-MAB, tau = 4 sqrt(N log N)",
    "table3": "Table 3: SC-MAB, tau = sqrt(N), sigma = 0.0001",
    "table4": "Table 4: SC-MAB, tau = sigma^(-4/5), sigma = 0.001",
    "table5": "Table 5: ASC-MAB, tau = sqrt(N), sigma = 0.0001, shift N/2",
    "table6": "Table 6: ASC-MAB, tau = sigma^(-4/5), sigma = 0.001, shift N/2",
}


def tables(scale: str) -> list[PrintedTable]:
    """Tables 2 to 6: rows by K and algorithm, columns by N; other readings stand below the printed row they are of."""
    lengths = HORIZONS["full"]
    printed = []
    for table, title in TITLES.items():
        lines = []
        for n_arms in ARMS:
            for algorithm in _in_order(_readings(table)):
                if printed_in(f"{table}/K={n_arms}/N={lengths[0]}", algorithm):
                    note = f", {READINGS[algorithm]}" if algorithm in READINGS else ""
                    heading = f"K = {n_arms}, {PRINTED_NAME.get(algorithm, algorithm)}{note}"
                    ids = tuple(f"{table}/K={n_arms}/N={length}/{algorithm}" for length in lengths)
                    lines.append((heading, ids))
        printed.append(PrintedTable(title, tuple(f"N = {length:,}" for length in lengths), tuple(lines)))
    return printed


def _in_order(algorithms: tuple[str, ...]) -> list[str]:
    """Each reading after the algorithm it is of."""
    printed = [name for name in ALGORITHMS if name not in PRINTED_NAME]

    def place(algorithm: str) -> tuple[int, bool]:
        return printed.index(PRINTED_NAME.get(algorithm, algorithm)), algorithm in PRINTED_NAME

    return sorted(algorithms, key=place)
