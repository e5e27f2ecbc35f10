"""Figures 2 to 5 of the paper, from our runs; the others are in `pictures.py`. A figure is drawn when its studies were
played.

Needs the extra `report`; matplotlib is imported when the first figure is drawn.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.core.types import Floats
from driftwise.measure.summary import band, estimate
from driftwise.papers import only_world
from driftwise.papers.hedging_the_drift import pictures
from driftwise.papers.hedging_the_drift.auto_loans import WAYS, Source, played
from driftwise.papers.hedging_the_drift.gradual import PHASES
from driftwise.papers.hedging_the_drift.growth import Growth, growth
from driftwise.papers.hedging_the_drift.lending import Lending
from driftwise.papers.hedging_the_drift.piecewise import regrets
from driftwise.papers.hedging_the_drift.readings import READINGS
from driftwise.study.claims import Evidence
from driftwise.study.plots.lines import Drawing, Line, Panel, draw_lines

if TYPE_CHECKING:
    from driftwise.report.style import Figure, Sheet

WAY_TITLES = {"": "scaled to [0, 1], ridge", "z-scores/": "z-scores, least squares"}
PHASE_TITLES = {"printed": "phase as printed", "thirds": "a third of the phase"}
POLICIES_OF = {
    "figure3": ("SW-UCB-opt", "EXP3.S", "BOB-windowed", "BOB-literal", "SW-UCB-obl", "UCB"),
    "figure4": ("SW-UCB-opt", "BOB-windowed", "BOB-literal", "SW-UCB-obl", "UCB"),
}
TITLES = {"figure3": "Figure 3: two arms", "figure4": "Figure 4: linear actions, d = 5"}
BOTH = "BOB is drawn by both readings."
PENS = pictures.PENS


def figures(evidence: Evidence, source: Source) -> list[Drawing]:
    """Every figure that the studies at hand allow, in the paper's order, then ours."""
    papers = (*_growths(evidence), *_behaviours(evidence), *_loans(evidence, source))
    return [*pictures.figure_1(evidence), *papers, *pictures.ours(evidence)]


# ---- Figure 2: regret against T ----


def _growths(evidence: Evidence) -> Iterator[Drawing]:
    fitted = "Mean regret against T on logarithmic scales, with 95% bands; behind each name the slope that fits best."
    studies = {phase: _by_horizon(evidence, f"figure2a/{phase}/") for phase in PHASES}
    if all(studies.values()):
        caption = (
            f"{fitted} SW-UCB has the window of (90), or that of a theorem. Dotted: the slope that is proven, 2/3."
        )
        draw = partial(_draw_known, evidence=evidence, names=studies)
        yield Drawing("Figure 2(a): B = 1, known", caption, draw)
    unknown = {phase: _by_horizon(evidence, f"figure2b/{phase}/") for phase in PHASES}
    if all(unknown.values()):
        caption = f"{fitted} SW-UCB goes by its window. Dotted: what is proven, 1 for SW-UCB and 7/9 for BOB. {BOTH}"
        draw = partial(_draw_unknown, evidence=evidence, names=unknown)
        yield Drawing("Figure 2(b): B = T^(1/3), unknown", caption, draw)


def _by_horizon(evidence: Evidence, start: str) -> list[str]:
    names = [name for name in evidence.studies if name.startswith(start)]
    return sorted(names, key=lambda name: evidence.studies[name].horizon) if len(names) > 1 else []


def _draw_known(sheet: "Sheet", *, evidence: Evidence, names: dict[str, list[str]]) -> "Figure":
    labels = {"EXP3.S": "EXP3.S", "SW-UCB": "SW-UCB", "SW-UCB-thm3": "Theorem 3", "SW-UCB-thm6": "Theorem 6"}
    panels = []
    for phase, studies in names.items():
        growths = {label: growth(evidence, studies, policy) for policy, label in labels.items()}
        lines, pens = _named(growths, labels)
        title = f"regret, {PHASE_TITLES[phase]}"
        panels.append(Panel(title, lines, _guides(growths["EXP3.S"], {"T^2/3": 2 / 3}), pens))
    return draw_lines(sheet, panels, xlabel="T", logarithmic=True)


def _draw_unknown(sheet: "Sheet", *, evidence: Evidence, names: dict[str, list[str]]) -> "Figure":
    windows = {"SW-UCB-thm3": "Theorem 3", "SW-UCB-eq90": "(90)", "SW-UCB-thm6": "Theorem 6"}
    panels = []
    for phase, studies in names.items():
        for reading in READINGS:
            labels = windows | {f"BOB-{reading}": "BOB", f"BOB-{reading}-armed": "BOB, armed"}
            growths = {label: growth(evidence, studies, policy) for policy, label in labels.items()}
            guides = _guides(growths["Theorem 6"], {"T": 1.0}) | _guides(growths["BOB"], {"T^7/9": 7 / 9})
            lines, pens = _named(growths, labels)
            panels.append(Panel(f"regret, {PHASE_TITLES[phase]}, BOB {reading}", lines, guides, pens))
    return draw_lines(sheet, panels, xlabel="T", logarithmic=True)


def _named(growths: dict[str, Growth], labels: dict[str, str]) -> tuple[dict[str, Line], dict[str, int]]:
    """Each line under its name and slope, and the pen of its policy."""
    lines, pens = dict[str, Line](), dict[str, int]()
    for policy, label in labels.items():
        each = growths[label]
        name = f"{label}  {each.slope.ours:.2f}"
        halves = np.array([estimate(column).ci95 for column in each.regrets.T])
        lines[name], pens[name] = (each.sizes, each.means, halves), PENS[policy]
    return lines, pens


