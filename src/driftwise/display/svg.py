"""Small drawings as SVG: lines over time, an interval, a course in a cell of a table. They need no other package."""

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from driftwise.display.html import FONTS, Markup
from driftwise.display.text import short
from driftwise.errors import ParameterError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")  # after Okabe & Ito
ROOM, HEIGHT, TOP, BOTTOM, LEFT, LETTERS = 280, 210, 24, 34, 56, 12  # of a plot: the width of its lines, ...
Numbers = Sequence[float]


class PlotLine(NamedTuple):
    """A line with a name; `low` and `high` are a band around it. A nan interrupts it."""

    name: str
    xs: Numbers
    ys: Numbers
    low: Numbers = ()
    high: Numbers = ()


class Plot(NamedTuple):
    """A drawing that notebooks show; `save` writes it to a file."""

    svg: str

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return "Plot(...): a notebook draws it, `save` writes it as SVG"

    def save(self, path: str | Path) -> Path:
        """Write the drawing as an SVG file. SVG scales: where it is shown, give it any width, nothing blurs.

        To enlarge it in a page, `<img src="plot.svg" width="900">`; in a document, drag a corner.
        """
        path = Path(path)
        if path.suffix.lower() != ".svg":
            raise ParameterError(f"{path.name!r} does not end in .svg: a plot is saved as SVG")
        try:
            path.write_text(self.svg, encoding="utf-8")
        except OSError as error:
            raise ParameterError(f"{path} cannot be written: {error.strerror}") from None
        return path


