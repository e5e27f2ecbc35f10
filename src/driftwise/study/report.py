"""A study as one HTML file: what was found, the pictures, the tables, and all that is needed to play it again.

The page needs nothing but itself: no script, no network, no other file. It claims only what paired differences carry:
two policies are told apart when the 95% bootstrap interval of their difference, run by run, leaves zero out, and there
are at least six runs. With fewer, even runs that all agree would do so by chance more than one time in twenty.

Needs the extra `report`.
"""

import math
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import driftwise
from driftwise.core.seeding import key
from driftwise.core.types import About
from driftwise.core.verbs import ABOUT
from driftwise.errors import ParameterError
from driftwise.measure.summary import Difference, Estimate, estimate, paired_difference
from driftwise.study.results import Results
from driftwise.study.study import Cell, Study, values

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    from driftwise.study.figures import NARROW, WIDE, cells_by_policy, draw, marked, pen, picture, svg
except ImportError:
    raise ParameterError("reports need matplotlib and Jinja2: pip install 'driftwise[report]'") from None

FEWEST_RUNS = 6
MOST_NAMES = 3  # in one sentence


class Row(NamedTuple):
    """One policy in one world. `gap` is its regret minus that of the best policy; `apart`: told apart from it."""

    policy: str
    colour: str
    stroke: str
    best: bool
    apart: bool
    still: bool
    regret: Estimate
    gap: Difference
    optimal: Estimate
    recovery: Estimate | None
    reward: Estimate
    nanoseconds: float


class Section(NamedTuple):
    """One world: its rows from least regret to most, what they say, the figure on two papers, and code tags."""

    world: str
    rows: list[Row]
    verdict: Markup
    wide: Markup
    narrow: Markup
    changes: list[int]
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
    >>> from driftwise.policies import UCB1, SlidingUCB
    >>> from driftwise.study.run import run
    >>> from driftwise.worlds import Abrupt
    >>> policies = {"ucb1": UCB1(), "sliding-ucb": SlidingUCB(window=100)}
    >>> study = Study(name="tiny", worlds={"abrupt": Abrupt()}, policies=policies, horizon=500, runs=2)
    >>> write_report(study, run(study), Path(mkdtemp()) / "report.html").name
    'report.html'
    """
    path = Path(path)
    page = render(study, results, title=title)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"{path} cannot be written: {error.strerror}") from None
    return path


def render(study: Study, results: Results, *, title: str | None = None) -> str:
    """The page as text; the same study and results give the same text."""
    environment = Environment(
        loader=PackageLoader("driftwise", "study"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"spread": spread, "percent": percent, "interval": interval, "count": count, "brief": brief}
    sections = [_section(study, results, world, place) for place, world in enumerate(study.worlds)]
    return environment.get_template("report.html").render(
        title=title or study.name,
        study=study,
        sections=sections,
        headline=headline(study, sections),
        policies=[_entry(label, policy) for label, policy in study.policies.items()],
        worlds=[_entry(label, world) for label, world in study.worlds.items()],
        recipe=recipe(study),
        first_seed=int(key(study.seed, 0, "world")),
        versions=_versions(),
    )


# What the numbers are


def _section(study: Study, results: Results, world: str, place: int) -> Section:
    cells = cells_by_policy(study, results, world)
    rows = _rows(study, results, cells)
    shown = picture(study, results, cells)
    title = f"Drift of the arms and regret of every policy in {world}; the table below has the numbers"
    wide, narrow = (
        Markup(svg(draw(shown, paper=paper), name=f"{name}{place}", title=title))
        for name, paper in (("wide", WIDE), ("narrow", NARROW))
    )
    tags = {label: row[0].facts["tag"] for label, row in cells.items()}
    return Section(world, rows, verdict(study, world, rows), wide, narrow, marked(shown.drift.changes), tags)


def _rows(study: Study, results: Results, cells: dict[str, list[Cell]]) -> list[Row]:
    """A row for each policy; the first has the least mean regret."""
    best = min(cells, key=lambda label: float(results.column(cells[label], "regret").mean()))
    rows = [_row(study, results, row, cells[best]) for row in cells.values()]
    return sorted(rows, key=lambda row: (not row.best, row.regret.mean))


def _row(study: Study, results: Results, cells: list[Cell], best: list[Cell]) -> Row:
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
        still=about is not None and "without drift" in about.bound,
        regret=estimate(regrets),
        gap=gap,
        optimal=estimate(results.column(cells, "optimal_rate")),
        recovery=estimate(times) if len(times) else None,
        reward=estimate(results.column(cells, "reward")),
        nanoseconds=1e9 * float(np.median(seconds)),  # the median: a first run may have compiled
    )


# What they say


def verdict(study: Study, world: str, rows: Sequence[Row]) -> Markup:
    """What the runs in one world support, and no more."""
    best, *others = rows
    lost = Markup("{} over {} rounds").format(spread(best.regret), count(study.horizon))
    alike = [row.policy for row in others if not row.apart]
    if not others:
        words = "In <i>{}</i>, <b>{}</b> had a regret of {}; there was no other policy to compare it with."
    elif study.runs == 1:
        words = "In the one run of <i>{}</i>, <b>{}</b> lost least: a regret of {}. Another run may say otherwise."
    elif study.runs < FEWEST_RUNS:
        words = "In <i>{}</i>, <b>{}</b> had the lowest mean regret, {}; {} runs are too few to tell policies apart."
    elif alike:
        words = "In <i>{}</i>, <b>{}</b> had the lowest mean regret, {}, but {} runs do not tell it apart from {}."
    else:
        words = "In <i>{}</i>, <b>{}</b> lost least: a regret of {}."
    rest = listed(alike, "or") if len(alike) <= MOST_NAMES else f"{len(alike)} others"
    found = Markup(words).format(world, best.policy, lost, study.runs, rest)
    if study.runs < FEWEST_RUNS or not others:
        return found
    return found + (Markup("") if alike else _against_next(others[0])) + _against_still(best, others, alike)


def _against_next(second: Row) -> Markup:
    gap = interval(second.gap, form="{} (95% interval {} to {})")
    return Markup(" Run by run that is {} less than {}, the next best.").format(gap, second.policy)


def _against_still(best: Row, others: Sequence[Row], alike: Sequence[str]) -> Markup:
    """How the best did against the best of those that count on a world that stands still."""
    still = next((row for row in others if row.still), None)
    if best.still or still is None or still.policy in alike:
        return Markup("")
    words = " Its regret is {:.0%} lower than that of {}, the best here whose guarantee assumes no drift."
    if still is others[0] and not alike:
        words = " That is {:.0%} less; the guarantee of {} assumes no drift."
    return Markup(words).format(still.gap.mean / still.regret.mean, still.policy)


def headline(study: Study, sections: Sequence[Section]) -> Markup:
    """One world: its verdict. Several: who had the lowest mean where, and how often that was told apart."""
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
        found = Markup("<b>{}</b> had the lowest mean regret in {} worlds.").format(*wins, every)
    else:
        parts = [Markup("<b>{}</b> in {}").format(policy, listed(worlds, "and")) for policy, worlds in wins.items()]
        found = Markup("No policy had the lowest mean regret everywhere: {}.").format(Markup("; ").join(parts))
    if study.runs < FEWEST_RUNS:
        runs = "one run" if study.runs == 1 else f"{study.runs} runs"
        return found + Markup(" With {} of each, policies cannot be told apart.").format(runs)
    clear = sum(all(row.apart for row in section.rows[1:]) for section in sections)
    often = "each" if clear == len(sections) else clear or "none"
    return found + Markup(" The lowest is told apart from every other in {} of them.").format(often)


def recipe(study: Study) -> str:
    """Python that plays the study again and writes this page."""
    things = [*study.worlds.values(), *study.policies.values()]
    things += [thing.world for thing in things if hasattr(thing, "world")]
    homes = {"driftwise": {"Study", "run"}, "driftwise.study.report": {"write_report"}}
    for kind in map(type, things):
        public = getattr(driftwise, kind.__name__, None) is kind
        homes.setdefault("driftwise" if public else kind.__module__, set()).add(kind.__name__)
    lines = [
        *(f"from {home} import {', '.join(sorted(names))}" for home, names in sorted(homes.items())),
        "",
        "study = Study(",
        f"    name={study.name!r},",
        *_listing("worlds", study.worlds.items()),
        *_listing("policies", study.policies.items()),
        f"    horizon={study.horizon},",
        f"    runs={study.runs},",
        f"    seed={study.seed},",
        ")",
        'write_report(study, run(study), "report.html")',
    ]
    return "\n".join(lines)


def _listing(name: str, items: Any) -> Iterator[str]:
    yield f"    {name}={{"
    for label, thing in items:
        yield f"        {label!r}: {thing!r},"
    yield "    },"


def _entry(label: str, thing: Any) -> Entry:
    given = values(thing)
    kinds = [given.pop("class"), *given.pop("inside")]
    return Entry(label, " around ".join(kinds), dict(_flat(given)), ABOUT.get(type(thing)))


def _flat(given: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Parameters of what is inside get a dotted name."""
    for name, value in given.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _versions() -> dict[str, str]:
    own = {"driftwise": driftwise.__version__, "Python": platform.python_version()}
    return own | {name: version(name) for name in ("numba", "numpy")}


