"""Studies and results in a notebook: tables with intervals, regret over time, regret by a parameter."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from driftwise.core.spec import describe
from driftwise.display.html import Markup, card, safe, sentences, table
from driftwise.display.svg import Plot, PlotLine, interval, line_plot, span_of
from driftwise.display.text import brief_value, counted, plus_minus
from driftwise.errors import ParameterError
from driftwise.families import POLICIES, WORLDS
from driftwise.measure.summary import Estimate, band, estimate

if TYPE_CHECKING:
    from driftwise.study.results import Group, Results
    from driftwise.study.study import Cell, Study
    from driftwise.study.summary import PolicySummary, StudySummary

MOST_LINES = 8
MOST_RUNS = 20  # whose curves are read for a small plot
MOST_ROWS = 40
MOST_PLOTS = 4
COURSES = ("regret", "reward", "optimal")


def describe_study(study: "Study") -> str:
    """One line."""
    policies = f"{len(study.policies):,} polic{'y' if len(study.policies) == 1 else 'ies'}"
    sizes = f"{counted(len(study.worlds), 'world')}, {policies}, {counted(study.runs, 'run')}"
    return f"{type(study).__name__}({study.name!r}, {sizes} of {study.horizon:,} rounds)"


def study_html(study: "Study") -> str:
    """What is played."""
    rows = [("world", label, describe(world, WORLDS, brief_value)) for label, world in study.worlds.items()]
    rows += [("policy", label, describe(policy, POLICIES, brief_value)) for label, policy in study.policies.items()]
    beside = f"{counted(study.runs, 'run')} of {study.horizon:,} rounds, seed {study.seed}"
    more = [f"and {len(rows) - MOST_ROWS} more"] if len(rows) > MOST_ROWS else []
    head = ["", "label", "what"]
    return card(
        f"{type(study).__name__}: {study.name}", table(head, rows[:MOST_ROWS], left=3), sentences(more), subtitle=beside
    )


def results_html(results: "Results") -> str:
    """Every study in the file: a table per world, and regret over time."""
    groups, parts = results.groups(), list[str]()
    for place, ((study, world), rows) in enumerate(groupby(groups, key=lambda group: group[:2])):
        members = list(rows)
        if place < MOST_PLOTS:
            parts.append(Markup(f"<div style='margin-top: 0.6em;'>{safe(f'{study}: {world}')}</div>"))
            parts.append(_groups_table(members[:MOST_ROWS]))
            parts.append(_lines_of(results, [(each.policy, each.cells) for each in members], "regret", world).svg)
    worlds = len({group[:2] for group in groups})
    more = [f"and {counted(worlds - MOST_PLOTS, 'more world')}: `frame()` has all"] if worlds > MOST_PLOTS else []
    runs = {cell.key for group in groups for cell in group.cells}  # several studies may use one
    beside = f"{counted(len(runs), 'run')}, in {results.path or 'memory'}"
    return card("Results", *parts, sentences(more), subtitle=beside)


def summary_html(summary: "StudySummary") -> str:
    """The table of a study; of a sweep, with its plots."""
    parts: list[str] = []
    for world in summary.words:
        rows = summary.of(world)
        parts.append(Markup(f"<div style='margin-top: 0.6em;'>{safe(world)}</div>"))
        parts.append(_table([(row.policy, row.runs, row.regret, row.optimal_rate) for row in rows[:MOST_ROWS]]))
        if any(row.parameters for row in rows):
            parts.append(sweep_plot(summary, world).svg)
    return card(summary.name, *parts, subtitle=f"{counted(summary.runs, 'run')} of {summary.horizon:,} rounds")


def course_plot(study: "Study", results: "Results", world: str | None, outcome: str) -> Plot:
    """A cumulative outcome over time, a line per policy with its 95 % band."""
    if outcome not in COURSES:
        raise ParameterError(f"outcome={outcome!r} has no course over time: there are {', '.join(COURSES)}")
    world = one_of_worlds(study.worlds, world)
    return _lines_of(results, [(each, study.cells_of(world, each)) for each in study.policies], outcome, world)


def sweep_plot(summary: "StudySummary", world: str | None) -> Plot:
    """Regret by the first parameter that was swept; policies without it are level lines."""
    world = one_of_worlds(summary.words, world)
    rows = [row for row in summary.rows if row.world == world]
    names = [*dict.fromkeys(name for row in rows for name in row.parameters)]
    if not names:
        raise ParameterError(f"{summary.name!r} has nothing swept to draw: make the study with `sweep`")
    first, *others = names
    sweep = [row for row in rows if row.parameters[first] is not None]
    words = list(dict.fromkeys(row.parameters[first] for row in sweep))
    numeric = all(isinstance(each, int | float | np.number) for each in words)
    places = {each: float(each) if numeric else float(place) for place, each in enumerate(words)}  # type: ignore[arg-type]
    lines = []
    for label, members in _by_line(sweep, first, others).items():
        ordered = sorted(members, key=lambda row: places[row.parameters[first]])
        lines.append(_line(label, [places[row.parameters[first]] for row in ordered], [row.regret for row in ordered]))
    ends = [min(places.values()), max(places.values())]
    lines += [_line(row.policy, ends, [row.regret] * 2) for row in rows if row.parameters[first] is None]
    log = numeric and min(ends) > 0.0 and ends[1] / ends[0] > 8.0
    ticks = [] if numeric else [(places[each], str(each)) for each in words]
    return line_plot(
        lines, title=f"regret in {world}", x_title=first, log_x=log, from_zero=True, dots=True, ticks=ticks
    )


def one_of_worlds(worlds: Iterable[str], world: str | None) -> str:
    """The world that was asked for, or the first one."""
    names = list(worlds)
    if world is not None and world not in names:
        raise ParameterError(f"world={world!r} is not in the study: there are {', '.join(names)}")
    return names[0] if world is None else world


def _by_line(rows: "Sequence[PolicySummary]", first: str, others: Sequence[str]) -> "dict[str, list[PolicySummary]]":
    """Rows that differ in the first parameter alone, by what they share."""
    lines: dict[str, list[PolicySummary]] = {}
    for row in rows:
        label = row.policy.replace(f" {first}={row.parameters[first]}", "")
        lines.setdefault(label, []).append(row)
    return lines


def _line(label: str, xs: Sequence[float], regrets: Sequence[Estimate]) -> PlotLine:
    low, high = [each.mean - each.ci95 for each in regrets], [each.mean + each.ci95 for each in regrets]
    return PlotLine(label, xs, [each.mean for each in regrets], low, high)


def _lines_of(results: "Results", policies: "Sequence[tuple[str, list[Cell]]]", outcome: str, world: str) -> Plot:
    lines = []
    for label, cells in policies[:MOST_LINES]:
        rounds, curves = results.curves(cells[:MOST_RUNS], outcome)
        mean, half = band(curves)
        lines.append(PlotLine(label, rounds.tolist(), mean.tolist(), (mean - half).tolist(), (mean + half).tolist()))
    title = {"optimal": "best choices"}.get(outcome, outcome)
    return line_plot(lines, title=f"cumulative {title} in {world}", x_title="round")


def _groups_table(groups: "Sequence[Group]") -> Markup:
    return _table([(each.policy, len(each.rows), estimate(each.regrets), each.optimal_rate) for each in groups])


def _table(rows: Sequence[tuple[str, int, Estimate, float]]) -> Markup:
    ends = [0.0, *(end for *_, each, _ in rows for end in (each.mean, each.mean - each.ci95, each.mean + each.ci95))]
    span = span_of(ends)
    cells = [
        (
            label,
            runs,
            plus_minus(*regret),
            interval(regret.mean - regret.ci95, regret.mean, regret.mean + regret.ci95, span),
            f"{best:.0%}",
        )
        for label, runs, regret, best in rows
    ]
    return table(["policy", "runs", "regret", "95 %", "best choice"], cells)
