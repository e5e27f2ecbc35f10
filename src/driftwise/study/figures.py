"""One figure says it all: how the arms drift above, what each policy misses below, on one axis of rounds.

Needs the extra `report`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.seeding import key
from driftwise.core.spec import lookup
from driftwise.core.types import Floats, Ints
from driftwise.errors import ParameterError
from driftwise.measure.ledger import levels_of
from driftwise.measure.summary import band
from driftwise.study.canvas import (
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
from driftwise.study.results import Results
from driftwise.study.study import Cell, Study

MOST_POINTS = 600
MOST_CHANGES = 60


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


def draw(shown: Picture, *, sheet: Sheet = WIDE) -> Figure:
    """Lay a picture out on a sheet: fixed panels, and a right margin as wide as the longest name."""
    names = [shorten(curve.label, sheet.longest) for curve in shown.curves]
    with plain():
        regret_height = max(sheet.regret, 1.5 * sheet.letters * len(names))
        right = max(text_width(name, sheet.letters, bold=True) for name in [*names, "other arms"]) + 24
        left, top, between, bottom = 3.4 * sheet.letters, 2.6 * sheet.letters, 4 * sheet.letters, 3.6 * sheet.letters
        height = top + sheet.drift + between + regret_height + bottom
        figure = Figure(figsize=(sheet.width / 72, height / 72))

        def panel(floor: float, tall: float, **shared: Any) -> Axes:
            box = (left / sheet.width, floor / height, (sheet.width - left - right) / sheet.width, tall / height)
            return figure.add_axes(box, **shared)

        below = panel(bottom, regret_height)
        above = panel(bottom + regret_height + between, sheet.drift, sharex=below)
        _draw_drift(above, shown.drift, shown.horizon, sheet)
        _draw_regret(below, shown, names, sheet)
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
        levels = levels_of(tape)
        inside = rounds[(rounds >= tape.start) & (rounds < tape.start + len(levels.rows))]
        rows.append(levels.table[levels.rows[inside - tape.start]])
    return rounds, np.concatenate(rows)


def _curve(label: str, rounds: Ints, values: Floats) -> Curve:
    mean, half = band(values)
    return Curve(label, np.append(0, rounds), np.append(0.0, mean), np.append(0.0, half))


# How it is drawn


def _draw_drift(axes: Axes, drift: Drift, horizon: int, sheet: Sheet) -> None:
    prepare(axes, (0, horizon), sheet, "Drift: mean reward of each arm, run 0")
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
    _name_best(axes, drift, best, edges, sheet)
    *others, highest = np.sort(path[-1]).tolist()
    ends = [End(highest, "best arm", INK, bold=True), End(float(np.mean(others)), "other arms", INK, strength=0.6)]
    name_ends(axes, ends, sheet)


def _draw_steps(axes: Axes, edges: Ints, levels: Floats, **look: Any) -> None:
    """A level stroke for as long as nothing changes; jumps are left to the lines that mark them."""
    starts = np.flatnonzero(np.append(True, np.diff(levels[:-1]) != 0))
    axes.hlines(levels[starts], edges[starts], edges[np.append(starts[1:], len(edges) - 1)], color=INK, **look)


def _draw_glide(axes: Axes, edges: Ints, levels: Floats, **look: Any) -> None:
    axes.plot(edges, levels, color=INK, **look)


def _draw_regret(axes: Axes, shown: Picture, names: list[str], sheet: Sheet) -> None:
    runs = f"mean of {shown.runs} runs, 95% band" if shown.runs > 1 else "a single run"
    prepare(axes, (0, shown.horizon), sheet, f"Regret so far: {runs}")
    axes.set_xlabel("rounds", fontsize=sheet.letters, color=INK, alpha=0.75)
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
    axes.yaxis.set_major_formatter(FuncFormatter(compact))
    name_ends(axes, ends, sheet)


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


def _name_best(axes: Axes, drift: Drift, best: NDArray[np.intp], edges: Ints, sheet: Sheet) -> None:
    """Write "arm k" over every stretch in which arm k is the best, where it fits."""
    starts = np.flatnonzero(np.append(True, np.diff(best) != 0))
    per_round = axes.get_position().width * sheet.width / edges[-1]
    for start, stop in zip(starts, np.append(starts[1:], len(best)), strict=True):
        name, tops = f"arm {best[start]}", drift.means[start:stop, best[start]]
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
