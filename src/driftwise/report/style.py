"""What every figure looks like: one ink, calm axes, names at the ends of lines instead of a legend.

Lines carry their names at their right end, where the eye arrives. All that is not data is drawn in one ink at several
strengths: `svg` hands that ink to the page around it, in light and in dark. Needs the extra `report`.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from driftwise.core.extras import needed_for
from driftwise.core.types import Floats
from driftwise.display.html import FONTS
from driftwise.display.svg import COLOURS as COLOURS
from driftwise.errors import ParameterError

with needed_for("a figure"):
    from matplotlib import rc_context, style
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.ticker import FuncFormatter as FuncFormatter
    from matplotlib.ticker import MaxNLocator as MaxNLocator

INK = "#1d2733"
STROKES = ("solid", "dashed", "dotted")  # when there are more policies than colours
FORMATS = (".svg", ".png", ".pdf")


class Sheet(NamedTuple):
    """What a figure is drawn on, in points: its width, the heights of the two panels, letters, longest name."""

    width: float
    drift: float
    regret: float
    letters: float
    longest: int


WIDE = Sheet(width=640, drift=120, regret=250, letters=9, longest=32)
NARROW = Sheet(width=280, drift=96, regret=220, letters=8, longest=18)


class End(NamedTuple):
    """The right end of a line, and the name to write beside it."""

    height: float
    name: str
    colour: str
    bold: bool = False
    strength: float = 1.0


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as svg, png or pdf, whichever the path ends with."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"{path.name!r} does not end in one of {', '.join(FORMATS)}")
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    try:
        with plain():
            figure.savefig(path, dpi=200, facecolor="white", metadata=undated.get(path.suffix.lower()))
    except OSError as error:
        raise ParameterError(f"{path} cannot be written: {error.strerror}") from None
    return path


def svg(figure: Figure, *, name: str = "figure", title: str = "") -> str:
    """A figure to put inside a page: the same bytes each time, its ink the colour of the text around it.

    Every id starts with `name`, so that many figures can share a page; `title` is what a screen reader says.
    """
    buffer = io.StringIO()
    with plain(salt=name):
        figure.savefig(buffer, format="svg", transparent=True)
    _, opening, text = buffer.getvalue().partition("<svg")
    text = re.sub(r"\s*<metadata>.*?</metadata>|\s*<defs>\s*<style.*?</defs>", "", opening + text, flags=re.S)
    text = re.sub(r"<[^>]*>", lambda tag: _homely(tag[0], name), text)
    label = f" aria-label={quoteattr(title)}" if title else ""
    return text.replace("<svg", f'<svg role="img"{label} stroke-linejoin="round" stroke-linecap="butt"', 1)


def pen(place: int) -> tuple[str, str]:
    """Colour and stroke of the policy at this place in a study, the same in all its worlds."""
    return COLOURS[place % len(COLOURS)], STROKES[place // len(COLOURS) % len(STROKES)]


def panels(
    titles: Sequence[str], spans: Sequence[tuple[float, float]], sheet: Sheet, *, right: float
) -> tuple[Figure, list[Axes]]:
    """A figure with one prepared panel per title: side by side on a wide sheet, one below the other on a narrow one."""
    columns = min(len(titles), 2 if sheet.width > 400 else 1)
    rows = -(-len(titles) // columns)
    left, top, between, bottom = 4.2 * sheet.letters, 2.6 * sheet.letters, 5.4 * sheet.letters, 3.8 * sheet.letters
    tall = 0.72 * sheet.regret
    height = top + rows * tall + (rows - 1) * between + bottom
    wide = sheet.width / columns - left - right
    figure, axes = Figure(figsize=(sheet.width / 72, height / 72)), []
    for place, (title, span) in enumerate(zip(titles, spans, strict=True)):
        row, column = divmod(place, columns)
        floor = height - top - tall - row * (tall + between)
        x = column * sheet.width / columns + left
        panel = figure.add_axes((x / sheet.width, floor / height, wide / sheet.width, tall / height))
        prepare(panel, span, sheet, title, corner=left)
        axes.append(panel)
    return figure, axes


def prepare(axes: Axes, span: tuple[float, float], sheet: Sheet, title: str, *, corner: float | None = None) -> None:
    """The calm frame: no box, no tick marks, a faint grid."""
    axes.set_xlim(*span)
    margin = axes.get_position().x0 * sheet.width if corner is None else corner
    axes.annotate(
        title,
        (0, 1),
        (-margin, 0.9 * sheet.letters),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=sheet.letters,
        color=INK,
        weight="bold",
    )
    axes.xaxis.set_major_locator(MaxNLocator(5 if sheet.width > 400 else 3, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(compact))
    axes.tick_params(length=0, labelsize=sheet.letters, labelcolor=INK, pad=4)
    axes.grid(axis="y", color=INK, alpha=0.12, lw=0.6)
    axes.set_axisbelow(True)
    axes.patch.set_visible(False)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set(color=INK, alpha=0.45, linewidth=0.8)


def name_ends(axes: Axes, ends: list[End], sheet: Sheet) -> None:
    """Names beside the right ends of lines, moved apart where they would touch, each tied to its line."""
    low, high = axes.get_ylim()
    tall = axes.get_window_extent().height / axes.figure.dpi * 72
    heights = np.array([end.height for end in ends])
    points = apart((heights - low) / (high - low) * tall, gap=1.45 * sheet.letters, top=tall)
    places = points / tall * (high - low) + low
    edge, wide = axes.get_yaxis_transform(), axes.get_position().width * sheet.width
    tie = 1.0 + np.array([0, 4, 12, 15]) / wide
    for end, place in zip(ends, places, strict=True):
        bend = [end.height, end.height, place, place]
        axes.plot(tie, bend, transform=edge, color=end.colour, alpha=0.7 * end.strength, lw=0.9, clip_on=False)
        axes.text(
            1.0 + 18 / wide,
            place,
            end.name,
            transform=edge,
            va="center_baseline",
            fontsize=sheet.letters,
            color=INK,
            alpha=end.strength,
            weight="bold" if end.bold else "normal",
            parse_math=False,
        )


def apart(positions: Floats, *, gap: float, top: float) -> Floats:
    """Heights as near to `wanted` as can be, in the same order, at least `gap` apart, between 0 and `top`.

    >>> apart(np.array([10.0, 11.0, 50.0]), gap=5.0, top=100.0)
    array([ 8., 13., 50.])
    """
    order = np.argsort(positions, kind="stable")
    gap = min(gap, top / max(1, len(positions) - 1))
    ladder = gap * np.arange(len(positions))
    groups: list[list[float]] = []  # neighbours that touch share their mean: isotonic regression by pooling
    for value in positions[order] - ladder:
        groups.append([float(value)])
        while len(groups) > 1 and np.mean(groups[-2]) >= np.mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    pooled = np.concatenate([np.full(len(group), np.mean(group)) for group in groups])
    placed = np.empty(len(positions))
    placed[order] = np.clip(pooled, 0.0, top - ladder[-1]) + ladder
    return placed


def text_width(text: str, letters: float, *, bold: bool = False) -> float:
    """Points a text takes, measured in matplotlib's own wide font."""
    font = FontProperties(weight="bold" if bold else "normal")
    path = TextPath((0, 0), text.replace("$", "S"), size=letters, prop=font)
    return float(path.get_extents().width) if len(path.vertices) else 0.0


def shorten(label: str, longest: int) -> str:
    """A label that fits, cut in the middle: the ends tell similar ones apart."""
    if len(label) <= longest:
        return label
    tail = longest // 2
    return f"{label[: longest - tail - 1]}…{label[-tail:]}"


def compact(value: float, position: int | None = None) -> str:
    """1500000 as 1.5M: few digits, so that ticks do not touch."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


@contextmanager
def plain(salt: str = "driftwise") -> Iterator[None]:
    """Matplotlib's defaults whatever the user's own are, text as text, and the same ids each time."""
    with style.context("default"), rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        yield


def _homely(tag: str, name: str) -> str:
    """A tag of a lone svg made fit for a page: ids under `name`, ink and letters of the page."""
    tag = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{name}-", tag)
    return re.sub(r"'DejaVu Sans'[^;\"]*", FONTS, tag.replace(INK, "currentColor"))
