"""The experiments of sections 5 and 6 as studies: one per (table, K, N), and the sweeps over sigma, alpha and beta."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from driftwise.core.protocols import Policy, World
from driftwise.families import ACMAB, ASCMAB, REXP3, SCMAB, SER4, SlidingKLUCB, SlidingThompson, SlidingUCB, Thompson
from driftwise.papers.sliding_window_thompson.printed_ucb import PrintedUCB
from driftwise.study.study import Study

ARMS = (5, 10, 20, 30)
HORIZONS = {"quick": (10_000,), "full": (10_000, 100_000, 1_000_000)}
# The longer halves of Figures 1 and 3, which `quick` plays too, with fewer runs.
LONGER_PANELS = (("table2", 10), ("table3", 5))
SIGMAS = tuple(round(0.001 * step, 3) for step in range(1, 11))
FIGURE_5_ARMS = (5, 30)


class Table(NamedTuple):
    """One table: its world, how its window follows from N, the variation that REXP3 is given, and the runs per cell."""

    world: ACMAB | SCMAB | ASCMAB
    sigma: float
    runs: dict[str, int]

    def tau(self, horizon: int) -> int:
        """The sliding window."""
        if self.sigma == 0.0:
            return math.floor(4.0 * math.sqrt(horizon * math.log(horizon)))
        return round(self.sigma**-0.8) if self.sigma > 1e-4 else round(math.sqrt(horizon))

    def variation(self, horizon: int) -> float:
        """A bound on the variation, from the assumptions: three changes of at most one, or the speed times N."""
        return self.sigma * horizon or 3.0


SMOOTH_RUNS = {"quick": 100, "full": 100}
TABLES = {
    "table2": Table(ACMAB(), 0.0, {"quick": 300, "full": 1000}),
    "table3": Table(SCMAB(sigma=1e-4), 1e-4, SMOOTH_RUNS),
    "table4": Table(SCMAB(sigma=1e-3), 1e-3, SMOOTH_RUNS),
    "table5": Table(ASCMAB(sigma=1e-4, shift=2.0), 1e-4, SMOOTH_RUNS),
    "table6": Table(ASCMAB(sigma=1e-3, shift=2.0), 1e-3, SMOOTH_RUNS),
    "table5-literal": Table(ASCMAB(sigma=1e-4, shift=1.0), 1e-4, SMOOTH_RUNS),
    "table6-literal": Table(ASCMAB(sigma=1e-3, shift=1.0), 1e-3, SMOOTH_RUNS),
}
PANEL_RUNS = 40
ALGORITHMS = ("TS", "SER4", "REXP3", "SW-UCB", "SW-UCB-printed", "SW-KL-UCB", "SW-TS")
# Other readings of two algorithms whose parameters the paper leaves open.
RESETS, TRUE_VARIATION, AMPLITUDE = "SER4-resets", "REXP3-true", "REXP3-amplitude"
PRINTED_NAME = {"SW-UCB-printed": "SW-UCB", RESETS: "SER4", TRUE_VARIATION: "REXP3", AMPLITUDE: "REXP3"}

# The sweeps: tau = N^((1 - x)/2) for x on a grid; the paper's grid has step 0.05 and, for alpha, 1000 runs a point.
SWEEPS = {
    "alpha": Table(ACMAB(), 0.0, {"quick": 100, "full": 100}),
    "beta": Table(SCMAB(sigma=1e-4), 1e-4, {"quick": 20, "full": 100}),
}
SWEEP_HORIZONS: dict[str, dict[str, tuple[int, ...]]] = {
    "quick": {"alpha": (10_000,), "beta": (10_000,)},
    "full": {"alpha": (10_000, *(step * 100_000 for step in range(1, 11))), "beta": HORIZONS["full"]},
}
STEP = {"quick": 0.1, "full": 0.05}


def reported(horizon: int) -> int:
    """The checkpoint the printed numbers fit: one recording step before the end."""
    return horizon - (10_000 if horizon >= 1_000_000 else 1_000)


def grid(scale: str) -> tuple[float, ...]:
    """The values of alpha or beta, from -1 to 1."""
    count = round(1.0 / STEP[scale])
    return tuple(round(i * STEP[scale], 2) for i in range(-count, count + 1))


def label(x: float) -> str:
    """How a value of alpha or beta is called in a study."""
    return f"{x:+.2f}"


def horizons(table: str, n_arms: int, scale: str) -> tuple[int, ...]:
    """The horizons at which a table is played for so many arms."""
    if table.endswith("-literal"):
        return HORIZONS[scale][:1]
    longer = (100_000,) if scale == "quick" and (table, n_arms) in LONGER_PANELS else ()
    return HORIZONS[scale] + longer


def places(scale: str, *tables: str) -> Iterator[tuple[str, int, int]]:
    """Every (table, K, N) that is played at a scale."""
    for table in tables or TABLES:
        for n_arms in ARMS:
            for horizon in horizons(table, n_arms, scale):
                yield table, n_arms, horizon


def algorithms(table: Table, n_arms: int, horizon: int) -> dict[str, Policy]:
    """The six algorithms with the parameters of a table, and other readings of three of them."""
    tau, bound = table.tau(horizon), table.variation(horizon)
    if table.sigma:  # the wave's peak moves over (K - 1)/K of the range
        another: dict[str, Policy] = {AMPLITUDE: REXP3(variation=bound * (n_arms - 1) / n_arms)}
    else:
        another = {TRUE_VARIATION: REXP3(variation="true")}
    return {
        "TS": Thompson(),
        "SER4": SER4(reset=1.0 / horizon, scale=2.0),
        RESETS: SER4(reset=0.005, scale=math.sqrt(2.0)),
        "REXP3": REXP3(variation=bound),
        **another,
        "SW-UCB": SlidingUCB(window=tau, xi=0.6),
        "SW-UCB-printed": PrintedUCB(window=tau, xi=0.6),
        "SW-KL-UCB": SlidingKLUCB(window=tau),
        "SW-TS": SlidingThompson(window=tau),
    }


def studies(scale: str, runs: int | None = None) -> dict[str, Study]:
    """Every study of a scale by name; `runs` overrides the number of runs."""
    every = (*_tables(scale, runs), *_figure_5(scale, runs), *_sweeps(scale, runs))
    return {study.name: study for study in every}


def _tables(scale: str, runs: int | None) -> Iterator[Study]:
    for name, n_arms, horizon in places(scale):
        table = TABLES[name]
        usual = table.runs[scale] if horizon in HORIZONS[scale] else PANEL_RUNS
        yield Study(
            name=f"{name}/K={n_arms}/N={horizon}",
            worlds={"world": with_arms(table.world, n_arms)},
            policies=algorithms(table, n_arms, horizon),
            horizon=horizon,
            runs=runs or usual,
            marks=marks(horizon),
        )


def marks(horizon: int) -> tuple[int, ...]:
    """The checkpoints that claims read: the reported round, quarters, and what figures 1 and 3 are said to show."""
    early = (horizon // 400, horizon // 4, horizon // 2, 3 * horizon // 4)
    rounds = {10_000: (4_000,), 100_000: (60_000, 70_000)}
    return (*early, *rounds.get(horizon, ()), reported(horizon))


def _figure_5(scale: str, runs: int | None) -> Iterator[Study]:
    for n_arms in FIGURE_5_ARMS:
        for sigma in SIGMAS:
            table = Table(SCMAB(sigma=sigma), sigma, {"quick": 40, "full": 100})
            every = algorithms(table, n_arms, 10_000)
            yield Study(
                name=f"figure5/K={n_arms}/sigma={sigma:g}",
                worlds={"world": with_arms(table.world, n_arms)},
                policies={name: every[name] for name in ALGORITHMS},
                horizon=10_000,
                runs=runs or table.runs[scale],
            )


def _sweeps(scale: str, runs: int | None) -> Iterator[Study]:
    for name, table in SWEEPS.items():
        for n_arms in ARMS:
            for horizon in SWEEP_HORIZONS[scale][name]:
                yield Study(
                    name=f"{name}/K={n_arms}/N={horizon}",
                    worlds={"world": with_arms(table.world, n_arms)},
                    policies={label(x): SlidingThompson(window=window(x, horizon)) for x in grid(scale)},
                    horizon=horizon,
                    runs=runs or table.runs[scale],
                )


def window(x: float, horizon: int) -> int:
    """Tau = N^((1 - x)/2), within 1 and N."""
    return min(horizon, max(1, round(math.pow(horizon, (1.0 - x) / 2.0))))


def with_arms(world: ACMAB | SCMAB | ASCMAB, n_arms: int) -> World:
    """The same world with so many arms."""
    return replace(world, n_arms=n_arms)
