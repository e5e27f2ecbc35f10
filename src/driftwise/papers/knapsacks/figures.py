"""What the theory says, drawn from our runs. A figure is drawn when the studies it shows were played.

Needs the extra `report`; matplotlib is imported when the first figure is drawn.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.core.types import Floats
from driftwise.measure.summary import estimate
from driftwise.papers.knapsacks import future, measures, points, recommended, slopes, theory
from driftwise.papers.knapsacks.forms import FORMS
from driftwise.papers.knapsacks.powers import Power
from driftwise.study.claims import Evidence
from driftwise.study.plots.lines import Drawing, Line, Panel, draw_lines

if TYPE_CHECKING:
    from driftwise.report.style import Figure, Sheet

FITTED = (
    "Mean regret with 95% bands on logarithmic scales; behind each name the slope that fits, dotted that of theory."
)
TITLES = {
    "T/rotating/d=1": "arms change places, d = 1",
    "T/rotating/d=2": "arms change places, d = 2",
    "T/stationary/d=1": "nothing changes, d = 1",
    "T/stationary/d=2": "nothing changes, d = 2",
    "T/lower-bound-1": "lower bound (i)",
    "T/lower-bound-2": "lower bound (ii)",
    "V/rotating/d=1": "by changes: arms change places",
    "V/lower-bound-2": "by V: lower bound (ii)",
    "m/lower-bound-1": "by m: lower bound (i)",
    "b/lower-bound-2": "by 1/b: lower bound (ii)",
}


def figures(evidence: Evidence) -> list[Drawing]:
    """Every figure that the studies at hand allow; those that need none come always."""
    parts = (_growth, _bound, _unforeseen, _measures, _shares, _points)
    return [drawing for part in parts for drawing in part(evidence)]


def _line(x: Any, y: Any) -> Line:
    """A line without a band."""
    return np.asarray(x, float), np.asarray(y, float), np.full(len(x), np.nan)


# ---- Theorems 1 and 2 ----


def _growth(evidence: Evidence) -> Iterator[Drawing]:
    many = [series for series in TITLES if len(slopes.played(evidence, series)) > 1]
    by_rounds = [each for each in many if each[0] == "T"]
    others = [each for each in many if each[0] != "T"]
    for title, names, label in (
        ("Regret against T", by_rounds, "T"),
        ("Regret against V, m and 1/b", others, ""),
    ):
        if names:
            draw = partial(_draw_growth, evidence=evidence, names=names, label=label)
            yield Drawing(title, f"{FITTED} Forms of Algorithm 1 by their radius.", draw)


def _draw_growth(sheet: "Sheet", *, evidence: Evidence, names: list[str], label: str) -> "Figure":
    panels = []
    for series in names:
        chosen = slopes.SERIES[series]
        powers = {form: slopes.grown(evidence, series, form) for form in FORMS}
        lines = {f"{form}  {each.slope(chosen.last).mean:.2f}": _banded(each) for form, each in powers.items()}
        panels.append(Panel(TITLES[series], lines, _guide(powers, chosen.theory, chosen.power)))
    return draw_lines(sheet, panels, xlabel=label, logarithmic=True)


def _banded(power: Power) -> Line:
    """Means, with a band where there is more than one run; it ends above zero."""
    halves = np.array([estimate(runs).ci95 for runs in power.regrets.T])
    return power.sizes, power.means, np.minimum(halves, 0.9 * power.means)


def _guide(powers: dict[str, Power], theory: float, label: str) -> dict[str, Line]:
    """A straight line of the slope of theory that starts a little below all others."""
    x, lowest = powers["paper"].sizes, min(each.means[0] for each in powers.values())
    return {f"power {label}": _line(x, 0.6 * lowest * (x / x[0]) ** theory)}


def _bound(evidence: Evidence) -> Iterator[Drawing]:
    series = "T/rotating/d=1"
    if len(slopes.played(evidence, series)) > 1:
        caption = (
            "What Algorithm 1 loses as printed where arms change places, what Theorem 1 allows it, and T, which nobody "
            "loses more than."
        )
        yield Drawing("Theorem 1, with its constants", caption, partial(_draw_bound, evidence=evidence, series=series))


def _draw_bound(sheet: "Sheet", *, evidence: Evidence, series: str) -> "Figure":
    power, studies = slopes.grown(evidence, series, "paper"), slopes.played(evidence, series)
    bounds = [theory.allowed(evidence.studies[names[0]], 0) for names in studies.values()]
    lines = {"Theorem 1": _line(power.sizes, bounds), "regret": _banded(power)}
    panel = Panel("regret, and what is allowed", lines, {"T": _line(power.sizes, power.sizes)})
    return draw_lines(sheet, [panel], xlabel="T", logarithmic=True)


# ---- W ----

POLICIES = ("paper", "quarter", "resolved", "prequential-pacing")


def _unforeseen(evidence: Evidence) -> Iterator[Drawing]:
    names = [name.removesuffix("/better") for name in evidence.studies if name.endswith("/better")]
    kinds = {
        "the motivating example": [name for name in names if "motivating/delta" in name],
        "lower bound (iii), d2 = 0": [name for name in names if name.endswith(",d2=0")],
        "lower bound (iii), d2 = 0.1": [name for name in names if name.endswith(",d2=0.1")],
    }
    kinds = {title: names for title, names in kinds.items() if len(names) > 1}
    if kinds:
        caption = (
            "The worse of the regrets of two turns, to the better and to the worse, against W1 + q W2. Dotted: the "
            "least that anybody can lose who does not know which it will be."
        )
        yield Drawing("Regret against W", caption, partial(_draw_unforeseen, evidence=evidence, kinds=kinds))


def _draw_unforeseen(sheet: "Sheet", *, evidence: Evidence, kinds: dict[str, list[str]]) -> "Figure":
    panels = []
    for title, names in kinds.items():
        worlds = {name: future.world_of(evidence, name) for name in names}
        at = {name: future.stakes(world, future.ROUNDS) * future.unit(world) for name, world in worlds.items()}
        order = sorted(names, key=lambda name: at[name])
        x = [at[name] for name in order]
        lines = {policy: _line(x, [future.worse(evidence, name, policy) for name in order]) for policy in POLICIES}
        least = [future.least(worlds[name], future.ROUNDS) * future.unit(worlds[name]) for name in order]
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
        for cycles, name in zip(measures.CYCLES, ("one swing", "eight swings"), strict=True):
            gaps = [measures.gap(amp, cycles) for amp in measures.AMPS]
            lines[name] = _line([getattr(each, place) for each in gaps], [each.missed for each in gaps])
        panels.append(Panel(f"LP(T) - sum LP_t {title}", lines))
    return draw_lines(sheet, panels, xlabel="")


def _draw_figure1(sheet: "Sheet") -> "Figure":
    k, w1, least = measures.figure1()
    panel = Panel("how far means stray", {"W1": _line(k, w1), "W1-min": _line(k, least)})
    return draw_lines(sheet, [panel], xlabel="k")


# ---- who collects how much ----


def _shares(evidence: Evidence) -> Iterator[Drawing]:
    worlds = [world for world in recommended.WORLDS if f"recommended/{world}" in evidence.studies]
    if worlds:
        caption = (
            f"Share of LP(T) after {recommended.ROUNDS:,} rounds: a dot for each run, a bar at their mean. In grey the "
            "oracles; those marked V know how far means move. Rows are in the order of the mean over these worlds."
        )
        draw = partial(_draw_shares, evidence=evidence, worlds=worlds)
        yield Drawing("Share of the best plan, by policy and world", caption, draw)


def _draw_shares(sheet: "Sheet", *, evidence: Evidence, worlds: list[str]) -> "Figure":
    from driftwise.report.style import COLOURS, INK, End, name_ends, panels, plain, text_width

    with plain():
        policies = list(evidence.studies[f"recommended/{worlds[0]}"].policies)
        shares = {world: {name: recommended.shares(evidence, world, name) for name in policies} for world in worlds}
        order = sorted(policies, key=lambda name: np.mean([shares[world][name].mean() for world in worlds]))
        right = max(text_width(name, sheet.letters, bold=True) for name in policies) + 24
        tall = sheet._replace(regret=2.25 * sheet.letters * (len(order) + 1))  # room for every name beside its row
        figure, axes = panels(worlds, [_range(shares)] * len(worlds), tall, right=right)
        for panel, world in zip(axes, worlds, strict=True):
            ends = []
            for row, name in enumerate(order, start=1):
                values, ours = shares[world][name], name == recommended.OURS
                colour = INK if name in recommended.ORACLES else COLOURS[1 if ours else 0]
                strength = 0.5 if name in recommended.ORACLES else 1.0
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
    worlds = [
        world for world in points.WORLDS if sum(name.startswith(f"oco/{world}/T=") for name in evidence.studies) > 1
    ]
    if worlds:
        caption = (
            "What is lost beyond the best fixed point, Reg1, and by how much constraints are overdrawn, Reg2, on "
            "logarithmic scales; behind each name the slope. Dotted: sqrt(T). What is not above zero throughout is not "
            "drawn: constraints that are kept, and where they swing, losses below those of the best fixed point."
        )
        yield Drawing("Points under constraints", caption, partial(_draw_points, evidence=evidence, worlds=worlds))


def _draw_points(sheet: "Sheet", *, evidence: Evidence, worlds: list[str]) -> "Figure":
    panels = []
    for world in worlds:
        lines = {}
        for policy in ("corrected", "printed"):
            for outcome, (_, symbol) in points.OUTCOMES.items():
                power = points.grown(evidence, world, outcome, policy)
                heights = power.means if (power.means > 0.5).all() else np.full(len(power.means), np.nan)
                lines[f"{symbol} {policy}  {power.slope().mean:.2f}"] = _line(power.sizes, heights)
        x = np.array(points.grown(evidence, world, "loss", "corrected").sizes)
        panels.append(Panel(world, lines, {"sqrt(T)": _line(x, np.sqrt(x))}))
    return draw_lines(sheet, panels, xlabel="T", logarithmic=True)
