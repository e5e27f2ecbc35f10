"""Figures 1 and 2 of the paper and what Table 1 looks like over time, from our runs; regret against T.

A policy has the same colour in all of them. Needs the extra `report`; matplotlib is imported when the first figure is
drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from driftwise.measure.summary import band
from driftwise.papers import only_world
from driftwise.papers.whittle.readings import ADAPTIVE, EPISODES, NEAREST
from driftwise.papers.whittle.studies import (
    CELLS,
    FIGURES,
    LENGTHS,
    WORLDS,
    figure,
    fresh,
    table,
    table_baselines,
)
from driftwise.study.claims import Evidence
from driftwise.study.plots.lines import Drawing, Line, Panel, draw_lines

if TYPE_CHECKING:
    from driftwise.report.style import Figure, Sheet

TITLES = {"ladder": "one-dimensional bandit", "ages": "wireless scheduling"}
NAMES = {"ours-literal": "literal", "ours-calibrated": "calibrated", ADAPTIVE: "adaptive"}
NAMES |= {"UCWhittle-static": "UCWhittle", "UCWhittle-10": "UCWhittle", "Random": "Random", "WIQL": "WIQL"}
READ = "literal and calibrated are readings of Our Policy, adaptive is not in the paper; WIQL has a step of 0.1;"
RIVAL = {"ladder": "UCWhittle has balls that hold everything.", "ages": "UCWhittle has the radius sqrt(10 / C)."}


def figures(evidence: Evidence) -> list[Drawing]:
    """Every figure that the studies at hand allow, those of the paper first."""
    return [*_lengths(evidence), *_tables(evidence), *_against_episodes(evidence)]


def _policies_of(world: str) -> tuple[str, ...]:
    return ("Random", "WIQL", NEAREST[world], "ours-literal", "ours-calibrated", ADAPTIVE)


# ---- regret over episodes ----


def _lengths(evidence: Evidence) -> Iterator[Drawing]:
    for number, (name, world) in enumerate(FIGURES.items(), 1):
        there = [slots for slots in LENGTHS[name] if figure(name, slots) in evidence.studies]
        names = {f"regret, H = {slots}": (figure(name, slots),) for slots in there}
        if names:
            caption = f"Cumulative regret versus the number of episodes, N = 10 and M = 4, with 95% bands; {READ}"
            draw = partial(_draw_over_time, evidence=evidence, names=names, world=world)
            yield Drawing(f"Figure {number}: {TITLES[world]}", f"{caption} {RIVAL[world]}", draw)


def _tables(evidence: Evidence) -> Iterator[Drawing]:
    for world in WORLDS:
        names = {}
        for n, m in CELLS:
            every = (table(world, (n, m)), table_baselines(world, (n, m)), fresh(world, (n, m)))
            if there := tuple(name for name in every if name in evidence.studies):
                names[f"regret, N = {n}, M = {m}"] = there
        if names:
            caption = f"Cumulative regret over 50 episodes of 100 slots, with 95% bands; {READ} {RIVAL[world]}"
            draw = partial(_draw_over_time, evidence=evidence, names=names, world=world)
            yield Drawing(f"Table 1 over time: {TITLES[world]}", caption, draw)


def _draw_over_time(
    sheet: "Sheet", *, evidence: Evidence, names: Mapping[str, tuple[str, ...]], world: str
) -> "Figure":
    panels = []
    for title, there in names.items():
        lines = dict[str, Line]()
        for policy in _policies_of(world):
            for study in (evidence.studies[name] for name in there):
                if policy in study.policies:
                    rounds, values = evidence.results.curves(study.cells_of("world", policy))
                    lines[NAMES[policy]] = (rounds * EPISODES / study.horizon, *band(values))
        panels.append(Panel(title, lines))
    return draw_lines(sheet, panels, xlabel="episodes")


# ---- regret against the number of episodes ----


def _against_episodes(evidence: Evidence) -> Iterator[Drawing]:
    groups: dict[str, list[str]] = {}
    for name in evidence.studies:
        if name.startswith("theorem2/"):
            groups.setdefault(name.rpartition("/")[0], []).append(name)
    groups = {group: names for group, names in groups.items() if len(names) > 1}
    if groups:
        caption = (
            "Mean regret against T on logarithmic scales, transitions move by T^-k. Dotted: the exponent of Theorem 2."
        )
        yield Drawing("Theorem 2", caption, partial(_draw_against_episodes, evidence=evidence, groups=groups))


def _draw_against_episodes(sheet: "Sheet", *, evidence: Evidence, groups: dict[str, list[str]]) -> "Figure":
    panels = []
    for group, names in groups.items():
        _, world, k = (part.rpartition("=")[2] for part in group.split("/"))
        studies = [evidence.studies[name] for name in names]
        x = [study.horizon / only_world(study, *WORLDS.values()).episode for study in studies]
        lines = {NAMES[policy]: _means(evidence, names, policy, x) for policy in ("ours-literal", "ours-calibrated")}
        bound, start = max(1.0 - float(k) / 3.0, 0.5), lines["literal"][1][0]
        guide = (lines["literal"][0], start * (lines["literal"][0] / x[0]) ** bound, np.full(len(x), np.nan))
        panels.append(Panel(f"regret, {TITLES[world]}, k = {k}", lines, {f"T^{bound:.2f}": guide}))
    return draw_lines(sheet, panels, xlabel="T", logarithmic=True)


def _means(evidence: Evidence, names: Sequence[str], policy: str, x: Sequence[float]) -> Line:
    """Mean regret in several studies, without a band: on a logarithmic scale it would leave the page."""
    means = np.array([max(1.0, evidence.regret(name, policy).mean) for name in names])
    return np.array(x, float), means, np.full(len(means), np.nan)
