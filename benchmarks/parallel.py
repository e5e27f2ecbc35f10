"""Two threads against one for a whole study, by the clock on the wall: both must get a core, or nothing is measured.

So a pair of runs counts only when the rest of the machine stood nearly still meanwhile, as Linux tells it. On a busy
machine pairs are played until there are enough or patience is over; without a single quiet one it stays undecided.
"""

import os
import statistics
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.sizes import Sizes
from benchmarks.table import Row, row
from driftwise.families import Abrupt, SlidingThompson, SlidingUCB
from driftwise.study.run import run
from driftwise.study.study import Study

QUIET = 0.05  # of one core, taken by others


class Pair(NamedTuple):
    """Seconds with one thread and with two, and the share of a core that others took meanwhile."""

    one: float
    two: float
    others: float


def rows(sizes: Sizes) -> list[Row]:
    """One row: the median ratio of neighbouring runs."""
    study = Study(
        name="threads",
        worlds={"abrupt": Abrupt(n_arms=10)},
        policies={"sliding-ucb": SlidingUCB(), "sliding-thompson": SlidingThompson()},
        horizon=sizes.study_rounds,
        runs=8,
    )
    run(study, threads=1)  # compiles
    pairs: list[Pair] = []
    quiet: list[Pair] = []
    deadline = time.perf_counter() + sizes.patience
    while len(quiet) < sizes.study_pairs and time.perf_counter() < deadline:
        pairs.append(_pair(study))
        quiet = [pair for pair in pairs if pair.others < QUIET]
    used = quiet or [min(pairs, key=lambda pair: pair.others)]
    measured = row(
        "study of 16 cells, one thread / two",
        unit="s, wall",
        ours=statistics.median(pair.two for pair in used),
        theirs=statistics.median(pair.one for pair in used),
        ratio=statistics.median(pair.one / pair.two for pair in used),
        target="threads",
        note=f"median of the {len(quiet)} quiet ones of {len(pairs)} pairs",
        detail={"pairs": [pair._asdict() for pair in pairs]},
    )
    if quiet:
        return [measured]
    least = f"others took {used[0].others:.0%} of a core in the quietest of {len(pairs)} pairs"
    return [measured._replace(met=None, note=f"undecided, the machine is busy: {least}")]


def _pair(study: Study) -> Pair:
    before, start = _others(), time.perf_counter()
    one, two = _seconds(study, 1), _seconds(study, 2)
    return Pair(one, two, max(0.0, _others() - before) / (time.perf_counter() - start))


def _seconds(study: Study, threads: int) -> float:
    start = time.perf_counter()
    run(study, threads=threads)
    return time.perf_counter() - start


def _others() -> float:
    """Processor seconds that everything but this process has used since the machine started; 0 where unknown."""
    source = Path("/proc/stat")
    if not source.exists():
        return 0.0
    user, nice, system, _idle, _waiting, *rest = map(int, source.read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK") - time.process_time()
