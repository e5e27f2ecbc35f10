"""Small line charts as SVG text. Colours come from the page, so that they fit in light and in dark."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import NamedTuple

WIDTH, HEIGHT = 460, 210  # a phone shrinks it to eight tenths: letters stay readable
LEFT, RIGHT, TOP, BOTTOM = 56, 8, 12, 34
LETTER = 7.2  # about the width of a letter in a label


class Line(NamedTuple):
    """A line with its name; `look` is a class of docs/assets/site.css."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    look: str = "chart-main"
    steps: bool = False


def chart(lines: Sequence[Line], *, title: str, across: str, up: str, zero: bool = False) -> str:
    """One chart with the names of its lines at their right ends."""
    low, high = _span([value for line in lines for value in line.ys], zero=zero)
    last = max(line.xs[-1] for line in lines)
    room = RIGHT + LETTER * max((len(line.name) for line in lines), default=0) + 8

    def x_of(value: float) -> float:
        return LEFT + (WIDTH - LEFT - room) * value / last

    def y_of(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for tick in _ticks(low, high, 4):
        y = y_of(tick)
        parts.append(f'<line class="chart-grid" x1="{LEFT}" x2="{x_of(last):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 6, y + 4, _number(tick), anchor="end"))
    parts += [_text(x_of(tick), HEIGHT - BOTTOM + 16, _number(tick)) for tick in _ticks(0, last, 5)]
    parts.append(_text(x_of(last / 2), HEIGHT - 3, across))
    parts.append(f'<g transform="translate(11 {y_of((low + high) / 2):.1f}) rotate(-90)">{_text(0, 0, up)}</g>')
    for line in lines:
        points = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in _corners(line))
        parts.append(f'<polyline class="{line.look}" points="{points}"/>')
    named = [line for line in lines if line.name]
    heights = _apart([y_of(line.ys[-1]) for line in named], 15.0, HEIGHT - BOTTOM)
    for line, y in zip(named, heights, strict=True):
        parts.append(_text(x_of(last) + 6, y + 4, line.name, anchor="start", look=f"{line.look}-name"))
    return "".join([*parts, "</svg>"])


def _text(x: float, y: float, text: str, *, anchor: str = "middle", look: str = "chart-tick") -> str:
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _corners(line: Line) -> list[tuple[float, float]]:
    points = list(zip(line.xs, line.ys, strict=True))
    if not line.steps:
        return points
    return [points[0], *(corner for a, b in pairwise(points) for corner in ((b[0], a[1]), b))]


def _span(values: Sequence[float], *, zero: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    low = min(low, 0.0) if zero else low
    room = 0.04 * (high - low) or 0.5
    return (low if zero and low == 0.0 else low - room), high + room


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from low to high, at most about `most`."""
    raw = (high - low) / most
    unit = 10.0 ** floor(log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw)
    return [k * step for k in range(ceil(low / step), floor(high / step) + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.3g}"


def _apart(heights: Sequence[float], gap: float, floor_y: float) -> list[float]:
    """The same heights moved down, and up again from the bottom, until all are `gap` apart."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + gap)
    if order and moved[order[-1]] > floor_y:
        moved[order[-1]] = floor_y
        for after, before in zip(order[::-1], order[-2::-1], strict=False):
            moved[before] = min(moved[before], moved[after] - gap)
    return moved
