"""One figure says it all: how the world drifts above, what each policy misses below, on one axis of rounds.

Needs the extra `report`.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.spec import lookup
from driftwise.core.types import Floats, Ints
from driftwise.errors import ParameterError
from driftwise.measure.summary import band
from driftwise.report.style import (
    INK,
    WIDE,
    Axes,
    End,
    Figure,
    FuncFormatter,
    MaxNLocator,
    Sheet,
    compact,
    name_ends,
    pen,
    plain,
    prepare,
    shorten,
    text_width,
)
from driftwise.study.plots.drift import Drift, draw_drift, drift_of, mark_changes
from driftwise.study.results import Results
from driftwise.study.study import Cell, Study, is_oracle


class Curve(NamedTuple):
    """One policy's mean regret after each of `rounds`, with half its 95% band; an oracle's is no achievement."""

    label: str
    rounds: Ints
    mean: Floats
    half: Floats
    oracle: bool = False


class Picture(NamedTuple):
    """All that a figure shows; drawn on any sheet."""

    drift: Drift
    curves: list[Curve]
    horizon: int
    runs: int


def regret_figure(study: Study, results: Results, world_label: str, *, sheet: Sheet = WIDE) -> Figure:
    """The drift of one world over the regret of every policy in it, both against rounds.

    Above is the world as run 0 met it, below the mean over runs with its 95% band (none for a single run).
    """
    cells = cells_by_policy(study, results, world_label)
    return draw(picture(study, results, cells), sheet=sheet)


def cells_by_policy(study: Study, results: Results, world_label: str) -> dict[str, list[Cell]]:
    """The cells of one world, run after run; all of them must have been played."""
    lookup(world_label, study.worlds, "world")
    cells = {label: study.cells_of(world_label, label) for label in study.policies}
    keys = {cell.key for row in cells.values() for cell in row}
    lacking = len(keys) - len(results.has(keys))
    if lacking:
        raise ParameterError(f"{lacking} of {len(keys)} cells of {world_label!r} are missing: run the study first")
    return cells


def picture(study: Study, results: Results, cells: dict[str, list[Cell]]) -> Picture:
    """What there is to show of one world, given its cells."""
    world_label = next(iter(cells.values()))[0].world
    return Picture(
        drift=drift_of(study, study.worlds[world_label]),
        curves=[
            _curve(label, *results.curves(row))._replace(oracle=is_oracle(study.policies[label]))
            for label, row in cells.items()
        ],
        horizon=study.horizon,
        runs=study.runs,
    )


def draw(image: Picture, *, sheet: Sheet = WIDE) -> Figure:
    """Lay a picture out on a sheet: fixed panels, and a right margin as wide as the longest name."""
    names = [shorten(curve.label, sheet.longest) for curve in image.curves]
    with plain():
        regret_height = max(sheet.regret, 1.5 * sheet.letters * len(names))
        right = max(text_width(name, sheet.letters, bold=True) for name in [*names, *image.drift.names]) + 24
        left, top, between, bottom = 3.4 * sheet.letters, 2.6 * sheet.letters, 4 * sheet.letters, 3.6 * sheet.letters
        height = top + sheet.drift + between + regret_height + bottom
        figure = Figure(figsize=(sheet.width / 72, height / 72))

        def panel(floor: float, tall: float, **shared: Any) -> Axes:
            box = (left / sheet.width, floor / height, (sheet.width - left - right) / sheet.width, tall / height)
            return figure.add_axes(box, **shared)

        below = panel(bottom, regret_height)
        above = panel(bottom + regret_height + between, sheet.drift, sharex=below)
        draw_drift(above, image.drift, image.horizon, sheet)
        _draw_regret(below, image, names, sheet)
    return figure


# What is shown


def _curve(label: str, rounds: Ints, values: Floats) -> Curve:
    mean, half = band(values)
    return Curve(label, np.append(0, rounds), np.append(0.0, mean), np.append(0.0, half))


# How it is drawn


def _draw_regret(axes: Axes, image: Picture, names: list[str], sheet: Sheet) -> None:
    runs = f"mean of {image.runs} runs, 95% band" if image.runs > 1 else "a single run"
    prepare(axes, (0, image.horizon), sheet, f"Regret so far: {runs}")
    axes.set_xlabel("rounds", fontsize=sheet.letters, color=INK, alpha=0.75)
    best, ends = int(np.argmin([np.inf if curve.oracle else curve.mean[-1] for curve in image.curves])), []
    for i, curve in enumerate(image.curves):
        colour, stroke = pen(i)
        axes.plot(curve.rounds, curve.mean, color=colour, ls=stroke, lw=2.4 if i == best else 1.5, zorder=3)
        ends.append(End(float(curve.mean[-1]), names[i], colour, bold=i == best))
        if image.runs > 1:
            low, high = curve.mean - curve.half, curve.mean + curve.half
            axes.fill_between(curve.rounds, low, high, color=colour, alpha=0.16, lw=0)
    if image.drift.shared:
        mark_changes(axes, image.drift.changes)
    highest = max(float(np.max(curve.mean + np.nan_to_num(curve.half))) for curve in image.curves)
    lowest = min(0.0, *(float(np.min(curve.mean)) for curve in image.curves))  # ahead of the comparator, for a while
    axes.set_ylim(1.04 * lowest, 1.04 * highest or 1.0)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(compact))
    name_ends(axes, ends, sheet)
