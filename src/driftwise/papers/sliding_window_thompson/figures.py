"""Figures 1 to 11 of the paper, from our runs. A figure is drawn when the studies it shows were played.

Needs the extra `report`; matplotlib is imported when the first figure is drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.core.types import Floats
from driftwise.families import SCMAB
from driftwise.measure.summary import band
from driftwise.papers.sliding_window_thompson.sensitivity import sweep
from driftwise.papers.sliding_window_thompson.studies import ALGORITHMS, ARMS, FIGURE_5_ARMS, SIGMAS
from driftwise.study.claims import Evidence
from driftwise.study.plots.lines import Drawing, Line, Panel, draw_lines

if TYPE_CHECKING:
    from driftwise.report.style import Figure, Sheet

INCREASES = (0.5, 1.0, 2.0)


def figures(evidence: Evidence) -> list[Drawing]:
    """Every figure that the studies at hand allow."""
    drawings = [*_regret_over_time(evidence), *_waves(evidence), *_speeds(evidence), *_sweeps(evidence)]
    return sorted(drawings, key=lambda each: int(each.title.split(":")[0].removeprefix("Figure ")))


def _has(evidence: Evidence, names: Sequence[str]) -> list[str]:
    return [name for name in names if name in evidence.studies]


def _draw(
    sheet: "Sheet", titles: Sequence[str], lines: Sequence[Mapping[str, Line]], *, xlabel: str, **more: Any
) -> "Figure":
    return draw_lines(sheet, list(map(Panel, titles, lines)), xlabel=xlabel, **more)


# ---- Figures 1, 3, 4: regret over time ----


def _regret_over_time(evidence: Evidence) -> Iterator[Drawing]:
    figures_by_title = {
        "Figure 1: AC-MAB, K = 10": ["table2/K=10/N=10000", "table2/K=10/N=100000"],
        "Figure 3: SC-MAB, K = 5, sigma = 0.0001": ["table3/K=5/N=10000", "table3/K=5/N=100000"],
        "Figure 4: SC-MAB, K = 10, sigma = 0.001": ["table4/K=10/N=10000"],
    }
    for title, names in figures_by_title.items():
        if there := _has(evidence, names):
            caption = "Mean dynamic pseudo-regret so far, with 95% bands. SW-UCB is drawn correct and as printed."
            yield Drawing(title, caption, partial(_draw_curves, evidence=evidence, names=there))


def _draw_curves(sheet: "Sheet", *, evidence: Evidence, names: Sequence[str]) -> "Figure":
    studies = [evidence.studies[name] for name in names]
    lines = []
    for study in studies:
        curves = {name: evidence.results.curves(study.cells_of("world", name)) for name in ALGORITHMS}
        lines.append({name: (rounds, *band(values)) for name, (rounds, values) in curves.items()})
    titles = [f"Regret, N = {study.horizon:,}" for study in studies]
    return _draw(sheet, titles, lines, xlabel="rounds")


# ---- Figure 2: how the means move ----


def _waves(evidence: Evidence) -> Iterator[Drawing]:
    if any(name.startswith("table3") for name in evidence.studies):
        caption = "Expected reward of every arm; the wave is deterministic."
        yield Drawing("Figure 2: SC-MAB, sigma = 0.0001", caption, _draw_waves)


def _draw_waves(sheet: "Sheet") -> "Figure":
    titles, lines = [], []
    for horizon, n_arms in ((10_000, 5), (100_000, 10)):
        tape, _ = SCMAB(n_arms=n_arms, sigma=1e-4).draw(horizon, seed=0)
        rounds = np.linspace(0, horizon - 1, 400).astype(np.int64)
        nothing = np.full(len(rounds), np.nan)
        lines.append({f"a{k + 1}": (rounds, tape.levels.table[rounds, k], nothing) for k in range(n_arms)})
        titles.append(f"Expected reward, N = {horizon:,}, K = {n_arms}")
    return _draw(sheet, titles, lines, xlabel="rounds")


# ---- Figure 5: the speed of the drift ----


def _speeds(evidence: Evidence) -> Iterator[Drawing]:
    arms = [k for k in FIGURE_5_ARMS if all(f"figure5/K={k}/sigma={s:g}" in evidence.studies for s in SIGMAS)]
    if arms:
        caption = "Regret after 10,000 rounds against the speed sigma, window sigma^(-4/5), with 95% bands."
        draw = partial(_draw_speeds, evidence=evidence, arms=arms)
        yield Drawing("Figure 5: SC-MAB as sigma varies", caption, draw)


def _draw_speeds(sheet: "Sheet", *, evidence: Evidence, arms: Sequence[int]) -> "Figure":
    lines = []
    for k in arms:
        names = [f"figure5/K={k}/sigma={sigma:g}" for sigma in SIGMAS]
        estimates = {algorithm: [evidence.regret(name, algorithm) for name in names] for algorithm in ALGORITHMS}
        lines.append(
            {
                algorithm: (np.array(SIGMAS), np.array([e.mean for e in row]), np.array([e.ci95 for e in row]))
                for algorithm, row in estimates.items()
            }
        )
    return _draw(sheet, [f"Regret, K = {k}" for k in arms], lines, xlabel="sigma")


# ---- Figures 6 to 11: how much the window matters ----


def _sweeps(evidence: Evidence) -> Iterator[Drawing]:
    for symbol, setting, first in (("alpha", "AC-MAB", 6), ("beta", "SC-MAB", 9)):
        names = [name for name in evidence.studies if name.startswith(f"{symbol}/")]
        horizons = sorted({evidence.studies[name].horizon for name in names})
        if not horizons or len(names) < len(ARMS) * len(horizons):
            continue
        arguments: dict[str, Any] = {"evidence": evidence, "symbol": symbol, "horizons": horizons}
        if len(horizons) > 1:
            caption = (
                f"The best {symbol}, and the values at which regret is 50%, 100% and 200% above the best; "
                f"0 is what the paper prescribes."
            )
            yield Drawing(f"Figure {first}: {setting}", caption, partial(_draw_best, **arguments))
        caption = f"Regret a round against {symbol}; the window is N^((1 - {symbol})/2)."
        if len(horizons) == 1:
            caption += f" Figure {first}, the best {symbol} against N, needs the lengths of --scale full."
        yield Drawing(f"Figure {first + 1}: {setting}, by K", caption, partial(_draw_by_arms, **arguments))
        yield Drawing(f"Figure {first + 2}: {setting}, by N", caption, partial(_draw_by_horizon, **arguments))


def _per_round(evidence: Evidence, symbol: str, k: int, horizon: int) -> tuple[Floats, Floats, Floats]:
    values, regrets = sweep(evidence, f"{symbol}/K={k}/N={horizon}")
    return values, regrets / horizon, np.full(len(values), np.nan)


def _draw_by_arms(sheet: "Sheet", *, evidence: Evidence, symbol: str, horizons: Sequence[int]) -> "Figure":
    lines = [{f"N={n:,}": _per_round(evidence, symbol, k, n) for n in horizons} for k in ARMS]
    return _draw(sheet, [f"Regret a round, K = {k}" for k in ARMS], lines, xlabel=symbol)


def _draw_by_horizon(sheet: "Sheet", *, evidence: Evidence, symbol: str, horizons: Sequence[int]) -> "Figure":
    sizes = [n for n in horizons if n in (10_000, 100_000, 500_000, 1_000_000)]
    lines = [{f"K={k}": _per_round(evidence, symbol, k, n) for k in ARMS} for n in sizes]
    return _draw(sheet, [f"Regret a round, N = {n:,}" for n in sizes], lines, xlabel=symbol)


def _draw_best(sheet: "Sheet", *, evidence: Evidence, symbol: str, horizons: Sequence[int]) -> "Figure":
    lines = []
    for k in ARMS:
        rows: dict[str, list[float]] = {"best": [], "prescribed": []}
        for horizon in horizons:
            values, regrets = sweep(evidence, f"{symbol}/K={k}/N={horizon}")
            best = int(regrets.argmin())
            rows["best"].append(float(values[best]))
            rows["prescribed"].append(0.0)
            for more in INCREASES:
                level = (1.0 + more) * regrets[best]
                rows.setdefault(f"+{more:.0%} above", []).append(_crossing(values[best:], regrets[best:], level))
                below = _crossing(values[best::-1], regrets[best::-1], level)
                rows.setdefault(f"+{more:.0%} below", []).append(below)
        nothing = np.full(len(horizons), np.nan)
        lines.append({name: (np.array(horizons, float), np.array(row), nothing) for name, row in rows.items()})
    return _draw(sheet, [f"Best {symbol}, K = {k}" for k in ARMS], lines, xlabel="N", limits=(-1.0, 1.0))


def _crossing(values: Floats, regrets: Floats, level: float) -> float:
    """Where regret first rises above `level`, walking away from the best; nan when the grid ends before."""
    above = np.flatnonzero(regrets > level)
    if not len(above):
        return float("nan")
    i = above[0]
    share = (level - regrets[i - 1]) / (regrets[i] - regrets[i - 1])
    return float(values[i - 1] + share * (values[i] - values[i - 1]))