class Scale(NamedTuple):
    """From numbers to points of the drawing; on a logarithmic axis by their logarithms."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (math.log(each) for each in (self.low, self.high, value)) if self.log else (*self[:2], value)
        return self.start + (at - low) / ((high - low) or 1.0) * (self.stop - self.start)


def line_plot(
    lines: Sequence[PlotLine],
    *,
    title: str,
    x_title: str,
    log_x: bool = False,
    from_zero: bool = False,
    dots: bool = False,
    marks: Numbers = (),
    ticks: Sequence[tuple[float, str]] = (),
) -> Plot:
    """Lines with their names at the right ends; `marks` are upright lines, `ticks` name places of the x axis."""
    xs = [x for line in lines for x in line.xs]
    ys = [y for line in lines for y in (*line.ys, *line.high) if math.isfinite(y)]
    names = [short(line.name, 26) for line in lines] if len(lines) > 1 else []
    end = LEFT + ROOM
    width = round(end + 16 + 0.62 * LETTERS * max(map(len, names), default=0))  # as little as fits
    low, high = min([*ys, *[0.0] * from_zero], default=0.0), max(ys, default=1.0)
    steps = nice_steps(low, high)
    x_scale = Scale(min(xs), max(xs), LEFT, end, log_x)
    y_scale = Scale(min(low, steps[0]), max(high, steps[-1]), HEIGHT - BOTTOM, TOP)
    parts = [_words(0, 12, title, weight="600"), *_axes(x_scale, y_scale, steps, ticks or _ticks(x_scale, xs))]
    parts.append(_words((LEFT + end) / 2, HEIGHT - 4, x_title, anchor="middle", strength=0.7))
    parts += [_stroke(x_scale(mark), TOP, x_scale(mark), HEIGHT - BOTTOM, 0.5, "3 3") for mark in marks]
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(lines))]
    parts += [_band(line, colour, x_scale, y_scale) for line, colour in zip(lines, colours, strict=True)]
    for place, line in enumerate(lines):
        parts += _drawn(line, colours[place], x_scale, y_scale, dots=dots, dashed=place >= len(COLOURS))
    ends = [next((y_scale(y) for y in reversed(line.ys) if math.isfinite(y)), TOP) for line in lines]
    for name, colour, at in zip(names, colours, _apart(ends), strict=False):
        parts.append(_words(end + 8, at + 4, name, fill=colour, weight="600"))
    return Plot(_sheet("".join(parts), width, HEIGHT, title))


def interval(low: float, mean: float, high: float, span: tuple[float, float], width: int = 130) -> Markup:
    """A dot and its interval on the scale of all rows of a table; empty where nothing is known."""
    if not math.isfinite(mean):
        return Markup("")
    scale = Scale(*span, 5, width - 5)
    ends = [scale(min(max(end, span[0]), span[1])) for end in (low, high) if math.isfinite(end)]
    whisker = (
        f'<path d="M{ends[0]:.1f} 8H{ends[1]:.1f}" stroke="{COLOURS[0]}" stroke-width="2" opacity="0.6"/>'
        if len(ends) == 2
        else ""
    )
    ground = _stroke(5, 8, width - 5, 8, 0.15)
    return Markup(
        _sheet(f'{ground}{whisker}<circle cx="{scale(mean):.1f}" cy="8" r="3.5" fill="{COLOURS[0]}"/>', width, 16)
    )


def course(values: Numbers, span: tuple[float, float], width: int = 130) -> Markup:
    """How a number went, from left to right, on the scale of all rows of a table."""
    if len(values) < 2:
        return Markup("")
    line = PlotLine("", range(len(values)), values)
    drawn = _drawn(line, COLOURS[0], Scale(0, len(values) - 1, 2, width - 2), Scale(*span, 20, 4))
    return Markup(_sheet("".join(drawn), width, 24))


def span_of(numbers: Numbers) -> tuple[float, float]:
    """The least and the largest of them, nan left out."""
    finite = [each for each in numbers if math.isfinite(each)]
    return min(finite, default=0.0), max(finite, default=1.0)


def nice_steps(low: float, high: float, most: int = 4) -> list[float]:
    """Round numbers that enclose a range, few of them.

    >>> nice_steps(0.0, 97.0)
    [0.0, 50.0, 100.0]
    """
    span = (high - low) or abs(high) or 1.0
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * place for place in range(first, max(last, first + 1) + 1)]


def _axes(x_scale: Scale, y_scale: Scale, steps: Numbers, ticks: Sequence[tuple[float, str]]) -> list[str]:
    parts = []
    for step in steps:
        parts.append(_stroke(x_scale.start, y_scale(step), x_scale.stop, y_scale(step), 0.15))
        parts.append(_words(x_scale.start - 6, y_scale(step) + 4, _tick(step), anchor="end"))
    parts += [_words(x_scale(x), HEIGHT - BOTTOM + 15, name, anchor="middle") for x, name in ticks]
    return parts


def _ticks(scale: Scale, xs: Numbers) -> list[tuple[float, str]]:
    """Where the x axis has numbers: at every x where they are few, else at round ones."""
    places = sorted(set(xs))
    if not scale.log and len(places) > 8:
        places = [each for each in nice_steps(scale.low, scale.high, 5) if scale.low <= each <= scale.high]
    return [(x, _tick(x)) for x in places]


def _band(line: PlotLine, colour: str, x_scale: Scale, y_scale: Scale) -> str:
    if not len(line.low) or not all(map(math.isfinite, (*line.low, *line.high))):
        return ""
    edge = [(x_scale(x), y_scale(y)) for x, y in zip(line.xs, line.high, strict=True)]
    below = zip(reversed(line.xs), reversed(line.low), strict=True)
    edge += [(x_scale(x), y_scale(max(y, y_scale.low))) for x, y in below]
    return f'<path d="{_path(edge)}Z" fill="{colour}" opacity="0.18"/>'


def _drawn(
    line: PlotLine, colour: str, x_scale: Scale, y_scale: Scale, *, dots: bool = False, dashed: bool = False
) -> list[str]:
    points = [(x_scale(x), y_scale(y)) if math.isfinite(y) else None for x, y in zip(line.xs, line.ys, strict=True)]
    stroke = ' stroke-dasharray="5 3"' if dashed else ""
    parts = [
        f'<path d="{_path(points)}" fill="none" stroke="{colour}" stroke-width="1.8"{stroke} stroke-linejoin="round"/>'
    ]
    if dots:
        parts += [f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="3" fill="{colour}"/>' for at in points if at]
    return parts


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    letters, pen = [], "M"
    for at in points:
        if at is not None:
            letters.append(f"{pen}{at[0]:.1f} {at[1]:.1f}")
        pen = "M" if at is None else "L"
    return "".join(letters)


def _apart(heights: Sequence[float], gap: float = 14.0) -> list[float]:
    """Heights of names: moved down where they would touch, and up where they would leave the sheet."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    lowest = HEIGHT - BOTTOM if len(heights) <= 10 else HEIGHT - 6.0  # beside the axis, if there is room
    placed, least, most = list(heights), -math.inf, float(lowest)
    for place in order:
        placed[place] = least = max(heights[place], least + gap)
    for place in reversed(order):
        placed[place] = min(placed[place], most)
        most = placed[place] - gap
    return placed


def _tick(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}" if abs(value) > 1e-12 else "0"


def _words(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    fill: str = "currentColor",
    weight: str = "400",
    strength: float = 1.0,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}" '
        f'opacity="{strength}" stroke="none">{escape(text)}</text>'
    )


def _stroke(x: float, y: float, to_x: float, to_y: float, strength: float, dashes: str = "") -> str:
    return (
        f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="currentColor" stroke-width="1" opacity="{strength}"'
        f"{f' stroke-dasharray={chr(34)}{dashes}{chr(34)}' if dashes else ''}/>"
    )


def _sheet(inside: str, width: int, height: int, title: str = "") -> str:
    label = f' role="img" aria-label="{escape(title)}"' if title else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f"{label} "
        f'font-family="{escape(FONTS)}" font-size="{LETTERS}" style="display: inline-block; max-width: 100%; '
        f'vertical-align: middle;">{inside}</svg>'
    )
