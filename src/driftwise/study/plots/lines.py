"""Lines in panels: regret over time, over horizons, over a parameter. Each carries its name at its right end.

Needs the extra `report`; matplotlib is imported when the first figure is drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints

if TYPE_CHECKING:
    from driftwise.report.style import Axes, Figure, Sheet

Line = tuple[Floats | Ints, Floats, Floats]  # x, the mean there, and half the band around it (nan: no band)


class Drawing(NamedTuple):
    """A figure of a paper, drawn from our runs on any sheet."""

    title: str
    caption: str
    draw: "Callable[[Sheet], Figure]"


class Panel(NamedTuple):
    """What one panel shows: a title, lines by name, and guides: lines in ink that only help the eye.

    `pens` gives lines the pens of certain places, so that an algorithm looks the same in all figures of a page.
    """

    title: str
    lines: Mapping[str, Line]
    guides: Mapping[str, Line] = {}
    pens: Mapping[str, int] = {}


def draw_lines(
    sheet: "Sheet",
    contents: Sequence[Panel],
    *,
    xlabel: str,
    limits: tuple[float, float] | None = None,
    logarithmic: bool = False,
) -> "Figure":
    """One panel beside the other; `limits` are those of all y axes, `logarithmic` takes the logarithm of both axes."""
    from driftwise.report.style import panels, plain, text_width

    if logarithmic:
        contents = [each._replace(lines=_logarithms(each.lines), guides=_logarithms(each.guides)) for each in contents]
    with plain():
        names = [name for panel in contents for name in (*panel.lines, *panel.guides)]
        right = max(text_width(name, sheet.letters, bold=True) for name in names) + 24
        spans = [_span(panel.lines, tight=logarithmic) for panel in contents]
        figure, axes = panels([panel.title for panel in contents], spans, sheet, right=right)
        for each, panel in zip(axes, contents, strict=True):
            _draw_panel(each, panel, sheet, xlabel=xlabel, limits=limits, logarithmic=logarithmic)
    return figure


def _draw_panel(
    axes: "Axes",
    panel: Panel,
    sheet: "Sheet",
    *,
    xlabel: str,
    limits: tuple[float, float] | None,
    logarithmic: bool,
) -> None:
    from driftwise.report.style import INK, End, name_ends, pen

    ends = []
    for place, (name, (x, mean, half)) in enumerate(panel.lines.items()):
        colour, stroke = pen(panel.pens.get(name, place))
        axes.plot(x, mean, color=colour, ls=stroke, lw=1.5, zorder=3)
        if not np.isnan(half).all():
            axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.16, lw=0)
        finite = mean[~np.isnan(mean)]
        if len(finite):
            ends.append(End(float(finite[-1]), name, colour))
    for name, (x, mean, _) in panel.guides.items():
        axes.plot(x, mean, color=INK, alpha=0.5, ls=(0, (1, 2)), lw=1.3, zorder=2)
        ends.append(End(float(mean[-1]), name, INK, strength=0.6))
    _scale(axes, panel, sheet, limits=limits, logarithmic=logarithmic)
    axes.set_xlabel(xlabel, fontsize=sheet.letters, color=INK, alpha=0.75)
    name_ends(axes, ends, sheet)


def _scale(
    axes: "Axes", panel: Panel, sheet: "Sheet", *, limits: tuple[float, float] | None, logarithmic: bool
) -> None:
    from driftwise.report.style import FuncFormatter, MaxNLocator, compact

    every = (*panel.lines.values(), *panel.guides.values())
    highest = float(np.nanmax([np.nanmax(mean + np.nan_to_num(half)) for _, mean, half in every if _has_numbers(mean)]))
    lowest = float(np.nanmin([np.nanmin(mean) for _, mean, _ in every if _has_numbers(mean)]))
    if logarithmic:
        margin = 0.05 * (highest - lowest)
        axes.set_ylim(lowest - margin, highest + margin)
        axes.set_yticks(_round_numbers(*axes.get_ylim()))
        axes.set_xticks(_well_apart(np.unique(np.concatenate([x for x, _, _ in panel.lines.values()]))))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: compact(float(f"{10.0**value:.3g}"))))
        return
    axes.set_ylim(*(limits or (min(0.0, 1.04 * lowest), 1.04 * highest)))
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(compact))


def _has_numbers(values: Floats) -> bool:
    """A line that its grid never reaches is all nan; not every line is."""
    return not bool(np.isnan(values).all())


def _logarithms(lines: Mapping[str, Line]) -> dict[str, Line]:
    """Both axes; the half band becomes that of the logarithm."""
    return {name: (np.log10(x), np.log10(y), half / (y * np.log(10.0))) for name, (x, y, half) in lines.items()}


def _round_numbers(low: float, high: float) -> list[float]:
    """The logarithms of 1, 2, 5, 10 ... between two logarithms; of powers of ten alone where these are many."""
    powers, steps = range(int(np.floor(low)), int(np.ceil(high)) + 1), (1, 2, 5) if high - low < 2.5 else (1,)
    return [value for power in powers for step in steps if low <= (value := power + float(np.log10(step))) <= high]


def _well_apart(values: Floats) -> list[float]:
    """The first, and each that is far enough from the one before to be written beside it."""
    ticks = [float(values[0])]
    for value in values[1:]:
        if value - ticks[-1] >= 0.25 * (values[-1] - values[0]):
            ticks.append(float(value))
    return ticks


def _span(lines: Mapping[str, Line], *, tight: bool) -> tuple[float, float]:
    xs = np.concatenate([x for x, _, _ in lines.values()])
    low = float(xs.min())
    return (0.0 if not tight and 0.0 <= low <= 0.2 * xs.max() else low), float(xs.max())
