"""One figure says it all: how the arms drift above, what each policy misses below, on one axis of rounds.

Lines carry their names at their right end, where the eye arrives, so there is no legend to look up. All that is not
data is drawn in one ink at several strengths: `svg` hands that ink to the page around it, in light and in dark.

Needs the extra `report`.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from driftwise.core.seeding import key
from driftwise.core.spec import lookup
from driftwise.core.types import Floats, Ints
from driftwise.errors import ParameterError
from driftwise.measure.summary import band
from driftwise.study.results import Results
from driftwise.study.study import Cell, Study

try:
    from matplotlib import rc_context, style
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.ticker import FuncFormatter, MaxNLocator
except ImportError:
    raise ParameterError("figures need matplotlib: pip install 'driftwise[report]'") from None

INK = "#1d2733"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")  # after Okabe & Ito
STROKES = ("solid", "dashed", "dotted")  # when there are more policies than colours
FORMATS = (".svg", ".png", ".pdf")
MOST_POINTS = 600
MOST_CHANGES = 60
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


class Paper(NamedTuple):
    """What a figure is drawn on, in points: its width, the heights of the two panels, letters, longest name."""

    width: float
    drift: float
    regret: float
    letters: float
    longest: int


WIDE = Paper(width=640, drift=120, regret=250, letters=9, longest=32)
NARROW = Paper(width=280, drift=96, regret=220, letters=8, longest=18)


class Drift(NamedTuple):
    """The means of run 0, sampled: a row per round in `rounds`. `shared`: every run changes at these rounds."""

    rounds: Ints
    means: Floats
    changes: list[int]
    shared: bool


class Curve(NamedTuple):
    """One policy's mean regret after each of `rounds`, with half its 95% band."""

    label: str
    rounds: Ints
    mean: Floats
    half: Floats


class End(NamedTuple):
    """The right end of a line, and the name to write beside it."""

    height: float
    name: str
    colour: str
    bold: bool = False
    strength: float = 1.0


class Picture(NamedTuple):
    """All that a figure shows; drawn on any paper."""

    drift: Drift
    curves: list[Curve]
    horizon: int
    runs: int


def regret_figure(study: Study, results: Results, world_label: str, *, paper: Paper = WIDE) -> Figure:
    """The drift of one world over the regret of every policy in it, both against rounds.

    Above is the world as run 0 met it, below the mean over runs with its 95% band (none for a single run).
    """
    cells = cells_by_policy(study, results, world_label)
    return draw(picture(study, results, cells), paper=paper)


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as svg, png or pdf, whichever the path ends with."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"{path.name!r} does not end in one of {', '.join(FORMATS)}")
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    try:
        with _plain():
            figure.savefig(path, dpi=200, facecolor="white", metadata=undated.get(path.suffix.lower()))
    except OSError as error:
        raise ParameterError(f"{path} cannot be written: {error.strerror}") from None
    return path


def svg(figure: Figure, *, name: str = "figure", title: str = "") -> str:
    """A figure to put inside a page: the same bytes each time, its ink the colour of the text around it.

    Every id starts with `name`, so that many figures can share a page; `title` is what a screen reader says.
    """
    buffer = io.StringIO()
    with _plain(salt=name):
        figure.savefig(buffer, format="svg", transparent=True)
    _, opening, text = buffer.getvalue().partition("<svg")
    text = re.sub(r"\s*<metadata>.*?</metadata>|\s*<defs>\s*<style.*?</defs>", "", opening + text, flags=re.S)
    text = re.sub(r"<[^>]*>", lambda tag: _homely(tag[0], name), text)
    label = f" aria-label={quoteattr(title)}" if title else ""
    return text.replace("<svg", f'<svg role="img"{label} stroke-linejoin="round" stroke-linecap="butt"', 1)


