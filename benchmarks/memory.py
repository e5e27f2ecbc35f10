"""The peak memory of a long study: a process of its own plays it and reports.

The world is the random walk, the one with most to store: every round has a row of means of its own.
"""

import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.sizes import Sizes
from benchmarks.table import Row, row
from driftwise.policies import SlidingUCB
from driftwise.study.run import run
from driftwise.study.study import Study
from driftwise.worlds import RandomWalk

ROOT = Path(__file__).resolve().parents[1]


def rows(sizes: Sizes) -> list[Row]:
    """One row, in megabytes."""
    command = [sys.executable, "-m", "benchmarks.memory", str(sizes.memory_rounds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    megabytes = float(done.stdout) / 1e6
    name = f"peak memory: 30 arms, {sizes.memory_rounds:.0e} rounds".replace("e+0", "e")
    return [row(name, unit="MB", ours=megabytes, target="memory", note="sliding-ucb, random walk, two runs on two threads")]


def play_long(horizon: int) -> None:
    """What is measured."""
    world, policy = RandomWalk(n_arms=30), SlidingUCB()
    run(Study(name="memory", worlds={"walk": world}, policies={"sw": policy}, horizon=horizon, runs=2), threads=2)


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
    play_long(int(sys.argv[1]))
    print(peak_bytes())
