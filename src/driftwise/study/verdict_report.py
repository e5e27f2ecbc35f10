"""A paper's claims as one HTML page: what it says, what came out, line by line, and its figures drawn anew.

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
from driftwise.study.claims import DIFFERS, KNOWN, MATCHES, Verdict, summary
from driftwise.study.plots.lines import Drawing


def write_verdicts(path: Path, verdicts: Sequence[Verdict], drawings: Sequence[Drawing], **about: object) -> Path:
    """Write the page; `about` holds title, source, notes, scale, runs, seed and command."""
    groups = [(name, list(members)) for name, members in groupby(verdicts, key=lambda each: each.id.split("/")[0])]
    page = fill(
        "study",
        "verdicts.html",
        headline=headline(verdicts),
        rows=verdicts,
        summary=summary(verdicts),
        groups=[(name, [_row(each) for each in members]) for name, members in groups],
        drawings=[_drawing(place, each) for place, each in enumerate(drawings)],
        **about,
    )
    return write(page, path)


def headline(verdicts: Sequence[Verdict]) -> str:
    """The tally in a sentence."""
    tally = {kind: sum(each.verdict == kind for each in verdicts) for kind in (MATCHES, KNOWN, DIFFERS)}
    return (
        f"Of {len(verdicts)} claims, {tally[MATCHES]} match, {tally[KNOWN]} deviate for a known reason, "
        f"and {tally[DIFFERS] or 'none'} differ{'s' if tally[DIFFERS] <= 1 else ''} without one."
    )


def _row(each: Verdict) -> dict[str, str]:
    cell = each.sigmas is not None
    name = each.id.partition("/")[2] or each.id
    return {
        "id": each.id,
        "name": Markup("/<wbr>").join(name.split("/")),  # on a phone, names break between their parts
        "says": "" if cell else each.says,
        "paper": _number(each.paper, each.paper_ci95),
        "ours": _number(each.ours, each.ours_ci95),
        "off": f"{100.0 * (each.ours / each.paper - 1.0):+.1f}" if cell and each.paper else "",
        "sigmas": f"{each.sigmas:+.1f}" if each.sigmas is not None else "",
        "at_end": _number(each.at_end, None),
        "verdict": each.verdict,
        "why": each.why,
    }


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