def pen(place: int) -> tuple[str, str]:
    """Colour and stroke of the policy at this place in a study, the same in all its worlds."""
    return COLOURS[place % len(COLOURS)], STROKES[place // len(COLOURS) % len(STROKES)]


def marked(changes: list[int]) -> list[int]:
    """The changes that get a line: all of them, or none where lines would be a grey wall."""
    return changes if len(changes) <= MOST_CHANGES else []


def cells_by_policy(study: Study, results: Results, world_label: str) -> dict[str, list[Cell]]:
    """The cells of one world, run after run; all of them must have been played."""
    lookup(world_label, study.worlds, "world")
    cells = {label: [study.cell(world_label, label, run) for run in range(study.runs)] for label in study.policies}
    wanted = {cell.key for row in cells.values() for cell in row}
    lacking = len(wanted) - len(results.has(wanted))
    if lacking:
        raise ParameterError(f"{lacking} of {len(wanted)} cells of {world_label!r} are missing: run the study first")
    return cells


def picture(study: Study, results: Results, cells: dict[str, list[Cell]]) -> Picture:
    """What there is to show of one world, given its cells."""
    world_label = next(iter(cells.values()))[0].world
    return Picture(
        drift=_drift(study, study.worlds[world_label]),
        curves=[_curve(label, *results.curves(row)) for label, row in cells.items()],
        horizon=study.horizon,
        runs=study.runs,
    )


def draw(shown: Picture, *, paper: Paper = WIDE) -> Figure:
    """Lay a picture out on paper: fixed panels, and a right margin as wide as the longest name."""
    names = [_short(curve.label, paper.longest) for curve in shown.curves]
    with _plain():
        regret_height = max(paper.regret, 1.5 * paper.letters * len(names))
        right = max(_width(name, paper.letters, bold=True) for name in [*names, "other arms"]) + 24
        left, top, between, bottom = 3.4 * paper.letters, 2.6 * paper.letters, 4 * paper.letters, 3.6 * paper.letters
        height = top + paper.drift + between + regret_height + bottom
        figure = Figure(figsize=(paper.width / 72, height / 72))

        def panel(floor: float, tall: float, **shared: Any) -> Axes:
            box = (left / paper.width, floor / height, (paper.width - left - right) / paper.width, tall / height)
            return figure.add_axes(box, **shared)

        below = panel(bottom, regret_height)
        above = panel(bottom + regret_height + between, paper.drift, sharex=below)
        _draw_drift(above, shown.drift, shown.horizon, paper)
        _draw_regret(below, shown, names, paper)
    return figure


# What is shown


def _drift(study: Study, world: Any) -> Drift:
    seeds = [int(key(study.seed, run, "world")) for run in range(study.runs)]
    changes = world.changes(study.horizon, seeds[0])
    shared = all(world.changes(study.horizon, seed) == changes for seed in seeds[1:])
    rounds, means = _sample(world, study.horizon, seeds[0], changes)
    return Drift(rounds, means, changes, shared)


def _sample(world: Any, horizon: int, seed: int, changes: list[int]) -> tuple[Ints, Floats]:
    """The means at evenly spaced rounds (fewer for many arms) and, while they are few, at every change."""
    count = min(horizon, MOST_POINTS, max(100, 10 * MOST_POINTS // world.problem(horizon).n_arms))
    points = np.linspace(0, horizon - 1, count).round().astype(np.int64)
    rounds = np.union1d(points, np.array(marked(changes), np.int64))
    rows = []
    for tape in world.tapes(horizon, seed):
        levels = tape.tape.levels if hasattr(tape, "tape") else tape.levels
        inside = rounds[(rounds >= tape.start) & (rounds < tape.start + len(levels.rows))]
        rows.append(levels.table[levels.rows[inside - tape.start]])
    return rounds, np.concatenate(rows)


def _curve(label: str, rounds: Ints, values: Floats) -> Curve:
    mean, half = band(values)
    return Curve(label, np.append(0, rounds), np.append(0.0, mean), np.append(0.0, half))


# How it is drawn


def _draw_drift(axes: Axes, drift: Drift, horizon: int, paper: Paper) -> None:
    _prepare(axes, horizon, paper, "Drift: mean reward of each arm, run 0")
    axes.tick_params(labelbottom=False)
    best = drift.means.argmax(axis=1)
    edges = np.append(drift.rounds, horizon)
    steps = bool(marked(drift.changes)) or bool((drift.means == drift.means[0]).all())
    path = np.vstack([drift.means, drift.means[-1]])
    line = _draw_steps if steps else _draw_glide
    for arm in path.T:
        line(axes, edges, arm, alpha=0.35 * min(1.0, 10 / len(path.T)), lw=0.8)
    line(axes, edges, path.max(axis=1), lw=2.4 if steps else 1.8)
    _mark_changes(axes, drift.changes)
    _scale_means(axes, drift.means)
    _name_best(axes, drift, best, edges, paper)
    *others, highest = np.sort(path[-1]).tolist()
    ends = [End(highest, "best arm", INK, bold=True), End(float(np.mean(others)), "other arms", INK, strength=0.6)]
    _name_ends(axes, ends, paper)


def _draw_steps(axes: Axes, edges: Ints, levels: Floats, **look: Any) -> None:
    """A level stroke for as long as nothing changes; jumps are left to the lines that mark them."""
    starts = np.flatnonzero(np.append(True, np.diff(levels[:-1]) != 0))
    axes.hlines(levels[starts], edges[starts], edges[np.append(starts[1:], len(edges) - 1)], color=INK, **look)


def _draw_glide(axes: Axes, edges: Ints, levels: Floats, **look: Any) -> None:
    axes.plot(edges, levels, color=INK, **look)


def _draw_regret(axes: Axes, shown: Picture, names: list[str], paper: Paper) -> None:
    runs = f"mean of {shown.runs} runs, 95% band" if shown.runs > 1 else "a single run"
    _prepare(axes, shown.horizon, paper, f"Regret so far: {runs}")
    axes.set_xlabel("rounds", fontsize=paper.letters, color=INK, alpha=0.75)
    best, ends = int(np.argmin([curve.mean[-1] for curve in shown.curves])), []
    for i, curve in enumerate(shown.curves):
        colour, stroke = pen(i)
        axes.plot(curve.rounds, curve.mean, color=colour, ls=stroke, lw=2.4 if i == best else 1.5, zorder=3)
        ends.append(End(float(curve.mean[-1]), names[i], colour, bold=i == best))
        if shown.runs > 1:
            low, high = curve.mean - curve.half, curve.mean + curve.half
            axes.fill_between(curve.rounds, low, high, color=colour, alpha=0.16, lw=0)
    if shown.drift.shared:
        _mark_changes(axes, shown.drift.changes)
    highest = max(float(np.max(curve.mean + np.nan_to_num(curve.half))) for curve in shown.curves)
    axes.set_ylim(0.0, 1.04 * highest or 1.0)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(_compact))
    _name_ends(axes, ends, paper)


def _prepare(axes: Axes, horizon: int, paper: Paper, title: str) -> None:
    """The calm frame: no box, no tick marks, a faint grid."""
    axes.set_xlim(0, horizon)
    corner = (-axes.get_position().x0 * paper.width, 0.9 * paper.letters)
    axes.annotate(
        title,
        (0, 1),
        corner,
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=paper.letters,
        color=INK,
        weight="bold",
    )
    axes.xaxis.set_major_locator(MaxNLocator(5 if paper.width > 400 else 3, integer=True, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(_compact))
    axes.tick_params(length=0, labelsize=paper.letters, labelcolor=INK, pad=4)
    axes.grid(axis="y", color=INK, alpha=0.12, lw=0.6)
    axes.set_axisbelow(True)
    axes.patch.set_visible(False)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set(color=INK, alpha=0.45, linewidth=0.8)


def _mark_changes(axes: Axes, changes: list[int]) -> None:
    for change in marked(changes):
        axes.axvline(change, color=INK, alpha=0.35, lw=0.7, ls=(0, (3, 3)), zorder=1)


def _scale_means(axes: Axes, means: Floats) -> None:
    """All of [0, 1] for means that stay in it, else what there is; room above for names."""
    low, high = float(means.min()), float(means.max())
    low, high = (0.0, 1.0) if 0.0 <= low <= high <= 1.0 else (low, high if high > low else low + 1.0)
    axes.set_ylim(low - 0.04 * (high - low), high + 0.2 * (high - low))
    axes.yaxis.set_major_locator(MaxNLocator(3))
    axes.set_yticks([tick for tick in axes.get_yticks() if low - 1e-9 <= tick <= high + 1e-9])


def _name_best(axes: Axes, drift: Drift, best: NDArray[np.intp], edges: Ints, paper: Paper) -> None:
    """Write "arm k" over every stretch in which arm k is the best, where it fits."""
    starts = np.flatnonzero(np.append(True, np.diff(best) != 0))
    per_round = axes.get_position().width * paper.width / edges[-1]
    for start, stop in zip(starts, np.append(starts[1:], len(best)), strict=True):
        name, tops = f"arm {best[start]}", drift.means[start:stop, best[start]]
        if _width(name, paper.letters) + 6 > (edges[stop] - edges[start]) * per_round:
            continue
        axes.annotate(
            name,
            ((edges[start] + edges[stop]) / 2, tops.max()),
            (0, 0.45 * paper.letters),
            textcoords="offset points",
            ha="center",
            fontsize=paper.letters - 1,
            color=INK,
        )


def _name_ends(axes: Axes, ends: list[End], paper: Paper) -> None:
    """Names beside the right ends of lines, moved apart where they would touch, each tied to its line."""
    low, high = axes.get_ylim()
    tall = axes.get_window_extent().height / axes.figure.dpi * 72
    heights = np.array([end.height for end in ends])
    points = apart((heights - low) / (high - low) * tall, gap=1.45 * paper.letters, top=tall)
    places = points / tall * (high - low) + low
    edge, wide = axes.get_yaxis_transform(), axes.get_position().width * paper.width
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
            fontsize=paper.letters,
            color=INK,
            alpha=end.strength,
            weight="bold" if end.bold else "normal",
            parse_math=False,
        )


def apart(wanted: Floats, *, gap: float, top: float) -> Floats:
    """Heights as near to `wanted` as can be, in the same order, at least `gap` apart, between 0 and `top`.

    >>> apart(np.array([10.0, 11.0, 50.0]), gap=5.0, top=100.0)
    array([ 8., 13., 50.])
    """
    order = np.argsort(wanted, kind="stable")
    gap = min(gap, top / max(1, len(wanted) - 1))
    ladder = gap * np.arange(len(wanted))
    groups: list[list[float]] = []  # neighbours that touch share their mean: isotonic regression by pooling
    for value in wanted[order] - ladder:
        groups.append([float(value)])
        while len(groups) > 1 and np.mean(groups[-2]) >= np.mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    pooled = np.concatenate([np.full(len(group), np.mean(group)) for group in groups])
    placed = np.empty(len(wanted))
    placed[order] = np.clip(pooled, 0.0, top - ladder[-1]) + ladder
    return placed


def _width(text: str, letters: float, *, bold: bool = False) -> float:
    """Points a text takes, measured in matplotlib's own wide font."""
    font = FontProperties(weight="bold" if bold else "normal")
    path = TextPath((0, 0), text.replace("$", "S"), size=letters, prop=font)
    return float(path.get_extents().width) if len(path.vertices) else 0.0


def _short(label: str, longest: int) -> str:
    """A label that fits, cut in the middle: the ends tell similar ones apart."""
    if len(label) <= longest:
        return label
    tail = longest // 2
    return f"{label[: longest - tail - 1]}…{label[-tail:]}"


def _compact(value: float, position: int | None = None) -> str:
    """1500000 as 1.5M: few digits, so that ticks do not touch."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


@contextmanager
def _plain(salt: str = "driftwise") -> Iterator[None]:
    """Matplotlib's defaults whatever the user's own are, text as text, and the same ids each time."""
    with style.context("default"), rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        yield


def _homely(tag: str, name: str) -> str:
    """A tag of a lone svg made fit for a page: ids under `name`, ink and letters of the page."""
    tag = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{name}-", tag)
    return re.sub(r"'DejaVu Sans'[^;\"]*", FONTS, tag.replace(INK, "currentColor"))
