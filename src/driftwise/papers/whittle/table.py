"""Table 1: all 24 cells, by each reading of their column, and the table in the paper's own form.

A cell agrees within 5%. What the paper's spread is (a deviation, an error, an interval) is not stated, and nothing is
judged by it. Where the printed regret of a policy is within 5% of that of Random, choosing at random would match as
well: such a cell is not judged.
"""

import csv
from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files

from driftwise.papers.whittle.readings import READINGS, ROWS, ColumnReading
from driftwise.papers.whittle.studies import APPLICATIONS, CELLS, WORLDS, table, table_baselines
from driftwise.study.claims import LITERAL, Claim, Evidence, Finding, around
from driftwise.study.findings import mean_of, row_of
from driftwise.study.printed import PrintedTable

MARGIN = 0.05
BASELINES = ("Random", "WIQL")  # the rows of the studies of baselines
NEAREST = {"Our Policy": "calibrated", "Random": LITERAL, "WIQL": "step 0.1"}
NEAREST_UCWHITTLE = {"ladder": "static", "ages": "radius 10"}

Cell = tuple[int, int]


@cache
def published() -> dict[tuple[str, Cell, str], tuple[float, float]]:
    """Regret and spread of every printed cell, by world, arms and row."""
    text = files(__package__).joinpath("published", "table1.csv").read_text(encoding="utf-8")
    worlds = {application: world for world, application in APPLICATIONS.items()}
    return {
        (worlds[row["application"]], (int(row["N"]), int(row["M"])), row["policy"]): (
            float(row["regret_mean"]),
            float(row["spread"]),
        )
        for row in csv.DictReader(text.splitlines())
    }


def printed(world: str, cell: Cell, row: str) -> float:
    """The printed regret."""
    return published()[world, cell, row][0]


def cell_id(world: str, cell: Cell, row: str, reading: str = LITERAL) -> str:
    """The claim of a cell, by one reading of its column."""
    return f"{table(world, cell)}/{row}" + ("" if reading == LITERAL else f"/{reading}")


def study_of(world: str, cell: Cell, row: str) -> str:
    """The study that plays a row."""
    return table_baselines(world, cell) if row in BASELINES else table(world, cell)


def cells() -> Iterator[Claim]:
    """All 24 cells, by every reading of their column, and the side on which each column lies."""
    for reading in READINGS:
        column = [_cell(world, cell, reading) for world in WORLDS for cell in CELLS]
        yield from column
        if not reading.fitted and not any(_like_random(world, cell, reading.row) for world in WORLDS for cell in CELLS):
            yield row_of(f"table1/{reading.row}" + ("" if reading.name == LITERAL else f"/{reading.name}"), column)


def _cell(world: str, cell: Cell, reading: ColumnReading) -> Claim:
    study, (paper, spread) = study_of(world, cell, reading.row), published()[world, cell, reading.row]
    return Claim(
        id=cell_id(world, cell, reading.row, reading.name),
        says=f"regret of {reading.row} is {paper:,.0f}",
        studies=(study,),
        measure=partial(_measure, study=study, policy=reading.policy, blind=_like_random(world, cell, reading.row)),
        agrees=around(paper, MARGIN),
        paper=paper,
        paper_ci95=spread,
        statement=cell_id(world, cell, reading.row),
        reading=reading.name,
        fitted=reading.fitted_on(world),
        about=reading.policy,
    )


def _like_random(world: str, cell: Cell, row: str) -> bool:
    """Whether choosing at random would match a printed cell as well."""
    paper = printed(world, cell, row)
    return row != "Random" and abs(printed(world, cell, "Random") - paper) <= MARGIN * paper


def _measure(evidence: Evidence, *, study: str, policy: str, blind: bool) -> Finding:
    finding = mean_of(evidence.regrets(study, policy))
    if not blind:
        return finding
    return finding._replace(not_judged="It is printed within 5% of Random: choosing at random would match as well.")


def printed_tables(scale: str) -> list[PrintedTable]:
    """Table 1 twice: as the text has every policy, and by the readings that come nearest."""
    titles = {
        "Table 1, every policy as the text has it": lambda world, row: LITERAL,
        "Table 1, by the readings that come nearest (constants picked on this table)": _nearest,
    }
    return [
        PrintedTable(
            title=f"{title}: Reg(T) for T = 50, H = 100 and epsilon = 0.05",
            columns=ROWS,
            rows=tuple(
                (
                    f"{APPLICATIONS[world]}, N = {cell[0]}, M = {cell[1]}",
                    tuple(cell_id(world, cell, row, reading(world, row)) for row in ROWS),
                )
                for world in WORLDS
                for cell in CELLS
            ),
        )
        for title, reading in titles.items()
    ]


def _nearest(world: str, row: str) -> str:
    return NEAREST_UCWHITTLE[world] if row == "UCWhittle" else NEAREST[row]
