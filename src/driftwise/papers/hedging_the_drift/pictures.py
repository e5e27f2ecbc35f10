"""Figure 1 as a picture of what BOB drew, and figures of what the paper does not show: a wrong B_T, and what to use."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from driftwise.measure.summary import estimate
from driftwise.papers.hedging_the_drift import piecewise, rates, wrong_variation
from driftwise.papers.hedging_the_drift.blocks import blocks_of
from driftwise.papers.hedging_the_drift.growth import Growth
from driftwise.study.claims import Evidence
from driftwise.study.plots.lines import Drawing, Line, Panel, draw_lines

if TYPE_CHECKING:
    from driftwise.report.style import Figure, Sheet

PENS = {
    "SW-UCB-opt": 0,
    "SW-UCB": 0,
    "BOB-windowed": 1,
    "BOB-literal": 2,
    "EXP3.S": 3,
    "SW-UCB-obl": 4,
    "SW-UCB-eq90": 4,
    "UCB": 5,
    "company": 6,
    "uniform": 6,
    "SW-UCB-thm3": 7,
    "BOB-windowed-armed": 8,
    "BOB-literal-armed": 9,
    "kalman-mixture": 10,
    "auto": 11,
    "SW-UCB-thm6": 14,
    "BOB-mended": 15,
    "BOB-mended-half": 16,
}


# ---- Figure 1: blocks and windows ----


def figure_1(evidence: Evidence) -> Iterator[Drawing]:
    """Drawn beside Figure 4, whose world it is played in."""
    if "figure4/instance=0" in evidence.studies:
        yield Drawing(
            "Figure 1: the blocks of BOB",
            "One run of BOB, windowed, in the world of Figure 4. Left: the window that each block drew. Right: what "
            "blocks earned a round, by their window, and the mean of each. Short windows earn little, and after all "
            "blocks EXP3 still draws them.",
            _draw_blocks,
        )


def _draw_blocks(sheet: "Sheet") -> "Figure":
    from driftwise.report.style import INK, FuncFormatter, compact, panels, pen, plain

    run = blocks_of(1)
    with plain():
        logs = np.log10(run.windows)
        spans = [(0.0, float(len(run.drawn))), (-0.15, float(logs[-1]) + 0.15)]
        figure, (left, right) = panels(["window drawn", "reward a round"], spans, sheet, right=12)
        colour, _ = pen(PENS["BOB-windowed"])
        left.plot(np.arange(len(run.drawn)) + 0.5, np.log10(run.drawn), "s", color=colour, ms=3.4, mew=0, zorder=3)
        left.set_yticks(logs)
        left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: compact(round(10.0**value))))
        left.set_ylim(-0.2, float(logs[-1]) + 0.2)
        right.plot(np.log10(run.drawn), run.earned, "o", color=colour, ms=3.2, alpha=0.55, mew=0, zorder=3)
        for window, log in zip(run.windows, logs, strict=True):
            if (run.drawn == window).any():
                mean = float(run.earned[run.drawn == window].mean())
                right.plot([log - 0.1, log + 0.1], [mean, mean], color=INK, lw=1.6, zorder=4)
        right.set_xticks(logs[:: max(1, len(logs) // 5)])
        right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: compact(round(10.0**value))))
        for axes, label in ((left, "block"), (right, "window")):
            axes.set_xlabel(label, fontsize=sheet.letters, color=INK, alpha=0.75)
    return figure


# ---- ours ----


def ours(evidence: Evidence) -> Iterator[Drawing]:
    """Regret against what one believes of B, and against B itself."""
    by_figure = {
        figure: tuple(name for name in evidence.studies if name.startswith(f"wrong-B/{figure}/"))
        for figure in piecewise.WORLDS
    }
    if all(len(names) > 1 for names in by_figure.values()):
        yield Drawing(
            "A wrong B_T",
            "Regret of SW-UCB with the window of (90) for f times the true variation, mean over instances with 95% "
            "bands. Too long a window (f below 1) costs more than one too short.",
            partial(_draw_wrong, evidence=evidence, by_figure=by_figure),
        )
    if all(name in evidence.studies for name in rates.names("large/B")):
        yield Drawing(
            "What to use, by how much the world drifts",
            "Regret against B in the world of Figure 4, T = 20,000, on logarithmic scales. BOB read literally is "
            "LinUCB restarted every d sqrt(T) rounds: good while B is small, and the worst where it is large.",
            partial(_draw_by_variation, evidence=evidence),
        )


def _line(grown: Growth) -> Line:
    return grown.sizes, grown.means, np.array([estimate(column).ci95 for column in grown.regrets.T])


def _draw_wrong(sheet: "Sheet", *, evidence: Evidence, by_figure: dict[str, tuple[str, ...]]) -> "Figure":
    panels = [
        Panel(f"regret, Figure {figure[-1]}", {"SW-UCB": _line(wrong_variation.by_factor(evidence, names))}, pens=PENS)
        for figure, names in by_figure.items()
    ]
    return draw_lines(sheet, panels, xlabel="f: what B is taken for, over B", logarithmic=True)


def _draw_by_variation(sheet: "Sheet", *, evidence: Evidence) -> "Figure":
    lines = {policy: _line(grown) for policy, grown in rates.regrets_by_variation(evidence).items()}
    return draw_lines(sheet, [Panel("regret", lines, pens=PENS)], xlabel="B", logarithmic=True)
