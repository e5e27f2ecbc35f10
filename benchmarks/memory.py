"""The peak memory of a long study: a process of its own plays it and reports.

Two worlds: one whose means are few, and the random walk, which has most to store: a row of means for every round.
"""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.sizes import Sizes
from benchmarks.table import Row, not_measured, row
from driftwise.families import WORLDS, SlidingUCB
from driftwise.study.run import run
from driftwise.study.study import Study

ROOT = Path(__file__).resolve().parents[1]


def rows(sizes: Sizes) -> list[Row]:
    """A row per world, in megabytes."""
    return [_row(world, sizes.memory_rounds) for world in ("abrupt", "random-walk")]


def _row(world: str, horizon: int) -> Row:
    name = f"peak memory, {world}, K=30, T={horizon / 1e6:g} million"
    command = [sys.executable, "-m", "benchmarks.memory", world, str(horizon)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return not_measured(name, done.stderr.strip().splitlines()[-1], target="memory")
    note = "sliding-ucb, two threads"
    return row(name, unit="MB", ours=float(done.stdout) / 1e6, target="memory", note=note)


def play_long(world: Any, horizon: int) -> None:
    """What is measured."""
    study = Study(name="memory", worlds={"it": world}, policies={"sw": SlidingUCB()}, horizon=horizon, runs=2)
    run(study, threads=2)


def peak_bytes() -> int:
    """The most memory this process ever had resident.

    Linux lets `ru_maxrss` start at the size of the process that started this one, so /proc is asked first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        marks = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if marks:
            return int(marks[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    play_long(WORLDS[sys.argv[1]](n_arms=30), int(sys.argv[2]))
    print(peak_bytes())
