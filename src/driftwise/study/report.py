"""A study as one HTML file: findings, figures, tables, and all that is needed to reproduce it.

The page needs nothing but itself: no script, no network, no other file. It claims only what paired differences carry:
two policies differ when the 95% bootstrap interval of their difference, run by run, leaves zero out, and there
are at least six runs. With fewer, even runs that all agree would do so by chance more than one time in twenty.

Needs the extra `report`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.family import drift_of, words_of
from driftwise.core.seeding import key
from driftwise.core.types import About
from driftwise.core.verbs import ABOUT
from driftwise.core.words import Words
from driftwise.measure.summary import Difference, Estimate, estimate, paired_difference
from driftwise.report.formatting import count, interval, listed, spread
from driftwise.report.style import NARROW, WIDE, pen, svg
from driftwise.report.templates import Markup, fill, write
from driftwise.study.plots.drift import marked
from driftwise.study.plots.study_figure import cells_by_policy, draw, picture
from driftwise.study.results import Results
from driftwise.study.study import Cell, Study, inside, is_oracle, values

FEWEST_RUNS = 6
MOST_NAMES = 3  # in one sentence


class Row(NamedTuple):
    """One policy in one world. `gap` is its regret minus that of the best policy; `apart`: whether they differ."""

    policy: str
    colour: str
    stroke: str
    best: bool
    apart: bool
    still: bool
    oracle: bool
    regret: Estimate
    gap: Difference
    optimal: Estimate
    recovery: Estimate | None
    reward: Estimate
    nanoseconds: float
    more: list[Estimate]


class Section(NamedTuple):
    """One world: its rows from least regret to most, what they say, the figure on two papers, its drift, code tags."""

    world: str
    rows: list[Row]
    verdict: Markup
    wide: Markup
    narrow: Markup
    words: Words
    changes: list[int]
    norms: dict[str, float | None]
    tags: dict[str, str]


class Entry(NamedTuple):
    """One policy or world in the list of what was played."""

    label: str
    kind: str
    parameters: dict[str, Any]
    about: About | None


def write_report(study: Study, results: Results, path: str | Path, *, title: str | None = None) -> Path:
    """Write the report of a study that has been played, and return where it is.

    >>> from tempfile import mkdtemp
    >>> from driftwise.families import UCB1, SlidingUCB
    >>> from driftwise.study.run import run
    >>> from driftwise.families import Abrupt
    >>> policies = {"ucb1": UCB1(), "sliding-ucb": SlidingUCB(window=100)}
    >>> study = Study(name="tiny", worlds={"abrupt": Abrupt()}, policies=policies, horizon=500, runs=2)
    >>> write_report(study, run(study), Path(mkdtemp()) / "report.html").name
    'report.html'
    """
    return write(render(study, results, title=title), Path(path))


def render(study: Study, results: Results, *, title: str | None = None) -> str:
    """The page as text; the same study and results give the same text."""
    sections = [_section(study, results, world, place) for place, world in enumerate(study.worlds)]
    return fill(
        "study",
        "report.html",
        title=title or study.name,
        study=study,
        sections=sections,
        fewest=FEWEST_RUNS,
        headline=headline(study, sections),
        policies=[_entry(label, policy) for label, policy in study.policies.items()],
        worlds=[_entry(label, world) for label, world in study.worlds.items()],
        recipe=recipe(study),
        best=best_of_all(sections),
        words=sections[0].words,
        norms={norm for section in sections for norm, size in section.norms.items() if size is not None},
        recovers=any(row.recovery for section in sections for row in section.rows),
        first_seed=_seed_of_run_0(study),
    )


def best_of_all(sections: Sequence[Section]) -> str:
    """What the best option is called on this page; "best option" where its worlds differ in that."""
    names = {section.words.best for section in sections}
    return names.pop() if len(names) == 1 else "best option"


def _seed_of_run_0(study: Study) -> int:
    return int(key(study.seed, 0, "world"))


# What the numbers are


def _section(study: Study, results: Results, world: str, place: int) -> Section:
    cells = cells_by_policy(study, results, world)
    rows = _rows(study, results, cells, words_of(study.worlds[world]))
    image = picture(study, results, cells)
    title = f"Drift of {world} and regret of every policy in it; the table below has the numbers"
    wide, narrow = (
        Markup(svg(draw(image, sheet=sheet), name=f"{name}{place}", title=title))
        for name, sheet in (("wide", WIDE), ("narrow", NARROW))
    )
    return Section(
        world,
        rows,
        verdict(study, world, rows),
        wide,
        narrow,
        words=image.drift.words,
        changes=marked(image.drift.changes),
        norms=drift_of(study.worlds[world], study.horizon, _seed_of_run_0(study)),
        tags={label: row[0].facts["tag"] for label, row in cells.items()},
    )


def _rows(study: Study, results: Results, cells: dict[str, list[Cell]], words: Words) -> list[Row]:
    """A row for each policy; the first has the least mean regret, the last are oracles."""

    def place(label: str) -> tuple[bool, float]:
        return is_oracle(study.policies[label]), float(results.column(cells[label], "regret").mean())

    best = min(cells, key=place)
    rows = [_row(study, results, row, cells[best], words) for row in cells.values()]
    return sorted(rows, key=lambda row: (row.oracle, not row.best, row.regret.mean))


def _row(study: Study, results: Results, cells: list[Cell], best: list[Cell], words: Words) -> Row:
    label = cells[0].policy
    colour, stroke = pen(list(study.policies).index(label))
    regrets = results.column(cells, "regret")
    gap = paired_difference(regrets, results.column(best, "regret"))
    about = ABOUT.get(type(study.policies[label]))
    times = results.column(cells, "recovery")
    times = times[~np.isnan(times)]
    seconds = results.column(cells, "seconds") / results.column(cells, "rounds")
    return Row(
        policy=label,
        colour=colour,
        stroke=stroke,
        best=cells is best,
        apart=gap.clear and study.runs >= FEWEST_RUNS,
        still=about is not None and not about.drifts,
        oracle=is_oracle(study.policies[label]),
        regret=estimate(regrets),
        gap=gap,
        optimal=estimate(results.column(cells, "optimal_rate")),
        recovery=estimate(times) if len(times) else None,
        reward=estimate(results.column(cells, "reward")),
        nanoseconds=1e9 * float(np.median(seconds)),  # the median: a first run may have compiled
        more=[estimate(results.values(cells, column)) for column in words.columns],
    )


# What they say


def verdict(study: Study, world: str, rows: Sequence[Row]) -> Markup:
    """What the runs in one world support, and no more; what oracles do supports nothing."""
    best, *others = [row for row in rows if not row.oracle] or rows
    lost = Markup("{} over {} rounds").format(spread(best.regret), count(study.horizon))
    alike, few = [row.policy for row in others if not row.apart], study.runs < FEWEST_RUNS
    if not others:
        words = "In <i>{}</i>, <b>{}</b> had a regret of {}; there was no other policy to compare it with."
    elif study.runs == 1:
        words = "In the one run of <i>{}</i>, <b>{}</b> lost least: a regret of {}. Another run may say otherwise."
    elif few:
        words = "In <i>{}</i>, <b>{}</b> had the lowest mean regret, {}; "
        words += "{} runs are too few to tell policies apart: it takes {}."
    elif alike:
        words = "In <i>{}</i>, <b>{}</b> had the lowest mean regret, {}, but {} runs do not tell it apart from {}."
    else:
        words = "In <i>{}</i>, <b>{}</b> lost least: a regret of {}."
    rest = listed(alike, "or") if len(alike) <= MOST_NAMES else f"{len(alike)} others"
    sentence = Markup(words).format(world, best.policy, lost, study.runs, FEWEST_RUNS if few else rest)
    if few or not others:
        return sentence
    return sentence + (Markup("") if alike else _against_next(others[0])) + _against_still(best, others, alike)


def _against_next(second: Row) -> Markup:
    gap = interval(second.gap, form="{} (95% interval {} to {})")
    return Markup(" Run by run that is {} less than {}, the next best.").format(gap, second.policy)


def _against_still(best: Row, others: Sequence[Row], alike: Sequence[str]) -> Markup:
    """How the best did against the best of those that count on a world that stands still."""
    still = next((row for row in others if row.still), None)
    if best.still or still is None or still.policy in alike:
        return Markup("")
    words = " Its regret is {:.0%} lower than that of {}, the best here of those made for a world without drift."
    if still is others[0] and not alike:
        words = " That is {:.0%} less; {} is made for a world without drift."
    return Markup(words).format(still.gap.mean / still.regret.mean, still.policy)


def headline(study: Study, sections: Sequence[Section]) -> Markup:
    """One world: its verdict. Several: who had the lowest mean where, and how often the difference is clear."""
    if len(sections) == 1:
        return sections[0].verdict
    if len(study.policies) == 1:
        return Markup("<b>{}</b> in {} worlds, with no other policy to compare it with.").format(
            *study.policies, len(sections)
        )
    wins: dict[str, list[str]] = {}
    for section in sections:
        wins.setdefault(section.rows[0].policy, []).append(section.world)
    every = "both" if len(sections) == 2 else f"all {len(sections)}"
    if len(wins) == 1:
        sentence = Markup("<b>{}</b> had the lowest mean regret in {} worlds.").format(*wins, every)
    else:
        parts = [Markup("<b>{}</b> in {}").format(policy, listed(worlds, "and")) for policy, worlds in wins.items()]
        sentence = Markup("No policy had the lowest mean regret everywhere: {}.").format(Markup("; ").join(parts))
    if study.runs < FEWEST_RUNS:
        runs = "one run" if study.runs == 1 else f"{study.runs} runs"
        return sentence + Markup(" With {} of each, policies cannot be told apart: it takes {}.").format(
            runs, FEWEST_RUNS
        )
    clear = sum(all(row.apart for row in section.rows[1:] if not row.oracle) for section in sections)
    often = "each" if clear == len(sections) else clear or "none"
    return sentence + Markup(" The lowest is told apart from every other in {} of them.").format(often)


def recipe(study: Study) -> str:
    """Python that plays the study again and writes this page."""
    things = [each for thing in (*study.worlds.values(), *study.policies.values()) for each in inside(thing)]
    homes = {"driftwise": {"Study", "run"}, "driftwise.study.report": {"write_report"}}
    for kind in map(type, things):
        public = getattr(import_module("driftwise"), kind.__name__, None) is kind
        homes.setdefault("driftwise" if public else kind.__module__, set()).add(kind.__name__)
    lines = [
        *(f"from {home} import {', '.join(sorted(names))}" for home, names in sorted(homes.items())),
        "",
        "study = Study(",
        f"    name={study.name!r},",
        *_listing("worlds", study.worlds),
        *_listing("policies", study.policies),
        f"    horizon={study.horizon},",
        f"    runs={study.runs},",
        f"    seed={study.seed},",
        ")",
        'write_report(study, run(study), "report.html")',
    ]
    return "\n".join(lines)


def _listing(name: str, things: Mapping[str, object]) -> Iterator[str]:
    yield f"    {name}={{"
    for label, thing in things.items():
        yield f"        {label!r}: {_code(thing)},"
    yield "    },"


def _code(thing: object) -> str:
    """Python that makes a world or policy; the `repr` of a world may leave tables out."""
    if not is_dataclass(thing):
        return repr(thing)
    arguments = (f"{each.name}={_code(getattr(thing, each.name))}" for each in fields(thing) if each.init)
    return f"{type(thing).__name__}({', '.join(arguments)})"


def _entry(label: str, thing: object) -> Entry:
    kinds = [type(each).__name__ for each in inside(thing)]
    return Entry(label, " around ".join(kinds), dict(_flat(thing)), ABOUT.get(type(thing)))


def _flat(thing: object, above: str = "") -> Iterator[tuple[str, Any]]:
    """Parameters that play a part; those of what is inside get a dotted name."""
    for name, value in values(thing).items():
        if name == "class" or name in getattr(thing, "unused_parameters", ()):
            continue
        if isinstance(value, dict):
            yield from _flat(getattr(thing, name), f"{above}{name}.")
        else:
            yield f"{above}{name}", value
