"""Dask's workers against threads, by hand: python -m benchmarks.cluster; about eight minutes on two free cores.

One study of 200 cells of a second each is played by two threads, by two workers and by one worker, each in a session of
its own, started as `--cluster local` starts it. A session tells three costs apart:

    fixed       once a session: start the workers, load what is compiled, and stop
    per cell    as many cells, but of a few rounds each: batches, messages and results
    play        the study itself; what it takes beyond threads is per cell, or grows with time

Each by the clock, and by the processor time of this process (driver and scheduler) and of the workers, which says more
where other programs run. All must give the same results. `--cells 24 --seconds 0.5` is a minute.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftwise.families import Abrupt, SlidingThompson
from driftwise.study.cluster import Cluster, local
from driftwise.study.results import Results
from driftwise.study.run import run
from driftwise.study.study import Study

TICK = os.sysconf("SC_CLK_TCK")
WORLDS, POLICIES = {"w": Abrupt()}, {"sliding-thompson": SlidingThompson(window=500)}
FEW = 1000  # rounds of a cell that takes no time
GOALS = {"speed": 1.7, "overhead": 0.05}


class Cost(NamedTuple):
    """Seconds by the clock, of processor time in all processes, and of it in the busiest worker (or all threads)."""

    wall: float
    processor: float
    busiest: float

    def plus(self, other: "Cost") -> "Cost":
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))


class Watch:
    """Costs from one moment to the next."""

    def __init__(self) -> None:
        self.wall, self.own, self.workers = time.perf_counter(), time.process_time(), dict[int, float]()

    def lap(self, pids: Sequence[int] = ()) -> Cost:
        """The cost since the last lap; a process that was not there then has cost nothing before."""
        spent = [processor_s(pid) - self.workers.get(pid, 0.0) for pid in pids]
        before = self.wall, self.own
        self.workers = {pid: processor_s(pid) for pid in pids}
        self.wall, self.own = time.perf_counter(), time.process_time()
        own = self.own - before[1]
        return Cost(self.wall - before[0], own + sum(spent), max(spent, default=own))


def processor_s(pid: int) -> float:
    """Seconds of processor time that a process has spent."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def study(cells: int, rounds: int) -> Study:
    return Study(name="cluster", worlds=WORLDS, policies=POLICIES, horizon=rounds, runs=cells)


class Session(NamedTuple):
    """What one pool of threads or workers cost, and the regrets that came out."""

    fixed: Cost
    cells: Cost
    play: Cost
    regrets: np.ndarray

    def plus(self, other: "Session") -> "Session":
        regrets = np.concatenate([self.regrets, other.regrets])
        return Session(self.fixed.plus(other.fixed), self.cells.plus(other.cells), self.play.plus(other.play), regrets)


def on_threads(cells: int, rounds: int) -> Session:
    """Two threads of this process."""
    run(study(2, FEW), threads=2)
    watch, long = Watch(), study(cells, rounds)
    run(study(cells, FEW), threads=2)
    short, results = watch.lap(), run(long, threads=2)
    return Session(Cost(0.0, 0.0, 0.0), short, watch.lap(), results.column(long.cells(), "regret"))


def on_workers(n_workers: int, cells: int, rounds: int) -> Session:
    """So many workers, from nothing."""
    watch, long = Watch(), study(cells, rounds)
    with local(n_workers) as client:
        cluster, pids = Cluster(client, "local"), sorted(client.run(os.getpid).values())
        cluster.check_versions()
        run(study(2 * n_workers, FEW), cluster=cluster)
        start = watch.lap(pids)
        run(study(cells, FEW), cluster=cluster)
        short, results = watch.lap(pids), run(long, Results(), cluster=cluster)
        play = watch.lap(pids)
    return Session(start.plus(watch.lap()), short, play, results.column(long.cells(), "regret"))


def rounds_of(seconds: float) -> int:
    """How many rounds take so long, by the processor time of a run."""
    trial = study(2, 200_000)
    run(study(1, FEW), threads=1)  # compiles
    before = time.process_time()
    run(trial, threads=1)
    return max(FEW, int(seconds * 2 * trial.horizon / (time.process_time() - before)))


def judge(threads: Session, one: Session, two: Session, cells: int, turns: int) -> dict[str, object]:
    """Ratios of costs: what was wanted, and whether it is so."""
    speed = {"wall": one.play.wall / two.play.wall, "processor": one.play.busiest / two.play.busiest}
    overhead = {
        "wall": two.play.wall / threads.play.wall - 1.0,
        "processor": two.play.processor / threads.play.processor - 1.0,
    }
    whole = {
        "wall": (two.fixed.wall + two.play.wall) / threads.play.wall - 1.0,
        "processor": (two.fixed.processor + two.play.processor) / threads.play.processor - 1.0,
    }
    by_cell = {
        "wall": (two.cells.wall - threads.cells.wall) / (cells * turns),
        "processor": (two.cells.processor - threads.cells.processor) / (cells * turns),
    }
    return {
        "two workers against one, times as fast": speed,
        "overhead of two workers against two threads, share": overhead,
        "the same with what is fixed, share": whole,
        "fixed, seconds": {"wall": two.fixed.wall / turns, "processor": two.fixed.processor / turns},
        "more for each cell, seconds": by_cell,
        "as fast as wanted": {by: value >= GOALS["speed"] for by, value in speed.items()},
        "as cheap as wanted": {by: value <= GOALS["overhead"] for by, value in overhead.items()},
    }


def main() -> None:
    """Print one JSON document."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cells", type=int, default=200)
    options.add_argument("--seconds", type=float, default=1.0, help="of each cell")
    options.add_argument("--turns", type=int, default=1, help="all of it so many times, where others disturb")
    chosen = options.parse_args()
    load, rounds = os.getloadavg()[0], rounds_of(chosen.seconds)
    size = chosen.cells, rounds
    turns = [(on_threads(*size), on_workers(2, *size), on_workers(1, *size)) for _ in range(chosen.turns)]
    threads, two, one = (reduce(Session.plus, sessions) for sessions in zip(*turns, strict=True))
    same = bool((threads.regrets == two.regrets).all() and (threads.regrets == one.regrets).all())
    facts = {**vars(chosen), "rounds": rounds, "same results": same, "load": [load, os.getloadavg()[0]]}
    names = ("fixed", "cells", "play")
    costs = {
        place: {name: getattr(session, name)._asdict() for name in names}
        for place, session in (("two threads", threads), ("one worker", one), ("two workers", two))
    }
    print(json.dumps(facts | judge(threads, one, two, chosen.cells, chosen.turns) | {"costs": costs}, indent=1))


if __name__ == "__main__":
    main()
