"""Who loses least: in each cell of the tables, among those with a window, and where the paper cannot tell two apart.

The paper's orders include SW-UCB with its defect. Each is judged with a correct SW-UCB, as the text has it, and with
the defective one of the printed rows.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from driftwise.papers.sliding_window_thompson.cells import printed_in
from driftwise.papers.sliding_window_thompson.studies import ALGORITHMS, places, reported
from driftwise.study.claims import LITERAL, Claim, Evidence, Finding, at_most, between
from driftwise.study.findings import lead, worst_of

CORRECT, DEFECT = "SW-UCB", "SW-UCB-printed"
WINDOWED = ("SW-UCB", "SW-KL-UCB", "SW-TS")
PRINTED_TABLES = ("table2", "table3", "table4", "table5", "table6")


def orders(scale: str) -> Iterator[Claim]:
    """Every cell's winner, and what is said beside."""
    for table, n_arms, horizon in places(scale, *PRINTED_TABLES):
        study = f"{table}/K={n_arms}/N={horizon}"
        best, except_for = winner(table, n_arms, horizon)
        others = [name for name in ALGORITHMS if name not in (best, except_for) and printed_in(study, name)]
        yield from both(f"order/{study}", f"{best} loses least", study, best, others)
        if table in ("table3", "table5") and horizon == 10_000:
            windowed = [name for name in WINDOWED if name != "SW-TS"]
            says = "SW-TS loses least of those with a sliding window"
            yield from both(f"order/windows/{study}", says, study, "SW-TS", [*windowed, DEFECT])
    first = "table2/K=5/N=10000"
    rest = [name for name in ALGORITHMS if name not in ("SW-TS", "SW-KL-UCB")]
    yield from both(f"order/second/{first}", "only SW-KL-UCB outperforms SW-TS", first, "SW-TS", rest)
    tie = "table2/K=10/N=10000"
    yield Claim(
        id=f"order/tie/{tie}",
        says="SW-TS and SW-KL-UCB cannot be told apart: within the two printed half-widths together, 3.6%",
        studies=(tie,),
        measure=partial(measure_lead, study=tie, best="SW-TS", others=("SW-KL-UCB",)),
        agrees=between(1.0 - 0.036, 1.0 + 0.036),
        paper=470 / 469,
        about="SW-TS",
    )


def both(name: str, says: str, study: str, best: str, others: Sequence[str]) -> Iterator[Claim]:
    """The order as the text has it, with a correct SW-UCB and the literal ASC-MAB, and as the printed rows need it."""
    literal = as_text(study)
    readings = ((DEFECT, literal, "", LITERAL), (CORRECT, study, "/as-tables", "SW-UCB with the defect, shift N/2"))
    for left_out, where, suffix, reading in readings:
        yield Claim(
            id=name + suffix,
            says=f"{says}: shown is its share of the regret of the nearest other",
            studies=(where,),
            measure=partial(
                measure_lead, study=where, best=best, others=tuple(each for each in others if each != left_out)
            ),
            agrees=at_most(1.0),
            statement=name,
            reading=reading,
            about=best,
        )


def as_text(study: str) -> str:
    """The same cell in ASC-MAB as the text has it, which is played at the shortest N only."""
    table, _, rest = study.partition("/")
    return f"{table}-literal/{rest}" if table in ("table5", "table6") and rest.endswith("/N=10000") else study


def winner(table: str, n_arms: int, horizon: int) -> tuple[str, str]:
    """The algorithm the paper says is best in a cell, and one it cannot tell from it."""
    if table == "table2" and horizon == 10_000 and n_arms == 5:
        return "SW-KL-UCB", ""
    if table == "table2" and horizon == 10_000 and n_arms == 10:
        return "SW-TS", "SW-KL-UCB"
    if table in ("table3", "table5") and horizon == 10_000:
        return "TS", ""
    return "SW-TS", ""


def measure_lead(evidence: Evidence, *, study: str, best: str, others: tuple[str, ...]) -> Finding:
    """The largest share of another's regret, run by run, where the printed numbers were taken."""
    rounds = reported(evidence.studies[study].horizon)
    return worst_of(lead(evidence, study, best, other, rounds) for other in others)
