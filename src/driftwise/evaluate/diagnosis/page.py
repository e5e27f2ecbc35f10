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


def render(found: "Diagnosis", *, title: str) -> str:
    """The page as text; the same diagnosis gives the same text."""
    drawings = {
        name: {
            sheet_name: Markup(svg(draw(found, sheet), name=f"{name}-{sheet_name}", title=words))
            for sheet_name, sheet in (("wide", WIDE), ("narrow", NARROW))
        }
        for name, draw, words in (
            ("rates", rates_figure, "Mean reward of every arm over time; the table below has the numbers"),
            ("windows", window_figure, window_words(found)),
        )
    }
    arms, more_arms = listed_arms(found, MOST_ARMS)
    return fill(
        "evaluate/diagnosis",
        "diagnosis.html",
        title=title,
        found=found,
        headline=verdict(found),
        changes=[
            (change, [short_date(date) for date in dates])
            for change, dates in zip(found.changes, found.dates, strict=True)
        ],
        gradual=[
            (move, [short_date(date) for date in dates])
            for move, dates in zip(found.gradual, found.gradual_dates, strict=True)
        ],
        span=found.span and [short_date(date) for date in found.span],
        facts=[*facts(found)],
        drawings=drawings,
        p_value=at_most(found),
        arms=arms,
        more_arms=more_arms,
        unbanded=[found.arms[k].name for k in drawn_arms(found) if not found.has_band(k)],
        pens=[pen(place) for place in range(len(found.arms))],
        notes=notes_of(found),
    )


def write_page(found: "Diagnosis", path: str | Path, *, title: str = "Diagnosis of a log") -> Path:
    """Write the page, and return where it is."""
    return write(render(found, title=title), Path(path))
