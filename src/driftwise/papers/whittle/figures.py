"""Figures 1 and 2 of the paper and what Table 1 looks like over time, from our runs; regret against H and against T.

Needs the extra `report`; matplotlib is imported when the first figure is drawn.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from driftwise.measure.summary import band
from driftwise.papers import only_world
from driftwise.papers.whittle.curves import READINGS
from driftwise.papers.whittle.studies import (
    CELLS,
    EPISODES,
    FIGURES,
    FITTED,
    LENGTHS,
    RECOMMENDED,
    WORLDS,
    figure,
    table,
)
from driftwise.study.claims import Evidence
from driftwise.study.plots.lines import Drawing, Line, Panel, draw_lines

if TYPE_CHECKING:
    from driftwise.report.style import Figure, Sheet

TITLES = {"ladder": "one-dimensional bandit", "ages": "wireless scheduling"}
NAMES = {"ours-literal": "literal", "ours-calibrated": "calibrated", RECOMMENDED: "adaptive"}
NAMES |= {"UCWhittle-vacuous": "UCWhittle", "UCWhittle-size=10": "UCWhittle", "Random": "Random", "WIQL": "WIQL"}
READ = "literal and calibrated are readings of the paper's policy, adaptive is not in the paper;"
RIVAL = {"ladder": "UCWhittle has balls that hold everything.", "ages": "UCWhittle has radius sqrt(10 / C)."}


def figures(evidence: Evidence) -> list[Drawing]:
    """Every figure that the studies at hand allow."""
    return [*_tables(evidence), *_lengths(evidence), *_against_length(evidence), *_against_episodes(evidence)]


def _policies_of(world: str) -> tuple[str, ...]:
    return ("Random", "WIQL", FITTED[world], "ours-literal", "ours-calibrated", RECOMMENDED)


# ---- regret over episodes ----


def _tables(evidence: Evidence) -> Iterator[Drawing]:
    for world in WORLDS:
        names = {
            f"N = {n}, M = {m}": table(world, (n, m)) for n, m in CELLS if table(world, (n, m)) in evidence.studies
        }
        if names:
            caption = f"Mean regret so far over 50 episodes of 100 slots, with 95% bands; {READ} {RIVAL[world]}"
            draw = partial(_draw_over_time, evidence=evidence, names=names, world=world)
            yield Drawing(f"Table 1: {TITLES[world]}", caption, draw)


def _lengths(evidence: Evidence) -> Iterator[Drawing]:
    for number, (name, world) in enumerate(FIGURES.items(), 1):
        names = {f"H = {slots}": figure(name, slots) for slots in LENGTHS if figure(name, slots) in evidence.studies}
        if names:
            caption = (
                f"Mean regret so far for episodes of H slots, N = 10 and M = 4, with 95% bands; {READ} {RIVAL[world]}"
            )
            draw = partial(_draw_over_time, evidence=evidence, names=names, world=world)
            yield Drawing(f"Figure {number}: {TITLES[world]}", caption, draw)


def _draw_over_time(sheet: "Sheet", *, evidence: Evidence, names: dict[str, str], world: str) -> "Figure":
    panels = []
    for title, name in names.items():
        study, lines = evidence.studies[name], dict[str, Line]()
        for policy in _policies_of(world):
            rounds, values = evidence.results.curves(study.cells_of("world", policy))
            lines[NAMES[policy]] = (rounds * EPISODES / study.horizon, *band(values))
        panels.append(Panel(title, lines))
    return draw_lines(sheet, panels, xlabel="episodes")


# ---- regret against the length of episodes, and against their number ----


def _against_length(evidence: Evidence) -> Iterator[Drawing]:
    there = {
        world: [figure(name, slots) for slots in LENGTHS if figure(name, slots) in evidence.studies]
        for name, world in FIGURES.items()
    }
    there = {world: names for world, names in there.items() if len(names) > 1}
    if there:
        caption = f"Mean regret after 50 episodes on logarithmic scales, N = 10 and M = 4; {READ} UCWhittle as above."
        draw = partial(_draw_against_length, evidence=evidence, there=there)
        yield Drawing("Regret against H", caption, draw)


def _draw_against_length(sheet: "Sheet", *, evidence: Evidence, there: dict[str, list[str]]) -> "Figure":
    panels = []
    for world, names in there.items():
        slots = [evidence.studies[name].horizon // EPISODES for name in names]
        lines = {NAMES[policy]: _means(evidence, names, policy, slots) for policy in _policies_of(world)}
        panels.append(Panel(TITLES[world], lines))
    return draw_lines(sheet, panels, xlabel="slots in an episode", logarithmic=True)


def _means(evidence: Evidence, names: Sequence[str], policy: str, x: Sequence[float]) -> Line:
    """Mean regret in several studies, without a band: on a logarithmic scale it would leave the page."""
    means = np.array([max(1.0, evidence.regret(name, policy).mean) for name in names])
    return np.array(x, float), means, np.full(len(means), np.nan)


def _against_episodes(evidence: Evidence) -> Iterator[Drawing]:
    groups: dict[str, list[str]] = {}
    for name in evidence.studies:
        if name.startswith("theorem2/"):
            groups.setdefault(name.rpartition("/")[0], []).append(name)
    groups = {group: names for group, names in groups.items() if len(names) > 1}
    if groups:
        caption = (
            "Mean regret against T on logarithmic scales, kernels moving by T^-k. Dotted: the exponent of Theorem 2."
        )
        yield Drawing("Theorem 2", caption, partial(_draw_against_episodes, evidence=evidence, groups=groups))


def _draw_against_episodes(sheet: "Sheet", *, evidence: Evidence, groups: dict[str, list[str]]) -> "Figure":
    panels = []
    for group, names in groups.items():
        _, world, k = (part.rpartition("=")[2] for part in group.split("/"))
        studies = [evidence.studies[name] for name in names]
        x = [study.horizon / only_world(study, *WORLDS.values()).episode for study in studies]
        lines = {NAMES[policy]: _means(evidence, names, policy, x) for policy in READINGS}
        bound, start = max(1.0 - float(k) / 3.0, 0.5), lines["literal"][1][0]
        guide = (lines["literal"][0], start * (lines["literal"][0] / x[0]) ** bound, np.full(len(x), np.nan))
        panels.append(Panel(f"{world}, k = {k}", lines, {f"T^{bound:.2f}": guide}))
    return draw_lines(sheet, panels, xlabel="T", logarithmic=True)
