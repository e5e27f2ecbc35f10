"""A paper as one HTML page: its answer, its tables with ours below theirs, its figures drawn anew, every claim.

Needs the extra `report`.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from driftwise.measure.summary import Estimate
from driftwise.report.formatting import brief, spread
from driftwise.report.style import NARROW, WIDE, svg
from driftwise.report.templates import Markup, fill, write
from driftwise.study.plots.lines import Drawing
from driftwise.study.printed import PaperAnswer, PrintedTable
from driftwise.study.tallies import groups, headline, sentence_of
from driftwise.study.verdicts import VERDICTS, Verdict, as_json

ANSWERS = ("What was printed", "What comes out", "What does not, and why", "What to use")


def write_verdicts(
    path: Path,
    verdicts: Sequence[Verdict],
    drawings: Sequence[Drawing],
    *,
    tables: Sequence[PrintedTable] = (),
    answer: PaperAnswer | None = None,
    whole: bool = True,
    **about: object,
) -> Path:
    """Write the page; `about` holds title, source, notes, scale, runs, seed and command.

    Where not the `whole` paper was played, its answer has only what was.
    """
    by_id, counts = {each.id: each for each in verdicts}, headline(verdicts)
    sections = [(name, list(members)) for name, members in groupby(verdicts, key=lambda each: each.id.split("/")[0])]
    page = fill(
        "study",
        "paper.html",
        headline=sentence_of(counts),
        answer=_answers(answer.filled(by_id, counts, whole=whole)) if answer else [],
        whole=whole,
        claims=len(verdicts),
        kinds=VERDICTS,
        summary=groups(verdicts),
        tables=[table for each in tables if (table := _table(each, by_id))],
        groups=[(name, [_row(each) for each in members]) for name, members in sections],
        drawings=[_drawing(place, each) for place, each in enumerate(drawings)],
        **about,
    )
    return write(page, path)


def _answers(answer: PaperAnswer) -> list[tuple[str, str]]:
    """A heading and a text for each that has one."""
    return [(heading, text) for heading, text in zip(ANSWERS, answer, strict=True) if text]


def _table(printed: PrintedTable, by_id: dict[str, Verdict]) -> dict[str, object] | None:
    """The rows of a table of which something was judged; None where nothing of it was."""
    rows = [
        (heading, [_cell(by_id.get(claim or ""), claim) for claim in cells])
        for heading, cells in printed.rows
        if any(claim in by_id for claim in cells)
    ]
    return {"title": printed.title, "columns": printed.columns, "rows": rows} if rows else None


def _cell(each: Verdict | None, claim: str | None) -> dict[str, str]:
    if each is None:
        return {"verdict": "", "theirs": "" if claim is None else "not played", "ours": "", "why": ""}
    return {
        "verdict": each.verdict,
        "theirs": _number(each.claim.paper, None),
        "ours": _number(each.finding.ours, None),
        "why": f"{each.verdict}: {each.why}",
    }


def _row(each: Verdict) -> dict[str, str]:
    (plain,) = as_json([each])
    claim, finding = each.claim, each.finding
    name = each.id.partition("/")[2] or each.id
    off = f"{100.0 * (finding.ours / claim.paper - 1.0):+.1f}" if claim.paper and not math.isnan(finding.ours) else ""
    half = plain["ours_ci95"]
    return {
        "id": each.id,
        "name": Markup("/<wbr>").join(name.split("/")),  # on a phone, names break between their parts
        "says": claim.says,
        "reading": "" if claim.reading == "literal" else f"Reading: {claim.reading}.",
        "fitted": f"Fitted: {claim.fitted}." if claim.fitted else "",
        "paper": _number(claim.paper, claim.paper_ci95),
        "ours": _number(finding.ours, half if isinstance(half, float) else None),
        "agrees": _range(claim.agrees.low, claim.agrees.high),
        "off": off.replace("-", "−"),
        "at_end": _number(finding.at_end, None),
        "verdict": each.verdict,
        "why": each.why,
    }


def _range(low: float, high: float) -> str:
    if math.isinf(low):
        return f"at most {brief(high)}"
    return f"at least {brief(low)}" if math.isinf(high) else f"{brief(low)} to {brief(high)}"


def _number(value: float | None, half: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    if half is None or math.isnan(half):
        return brief(value)
    return spread(Estimate(value, half))


def _drawing(place: int, drawing: Drawing) -> dict[str, str]:
    images = {
        name: Markup(svg(drawing.draw(sheet), name=f"{name}{place}", title=drawing.title))
        for name, sheet in (("wide", WIDE), ("narrow", NARROW))
    }
    return {"title": drawing.title, "caption": drawing.caption, **images}
