"""What the theory says, drawn from our runs. A figure is drawn when the studies it shows were played.

Needs the extra `report`; matplotlib is imported when the first figure is drawn.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.core.types import Floats
from driftwise.measure.summary import estimate
from driftwise.papers.knapsacks import (
    appendix_b,
    proposition1,
    theorem1,
    theorem1_constants,
    theorem2,
    theorem2_iii,
    theorem3,
    what_to_use,
)
from driftwise.papers.knapsacks.algorithm1 import FORMS
from driftwise.papers.knapsacks.power_law import PowerLaw, grown, played
from driftwise.study.claims import Evidence
from driftwise.study.plots.lines import Drawing, Line, Panel, draw_lines

if TYPE_CHECKING:
    from driftwise.report.style import Figure, Sheet

FITTED = (
    "Mean regret with 95% bands on logarithmic scales; behind each name the power that fits, dotted that of theory."
)
SERIES = {**theorem1.SERIES, **theorem2.SERIES}
TITLES = {
    "Theorem 1: regret against T and V": {
        "theorem-1/T/rotating/d=1": "by T: arms change places, d = 1",
        "theorem-1/T/rotating/d=2": "by T: arms change places, d = 2",
        "theorem-1/T/stationary/d=1": "by T: nothing changes, d = 1",
        "theorem-1/T/stationary/d=2": "by T: nothing changes, d = 2",
        "theorem-1/V/rotating/d=1": "by changes: arms change places, d = 1",
        "theorem-1/V/rotating/d=2": "by changes: arms change places, d = 2",
    },
    "Theorem 2 (i) and (ii): regret against T, V, m and 1/b": {
        "theorem-2-i/T": "by T: lower bound (i)",
        "theorem-2-ii/T": "by T: lower bound (ii)",
        "theorem-2-i/V": "by V: lower bound (i)",
        "theorem-2-ii/V": "by V: lower bound (ii)",
        "theorem-2-i/m": "by m: lower bound (i)",
        "theorem-2-ii/b": "by 1/b: lower bound (ii)",
    },
}
LINES = (*FORMS, "uniform")  # one colour each in all figures


def figures(evidence: Evidence) -> list[Drawing]:
    """Every figure that the studies at hand allow; those that need none come always."""
    parts = (_unforeseen, _measures, _growth, _bound, _points, _shares)
    return [drawing for part in parts for drawing in part(evidence)]


def _line(x: Any, y: Any) -> Line:
    """A line without a band."""
    return np.asarray(x, float), np.asarray(y, float), np.full(len(x), np.nan)


# ---- Theorems 1 and 2 ----


def _growth(evidence: Evidence) -> Iterator[Drawing]:
    for title, panels in TITLES.items():
        names = {name: panel for name, panel in panels.items() if len(played(evidence, name)) > 1}
        if names:
            caption = f"{FITTED} Forms of Algorithm 1 by their radius, and uniform play."
            yield Drawing(title, caption, partial(_draw_growth, evidence=evidence, names=names))


def _draw_growth(sheet: "Sheet", *, evidence: Evidence, names: dict[str, str]) -> "Figure":
    panels = []
    for name, title in names.items():
        series = SERIES[name]
        laws = {policy: grown(evidence, name, policy) for policy in LINES}
        lines = {f"{policy}  {law.last(series.last).fit()[0]:.2f}": _banded(law) for policy, law in laws.items()}
        panels.append(Panel(title, lines, _guide(laws, series.theory, series.power)))
    return draw_lines(sheet, panels, xlabel="T, V, m or 1/b", logarithmic=True)


def _banded(law: PowerLaw) -> Line:
    """Means, with a band where there is more than one run; it ends above zero."""
    halves = np.array([estimate(runs).ci95 for runs in law.values.T])
    return law.sizes, law.means, np.minimum(halves, 0.9 * law.means)


def _guide(laws: dict[str, PowerLaw], theory: float, label: str) -> dict[str, Line]:
    """A straight line of the power of theory that starts a little below all others."""
    x, lowest = laws["paper"].sizes, min(law.means[0] for law in laws.values())
    return {f"power {label}": _line(x, 0.6 * lowest * (x / x[0]) ** theory)}


def _bound(evidence: Evidence) -> Iterator[Drawing]:
    name = "theorem-1/T/rotating/d=1"
    if len(played(evidence, name)) > 1:
        caption = (
            "What Algorithm 1 loses as printed where arms change places, what Theorem 1 allows it, and T, which nobody "
            "loses more than."
        )
        yield Drawing("Theorem 1, with its constants", caption, partial(_draw_bound, evidence=evidence, name=name))


def _draw_bound(sheet: "Sheet", *, evidence: Evidence, name: str) -> "Figure":
    law = grown(evidence, name, "paper")
    bounds = [theorem1_constants.allowed(SERIES[name].ground(size), 0) for size in law.sizes]
    lines = {"Theorem 1": _line(law.sizes, bounds), "regret": _banded(law)}
    panel = Panel("regret, and what is allowed", lines, {"T": _line(law.sizes, law.sizes)})
    return draw_lines(sheet, [panel], xlabel="T", logarithmic=True)


# ---- W ----

POLICIES = ("paper", "quarter", "resolved", "prequential-pacing")


def _unforeseen(evidence: Evidence) -> Iterator[Drawing]:
    names = [name.removesuffix("/better") for name in evidence.studies if name.endswith("/better")]
    kinds = {
        "section 2.1": [name for name in names if "section-2.1/delta" in name],
        "lower bound (iii), d2 = 0": [name for name in names if name.endswith(",d2=0")],
        "lower bound (iii), d2 = 0.1": [name for name in names if name.endswith(",d2=0.1")],
    }
    kinds = {title: names for title, names in kinds.items() if len(names) > 1}
    if kinds:
        caption = (
            "The worse of the regrets of two turns, to the better and to the worse, against W1 + q W2. Dotted: the "
            "least that anybody can lose who does not know which it will be."
        )
        yield Drawing(
            "Section 2.1 and Theorem 2 (iii): regret against W",
            caption,
            partial(_draw_unforeseen, evidence=evidence, kinds=kinds),
        )


def _draw_unforeseen(sheet: "Sheet", *, evidence: Evidence, kinds: dict[str, list[str]]) -> "Figure":
    panels, rounds = [], theorem2_iii.ROUNDS
    for title, names in kinds.items():
        worlds = {name: theorem2_iii.world_of(evidence, name) for name in names}
        units = {name: theorem2_iii.unit(world) for name, world in worlds.items()}
        at = {name: theorem2_iii.stakes(world, rounds) * units[name] for name, world in worlds.items()}
        order = sorted(names, key=lambda name: at[name])
        x = [at[name] for name in order]
        lines = {
            policy: _line(x, [theorem2_iii.loss(evidence, name, policy).runs.mean() for name in order])
            for policy in POLICIES
        }
        least = [theorem2_iii.least(worlds[name], rounds) * units[name] for name in order]
        panels.append(Panel(title, lines, {"least": _line(x, least)}))
    return draw_lines(sheet, panels, xlabel="W1 + q W2")


# ---- measures: nothing is played ----


def _measures(evidence: Evidence) -> Iterator[Drawing]:
    caption = (
        "LP(T) - sum LP_t where means swing once and eight times, for swings of growing size. Against W both are one "
        "line; against V they are not."
    )
    yield Drawing("What even spending misses follows W, not V", caption, _draw_gap)
    caption = "One arm that pays 1 till round k and nothing after, T = 200: the paper's Figure 1."
    yield Drawing("Figure 1: W1 and W1-min", caption, _draw_figure1)


def _draw_gap(sheet: "Sheet") -> "Figure":
    panels = []
    for title, place in (("against W1", "w1"), ("against V1", "v1")):
        lines = {}
        for cycles, name in zip(proposition1.CYCLES, ("one swing", "eight swings"), strict=True):
            gaps = [proposition1.gap(amp, cycles) for amp in proposition1.AMPS]
            lines[name] = _line([getattr(each, place) for each in gaps], [each.missed for each in gaps])
        panels.append(Panel(f"LP(T) - sum LP_t {title}", lines))
    return draw_lines(sheet, panels, xlabel="W1, V1")


def _draw_figure1(sheet: "Sheet") -> "Figure":
    k, w1, least = appendix_b.figure1()
    panel = Panel("how far means stray", {"W1": _line(k, w1), "W1-min": _line(k, least)})
    return draw_lines(sheet, [panel], xlabel="k")


# ---- who collects how much ----


def _shares(evidence: Evidence) -> Iterator[Drawing]:
    worlds = [world for world in what_to_use.WORLDS if f"what-to-use/{world}" in evidence.studies]
    if worlds:
        caption = (
            f"Share of LP(T) after {what_to_use.ROUNDS:,} rounds: a dot for each run, a bar at their mean. In grey the "
            "oracles; those marked V know how far means move. Rows are in the order of the mean over these worlds."
        )
        draw = partial(_draw_shares, evidence=evidence, worlds=worlds)
        yield Drawing("Share of the best plan, by policy and world", caption, draw)


def _draw_shares(sheet: "Sheet", *, evidence: Evidence, worlds: list[str]) -> "Figure":
    from driftwise.report.style import COLOURS, INK, End, name_ends, panels, plain, text_width

    with plain():
        policies = list(evidence.studies[f"what-to-use/{worlds[0]}"].policies)
        shares = {world: {name: what_to_use.shares(evidence, world, name) for name in policies} for world in worlds}
        order = sorted(policies, key=lambda name: np.mean([shares[world][name].mean() for world in worlds]))
        right = max(text_width(name, sheet.letters, bold=True) for name in policies) + 24
        tall = sheet._replace(regret=2.25 * sheet.letters * (len(order) + 1))  # room for every name beside its row
        figure, axes = panels(worlds, [_range(shares)] * len(worlds), tall, right=right)
        for panel, world in zip(axes, worlds, strict=True):
            ends = []
            for row, name in enumerate(order, start=1):
                values, ours = shares[world][name], name == what_to_use.OURS
                colour = INK if name in what_to_use.ORACLES else COLOURS[1 if ours else 0]
                strength = 0.5 if name in what_to_use.ORACLES else 1.0
                panel.plot(values, np.full(len(values), row), "o", color=colour, ms=2.4, alpha=0.4 * strength, mew=0)
                mean = float(values.mean())
                panel.plot([mean, mean], [row - 0.34, row + 0.34], color=colour, lw=2.2, alpha=strength, zorder=4)
                ends.append(End(float(row), name, colour, bold=ours, strength=strength))
            panel.set_ylim(0.2, len(order) + 0.8)
            panel.set_yticks([])
            panel.grid(axis="x", color=INK, alpha=0.12, lw=0.6)
            name_ends(panel, ends, sheet)
    return figure


def _range(shares: dict[str, dict[str, Floats]]) -> tuple[float, float]:
    """The same for all panels."""
    every = np.concatenate([values for by_name in shares.values() for values in by_name.values()])
    return float(every.min()) - 0.02, max(1.0, float(every.max())) + 0.02


# ---- points ----


def _points(evidence: Evidence) -> Iterator[Drawing]:
    worlds = [world for world in theorem3.WORLDS if len(played(evidence, f"theorem-3/{world}")) > 1]
    if worlds:
        caption = (
            "What is lost beyond the best fixed point, Reg1, and by how much constraints are overdrawn, Reg2, on "
            "logarithmic scales; behind each name the power. Dotted: sqrt(T). What is not above zero throughout is not "
            "drawn: constraints that are kept, and where they swing, losses below those of the best fixed point."
        )
        yield Drawing(
            "Theorem 3: points under constraints", caption, partial(_draw_points, evidence=evidence, worlds=worlds)
        )


def _draw_points(sheet: "Sheet", *, evidence: Evidence, worlds: list[str]) -> "Figure":
    panels = []
    for world in worlds:
        lines, sizes = {}, np.array(list(played(evidence, f"theorem-3/{world}")))
        for policy in ("corrected", "printed"):
            for symbol in theorem3.OUTCOMES:
                law = theorem3.law(evidence, world, symbol, policy)
                heights = law.means if (law.means > 0.5).all() else np.full(len(law.means), np.nan)
                lines[f"{symbol} {policy}  {law.fit()[0]:.2f}"] = _line(law.sizes, heights)
        panels.append(Panel(world, lines, {"sqrt(T)": _line(sizes, np.sqrt(sizes))}))
    return draw_lines(sheet, panels, xlabel="T", logarithmic=True)
