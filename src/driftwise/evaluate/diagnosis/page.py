"""The report of a diagnosis: one page of HTML that needs nothing but itself. Needs the extra `report`."""

from pathlib import Path
from typing import TYPE_CHECKING

from driftwise.evaluate.diagnosis.figures import drawn_arms, rates_figure, window_figure
from driftwise.evaluate.diagnosis.summary import (
    at_most,
    facts,
    listed_arms,
    notes_of,
    short_date,
    verdict,
    window_words,
)
from driftwise.report.style import NARROW, WIDE, pen, svg
from driftwise.report.templates import Markup, fill, write

MOST_ARMS = 50

if TYPE_CHECKING:
    from driftwise.evaluate.diagnosis.diagnosis import Diagnosis


def render(diagnosis: "Diagnosis", *, title: str) -> str:
    """The page as text; the same diagnosis gives the same text."""
    drawings = {
        name: {
            sheet_name: Markup(svg(draw(diagnosis, sheet), name=f"{name}-{sheet_name}", title=words))
            for sheet_name, sheet in (("wide", WIDE), ("narrow", NARROW))
        }
        for name, draw, words in (
            ("rates", rates_figure, "Mean reward of every arm over time; the table below has the numbers"),
            ("windows", window_figure, window_words(diagnosis)),
        )
    }
    arms, more_arms = listed_arms(diagnosis, MOST_ARMS)
    return fill(
        "evaluate/diagnosis",
        "diagnosis.html",
        title=title,
        found=diagnosis,
        headline=verdict(diagnosis),
        changes=[
            (change, [short_date(date) for date in dates])
            for change, dates in zip(diagnosis.changes, diagnosis.dates, strict=True)
        ],
        gradual=[
            (move, [short_date(date) for date in dates])
            for move, dates in zip(diagnosis.gradual, diagnosis.gradual_dates, strict=True)
        ],
        span=diagnosis.span and [short_date(date) for date in diagnosis.span],
        facts=[*facts(diagnosis)],
        drawings=drawings,
        p_value=at_most(diagnosis),
        arms=arms,
        more_arms=more_arms,
        unbanded=[diagnosis.arms[k].name for k in drawn_arms(diagnosis) if not diagnosis.has_band(k)],
        pens=[pen(place) for place in range(len(diagnosis.arms))],
        notes=notes_of(diagnosis),
    )


def write_page(diagnosis: "Diagnosis", path: str | Path, *, title: str = "Diagnosis of a log") -> Path:
    """Write the page, and return where it is."""
    return write(render(diagnosis, title=title), Path(path))
