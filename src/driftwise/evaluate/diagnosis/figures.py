"""Figures of a diagnosis: the mean of every arm over time with its band and its changes, and the curve of windows.

Needs the extra `report`.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from driftwise.core.types import Floats
from driftwise.report.style import (
    INK,
    Axes,
    End,
    Figure,
    FuncFormatter,
    MaxNLocator,
    Sheet,
    compact,
    name_ends,
    panels,
    pen,
    plain,
    shorten,
    text_width,
)

if TYPE_CHECKING:
    from driftwise.evaluate.diagnosis.diagnosis import Diagnosis

MOST_ARMS = 7
TICKS = (3600, 6 * 3600, 12 * 3600, *(86400 * days for days in (1, 2, 5, 7, 14, 30, 60, 91, 182, 365, 730, 1825)))


def rates_figure(diagnosis: "Diagnosis", sheet: Sheet) -> Figure:
    """The mean of every arm over time; of many arms, those that were chosen most."""
    arms = drawn_arms(diagnosis)
    x, labels = times_of(diagnosis), {k: shorten(diagnosis.arms[k].name, sheet.longest) for k in arms}
    with plain():
        right = max(text_width(label, sheet.letters, bold=True) for label in labels.values()) + 24
        title = "Mean reward over time, with 95 % bands"
        figure, (axes,) = panels([title], [_span(x)], sheet, right=right)
        ends = []
        for place, k in enumerate(arms):
            colour, stroke = pen(place)
            mean, half = diagnosis.smooth.means[:, k], 1.96 * diagnosis.smooth.sds[:, k]
            axes.plot(x[1:], mean, color=colour, ls=stroke, lw=1.5, zorder=3)
            if diagnosis.has_band(k):
                axes.fill_between(x[1:], mean - half, mean + half, color=colour, alpha=0.16, lw=0)
            ends.append(End(float(mean[-1]), labels[k], colour))
            _mark_changes(axes, diagnosis, k, x, colour)
        _limits(axes, diagnosis, arms)
        _time_axis(axes, diagnosis, sheet, x)
        name_ends(axes, ends, sheet)
    return figure


def drawn_arms(diagnosis: "Diagnosis") -> list[int]:
    """The arms that were chosen most, in their order."""
    order = np.argsort([-arm.chosen for arm in diagnosis.arms], kind="stable")[:MOST_ARMS]
    return sorted(int(k) for k in order)


def window_figure(diagnosis: "Diagnosis", sheet: Sheet) -> Figure:
    """How much better a window predicts than all rewards do, in per cent of the squared error.

    Windows at the ends that predict far worse are left out.
    """
    curve = diagnosis.window
    scale = 100.0 / max(curve.all_rewards, 1e-300)
    x, gain, half = np.log2(curve.windows), curve.gains * scale, 1.96 * curve.standard_errors * scale
    low, high = float(gain.max() - 3.0 * max(gain.max(), float(half.min()), 0.05)), float((gain + half).max())
    low = max(low, float((gain - half).min()))
    drawn = np.flatnonzero(gain >= low)
    x, gain, half = (each[max(0, drawn[0] - 1) : drawn[-1] + 2] for each in (x, gain, half))
    with plain():
        title = "What a window gains over all rows, %"
        figure, (axes,) = panels([title], [_span(x)], sheet, right=24.0)
        axes.axhline(0.0, color=INK, alpha=0.45, lw=0.8)
        axes.plot(x, gain, color=pen(0)[0], lw=1.5, zorder=3)
        axes.fill_between(x, gain - half, gain + half, color=pen(0)[0], alpha=0.16, lw=0)
        if curve.best is not None:
            axes.axvline(np.log2(curve.best), color=INK, alpha=0.45, lw=0.8, ls=(0, (3, 3)))
        axes.set_ylim(low, high + 0.08 * (high - low))
        axes.xaxis.set_major_locator(MaxNLocator(6 if sheet.width > 400 else 4, integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(2.0**value):,}"))
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axes.set_xlabel("window, rows", fontsize=sheet.letters, color=INK, alpha=0.75)
    return figure


def times_of(diagnosis: "Diagnosis") -> Floats:
    """The start of the log and the ends of its bins: seconds, counts, or rows."""
    if diagnosis.edge_times is None:
        return np.concatenate([[0.0], diagnosis.edges.astype(float)])
    return diagnosis.edge_times


def _span(x: Floats) -> tuple[float, float]:
    """From the first to the last, with room where these are one."""
    room = 0.5 if x[0] == x[-1] else 0.0
    return float(x[0]) - room, float(x[-1]) + room


def _mark_changes(axes: Axes, diagnosis: "Diagnosis", k: int, x: Floats, colour: str) -> None:
    """Mark when an arm changed; arms that did so at one date take turns with their dashes."""
    rows = np.concatenate([[0], diagnosis.edges])
    for change in diagnosis.changes:
        if change.arm == k:
            low, row, high = np.interp([change.low, change.row, change.high], rows, x)
            together = [each.arm for each in diagnosis.changes if each.row == change.row]
            dashes = (6 * together.index(k), (3, 6 * len(together) - 3))
            axes.axvspan(low, high, color=colour, alpha=0.08, lw=0)
            axes.axvline(row, color=colour, alpha=0.8, lw=0.9, ls=dashes, zorder=1)
    for move in diagnosis.gradual:
        if move.arm == k:
            ends = np.interp([move.start, move.end], rows, x)
            axes.plot(ends, [move.before, move.after], color=colour, alpha=0.8, lw=0.9, ls=(0, (3, 3)), zorder=4)


def _limits(axes: Axes, diagnosis: "Diagnosis", arms: list[int]) -> None:
    """Room for all means, and for bands where these are not far wider."""
    low, high = float(diagnosis.smooth.means[:, arms].min()), float(diagnosis.smooth.means[:, arms].max())
    banded = [k for k in arms if diagnosis.has_band(k)]
    means, halves = diagnosis.smooth.means[:, banded], 1.96 * diagnosis.smooth.sds[:, banded]
    room = max(high - low, float(np.median(halves)), 1e-12)
    bottom = max(low - room, float((means - halves).min()))
    top = min(high + room, float((means + halves).max()))
    axes.set_ylim(bottom - 0.05 * (top - bottom), top + 0.05 * (top - bottom))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(compact))


def _time_axis(axes: Axes, diagnosis: "Diagnosis", sheet: Sheet, x: Floats) -> None:
    if not diagnosis.dated:
        axes.set_xlabel(
            "row" if diagnosis.edge_times is None else "time", fontsize=sheet.letters, color=INK, alpha=0.75
        )
        return
    most = 6 if sheet.width > 400 else 3
    span = float(x[-1] - x[0])
    step = next((each for each in TICKS if span / each <= most), TICKS[-1])
    zone = ZoneInfo(diagnosis.timezone)
    shift = datetime.fromtimestamp(float(x[0]), UTC).astimezone(zone).utcoffset()
    offset = shift.total_seconds() if shift is not None else 0.0
    first = np.ceil((x[0] + offset) / step) * step - offset
    axes.set_xticks(np.arange(first, x[-1], step))
    form = "%H:%M" if span < 86400 else "%d %b %H:%M" if step < 86400 else "%d %b" if span < 300 * 86400 else "%b %Y"
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: datetime.fromtimestamp(value, UTC).astimezone(zone).strftime(form).lstrip("0"))
    )