def _guides(beside: Growth, powers: dict[str, float]) -> dict[str, Line]:
    """Straight lines of a given slope that start where a line starts."""
    x = beside.sizes
    return {name: (x, beside.means[0] * (x / x[0]) ** power, np.full(len(x), np.nan)) for name, power in powers.items()}


# ---- Figures 3 and 4: over time, and over instances ----


def _behaviours(evidence: Evidence) -> Iterator[Drawing]:
    for figure, policies in POLICIES_OF.items():
        arguments: dict[str, Any] = {"evidence": evidence, "policies": policies}
        if (study := f"{figure}/instance=0") in evidence.studies:
            runs = evidence.studies[study].runs
            caption = f"One random instance, mean of {runs} runs with 95% bands. {BOTH}"
            yield Drawing(TITLES[figure], caption, partial(_draw_over_time, study=study, **arguments))
        names = [name for name in evidence.studies if name.startswith(f"{figure}/instance=") and name != study]
        if len(names) > 1:
            caption = f"Regret after 100,000 rounds: a dot for each of {len(names)} instances, a bar at their mean."
            draw = partial(_draw_instances, names=names, **arguments)
            yield Drawing(f"{TITLES[figure]}, by instance", caption, draw)


def _draw_over_time(sheet: "Sheet", *, evidence: Evidence, policies: Sequence[str], study: str) -> "Figure":
    panels = []
    for title, name in (("(a) reward so far", "reward"), ("(b) regret so far", "regret")):
        lines = {policy: _curve(evidence, study, policy, name) for policy in policies}
        panels.append(Panel(title, lines, pens=PENS))
    return draw_lines(sheet, panels, xlabel="rounds")


def _curve(evidence: Evidence, study: str, policy: str, name: str) -> Line:
    rounds, values = evidence.results.curves(evidence.studies[study].cells_of("world", policy), name)
    return rounds, *band(values)


def _draw_instances(sheet: "Sheet", *, evidence: Evidence, policies: Sequence[str], names: Sequence[str]) -> "Figure":
    from driftwise.report.style import INK, End, FuncFormatter, compact, name_ends, panels, pen, plain, text_width

    with plain():
        logs = {policy: np.log10(regrets(evidence, names, policy)) for policy in policies}
        every = np.concatenate(list(logs.values()))
        right = max(text_width(policy, sheet.letters, bold=True) for policy in policies) + 24
        span = (float(every.min()) - 0.05, float(every.max()) + 0.05)
        figure, (axes,) = panels(["regret, on a logarithmic scale"], [span], sheet, right=right)
        ends = []
        for place, (policy, values) in enumerate(logs.items()):
            row, (colour, _) = len(policies) - place, pen(PENS[policy])
            axes.plot(values, np.full(len(values), row), "o", color=colour, ms=3.2, alpha=0.55, mew=0, zorder=3)
            mean = float(np.log10((10.0**values).mean()))
            axes.plot([mean, mean], [row - 0.28, row + 0.28], color=colour, lw=2.2, zorder=4)
            ends.append(End(float(row), policy, colour))
        axes.set_ylim(0.4, len(policies) + 0.6)
        axes.set_yticks([])
        ticks = [power + float(np.log10(step)) for power in range(1, 6) for step in (1, 2, 5)]
        axes.set_xticks([tick for tick in ticks if span[0] <= tick <= span[1]])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: compact(round(10.0**value))))
        axes.grid(axis="x", color=INK, alpha=0.12, lw=0.6)
        name_ends(axes, ends, sheet)
    return figure


# ---- Figure 5: loans ----


def _loans(evidence: Evidence, source: Source) -> Iterator[Drawing]:
    by_way = {way: [name for name in played(source, way) if name in evidence.studies] for way in WAYS}
    by_way = {way: names for way, names in by_way.items() if names}
    if by_way:
        where = "the data file" if source.real else f"{len(source.worlds)} synthetic stand-ins, not the lending data"
        caption = f"Mean regret so far on {where}; the company is its own prices. {BOTH}"
        yield Drawing(
            "Figure 5: prices for car loans",
            caption,
            partial(_draw_loans, evidence=evidence, by_way=by_way),
        )


def _draw_loans(sheet: "Sheet", *, evidence: Evidence, by_way: dict[str, list[str]]) -> "Figure":
    panels = [
        Panel(f"regret, {WAY_TITLES[way]}", _loan_lines(evidence, names), pens=PENS) for way, names in by_way.items()
    ]
    return draw_lines(sheet, panels, xlabel="applications")


def _loan_lines(evidence: Evidence, names: Sequence[str]) -> dict[str, Line]:
    studies, lines = [evidence.studies[name] for name in names], dict[str, Line]()
    for policy in studies[0].policies:
        curves = [_curve(evidence, name, policy, "regret") for name in names]
        lines[policy] = (curves[0][0], *_over(np.stack([mean for _, mean, _ in curves]), curves[0][2]))
    rounds = next(iter(lines.values()))[0]
    own = np.stack([only_world(study, Lending).company(study.horizon)[rounds - 1] for study in studies])
    lines["company"] = (rounds, own.mean(axis=0), np.full(len(rounds), np.nan))
    return lines


def _over(curves: Floats, half: Floats) -> tuple[Floats, Floats]:
    """The mean over stand-ins with its band, or a single curve with its own."""
    return band(curves) if len(curves) > 1 else (curves[0], half)
