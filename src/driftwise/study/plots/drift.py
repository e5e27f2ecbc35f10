"""The upper half of a figure: how a world drifts, as run 0 met it.

Where actions last, a line for the mean of each, and a heavy one for the best of the moment. Where every round has
actions of its own, a line for each coordinate of the parameter behind them. Where points are chosen, a line for each
constraint; where arms move on their own, one for each chance behind their kernels.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.family import words_of
from driftwise.core.protocols import World
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Ints
from driftwise.core.words import Words
from driftwise.report.style import INK, Axes, End, MaxNLocator, Sheet, name_ends, prepare, text_width
from driftwise.study.study import Study

MOST_POINTS = 600
MOST_CHANGES = 60
MOST_NAMES = 6
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


class Drift(NamedTuple):
    """Run 0, sampled: a row per round in `rounds`, a column per line, each with its label.

    `shared`: every run changes at these rounds.
    """

    rounds: Ints
    lines: Floats
    changes: list[int]
    shared: bool
    words: Words
    slate: int
    labels: list[str]

    @property
    def names(self) -> list[str]:
        """What may be written beside the ends of the lines."""
        if self.words.ranked:
            return [self.words.largest, self.words.others]
        return self.labels if len(self.labels) <= MOST_NAMES else [f"{len(self.labels)} {self.words.others}"]


def drift_of(study: Study, world: World) -> Drift:
    """What there is to show of the drift of one world."""
    seeds = [int(key(study.seed, run, "world")) for run in range(study.runs)]
    changes = world.changes(study.horizon, seeds[0])
    shared = all(world.changes(study.horizon, seed) == changes for seed in seeds[1:])
    rounds, lines = sample(world, study.horizon, seeds[0], changes)
    words, slate = words_of(world), world.problem(study.horizon).slate
    labels = getattr(world, "labels", None) or [f"{words.one} {k}" for k in range(lines.shape[1])]
    return Drift(rounds, lines, changes, shared, words, slate, labels)


def sample(world: World, horizon: int, seed: int, changes: list[int]) -> tuple[Ints, Floats]:
    """What drifts, at evenly spaced rounds (fewer for many lines) and, while they are few, at every change."""
    problem = world.problem(horizon)
    width = len(getattr(world, "labels", ())) or (problem.n_arms if world.lasting else problem.dim)
    count = min(horizon, MOST_POINTS, max(100, 10 * MOST_POINTS // width))
    points = np.linspace(0, horizon - 1, count).round().astype(np.int64)
    rounds = np.union1d(points, np.array(marked(changes), np.int64))
    rows = []
    for course in world.courses(horizon, seed):
        levels = course.parameters if course.means is None else course.means
        inside = rounds[(rounds >= course.start) & (rounds < course.start + len(levels.rows))]
        rows.append(levels.table[levels.rows[inside - course.start]])
    return rounds, np.concatenate(rows)


def marked(changes: list[int]) -> list[int]:
    """The changes that get a line: all of them, or none where lines would be a grey wall."""
    return changes if len(changes) <= MOST_CHANGES else []


def mark_changes(axes: Axes, changes: list[int]) -> None:
    """A dashed line down every change."""
    for change in marked(changes):
        axes.axvline(change, color=INK, alpha=0.35, lw=0.7, ls=(0, (3, 3)), zorder=1)


def draw_drift(axes: Axes, drift: Drift, horizon: int, sheet: Sheet) -> None:
    """The panel: lines, changes, names."""
    prepare(axes, (0, horizon), sheet, f"Drift: {drift.words.lines}, run 0")
    axes.tick_params(labelbottom=False)
    mark_changes(axes, drift.changes)
    _scale(axes, drift.lines, room=0.2 if drift.words.ranked else 0.04)
    edges, path = np.append(drift.rounds, horizon), np.vstack([drift.lines, drift.lines[-1]])
    ends = (_draw_means if drift.words.ranked else _draw_features)(axes, drift, edges, path)
    if drift.words.ranked and not drift.slate:
        _name_best(axes, drift, edges, sheet)
    name_ends(axes, ends, sheet)


def _draw_means(axes: Axes, drift: Drift, edges: Ints, path: Floats) -> list[End]:
    """All means faintly, the best of each round heavily: one of them, or as many as fill a slate."""
    steps = bool(marked(drift.changes)) or bool((path == path[0]).all())
    line, n_best = _draw_steps if steps else _draw_glide, max(1, drift.slate)
    for mean in path.T:
        line(axes, edges, mean, alpha=0.35 * min(1.0, 10 / len(path.T)), lw=0.8)
    ordered = np.sort(path, axis=1)
    for best in ordered[:, -n_best:].T:
        line(axes, edges, best, lw=(2.4 if steps else 1.8) / np.sqrt(n_best))
    best, others = ordered[-1, -n_best:].mean(), ordered[-1, :-n_best]
    ends = [End(float(best), drift.words.largest, INK, bold=True)]
    return ends + ([End(float(others.mean()), drift.words.others, INK, strength=0.6)] if len(others) else [])


def _draw_features(axes: Axes, drift: Drift, edges: Ints, path: Floats) -> list[End]:
    """Every coordinate of the parameter; a stroke and a name each while they are few."""
    few = path.shape[1] <= MOST_NAMES
    line = _draw_steps if marked(drift.changes) else _draw_glide
    for k, coordinate in enumerate(path.T):
        look = {"ls": DASHES[k % len(DASHES)], "alpha": 0.75} if few else {"alpha": 0.6 * min(1.0, 10 / path.shape[1])}
        line(axes, edges, coordinate, lw=0.9, **look)
    heights = path[-1] if few else [path[-1].mean()]
    return [End(float(height), name, INK, strength=0.8) for height, name in zip(heights, drift.names, strict=True)]


def _draw_steps(axes: Axes, edges: Ints, levels: Floats, **look: Any) -> None:
    """A level stroke for as long as nothing changes; jumps are left to the lines that mark them."""
    starts = np.flatnonzero(np.append(True, np.diff(levels[:-1]) != 0))
    axes.hlines(levels[starts], edges[starts], edges[np.append(starts[1:], len(edges) - 1)], color=INK, **look)


def _draw_glide(axes: Axes, edges: Ints, levels: Floats, **look: Any) -> None:
    axes.plot(edges, levels, color=INK, **look)


def _scale(axes: Axes, lines: Floats, *, room: float) -> None:
    """The limits of the axis, with room above for names."""
    low, high = limits(float(lines.min()), float(lines.max()))
    axes.set_ylim(low - 0.04 * (high - low), high + room * (high - low))
    ticks = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high)
    axes.set_yticks([tick for tick in ticks if low - 1e-9 <= tick <= high + 1e-9])


def limits(low: float, high: float) -> tuple[float, float]:
    """All of [0, 1] for lines that fill half of it, from zero where that is near, else what there is.

    >>> limits(0.1, 0.9), limits(0.02, 0.08), limits(0.91, 0.94), limits(-3.0, 40.0), limits(0.3, 0.3)
    ((0.0, 1.0), (0.0, 0.08), (0.91, 0.94), (-3.0, 40.0), (0.0, 1.0))
    """
    if 0.0 <= low and high <= 1.0 and (high - low >= 0.5 or high == low):
        return 0.0, 1.0
    low = 0.0 if 0.0 <= low < 0.5 * high else low
    return low, high if high > low else low + 1.0


def _name_best(axes: Axes, drift: Drift, edges: Ints, sheet: Sheet) -> None:
    """Write the name of the best arm over every stretch in which it is the best, where it fits."""
    best: NDArray[np.intp] = drift.lines.argmax(axis=1)
    starts = np.flatnonzero(np.append(True, np.diff(best) != 0))
    per_round = axes.get_position().width * sheet.width / edges[-1]
    for start, stop in zip(starts, np.append(starts[1:], len(best)), strict=True):
        name, tops = drift.labels[best[start]], drift.lines[start:stop, best[start]]
        if text_width(name, sheet.letters) + 6 > (edges[stop] - edges[start]) * per_round:
            continue
        axes.annotate(
            name,
            ((edges[start] + edges[stop]) / 2, tops.max()),
            (0, 0.45 * sheet.letters),
            textcoords="offset points",
            ha="center",
            fontsize=sheet.letters - 1,
            color=INK,
        )