# How numbers are written


def spread(given: Estimate) -> str:
    """A mean with its interval, to two digits of the interval.

    >>> spread(Estimate(mean=1234.567, ci95=8.91))
    '1,234.6 ± 8.9'
    """
    if math.isnan(given.ci95):
        return brief(given.mean)
    places = _decimals(given.ci95 or given.mean / 10)
    return f"{_written(given.mean, places)} ± {_written(given.ci95, places)}"


def percent(given: Estimate) -> str:
    """A share with its interval, in percent.

    >>> percent(Estimate(mean=0.825, ci95=0.031))
    '82.5 ± 3.1'
    """
    half = "" if math.isnan(given.ci95) else f" ± {100 * given.ci95:.1f}"
    return f"{100 * given.mean:.1f}{half}"


def interval(given: Difference, *, form: str = "{} [{}, {}]") -> str:
    """A difference with its interval, to two digits of half its width.

    >>> interval(Difference(mean=-120.4, low=-160.2, high=-80.1))
    '−120 [−160, −80]'
    """
    places = _decimals((given.high - given.low) / 2 or given.mean / 100)
    return form.format(*(_written(value, places) for value in given))


def count(value: float) -> str:
    """A whole number with its thousands."""
    return _written(value, 0)


def brief(value: float) -> str:
    """A lone number, to three digits or the whole."""
    return _written(value, _decimals(value / 10))


def listed(names: Sequence[str], word: str) -> Markup:
    """`a`, `a or b`, `a, b or c`."""
    *most, last = [*map(escape, names)] or [Markup("")]
    return Markup(" {} ").format(word).join([Markup(", ").join(most), last]) if most else last


def _decimals(size: float) -> int:
    """Places after the point that show two digits of `size`."""
    return 0 if size == 0.0 else max(0, min(3, 1 - math.floor(math.log10(abs(size)))))


def _written(value: float, places: int) -> str:
    text = f"{value:,.{places}f}"
    return text.replace("-", "−") if any(digit in text for digit in "123456789") else text.lstrip("-")
