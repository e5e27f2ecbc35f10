"""`play` against the same algorithm written by hand in C, on the same tape with the same random numbers.

The twins must first agree bit for bit: a ratio between different computations means nothing.
"""

import shutil
import statistics
import time
from typing import Any

import numpy as np

from benchmarks.sizes import Sizes
from benchmarks.stopwatch import RNG, timed_play
from benchmarks.table import Row, not_measured, row
from benchmarks.twin import twin
from driftwise.core.types import Problem, new_trace
from driftwise.families import Abrupt, Rotating, SlidingLinUCB, SlidingThompson, SlidingUCB

ARMED = Abrupt(n_arms=10)
LINEAR = Rotating(dim=5, n_actions=40)
MATCHES: dict[str, tuple[Any, Any]] = {
    "sliding-ucb": (SlidingUCB(window=1000), ARMED),
    "sliding-thompson": (SlidingThompson(window=1000), ARMED),
    "sliding-lin-ucb": (SlidingLinUCB(window=1000), LINEAR),
}


class TwinsDisagree(Exception):
    """The compiled loop and the C twin made different choices."""


def rows(sizes: Sizes) -> list[Row]:
    """One row per twin."""
    if shutil.which("gcc") is None:
        return [not_measured(_name(name), "gcc is not installed", target=f"C: {name}") for name in MATCHES]
    rounds: dict[Any, int] = {ARMED: sizes.twin_rounds, LINEAR: sizes.linear_twin_rounds}
    library = twin.build()
    tapes = {world: world.draw(count, 1)[0] for world, count in rounds.items()}
    return [
        _row(name, library, policy, world.problem(), tapes[world], sizes.twin_repeats)
        for name, (policy, world) in MATCHES.items()
    ]


def _name(name: str) -> str:
    return f"{name}, time / C twin's"


def _row(name: str, library: Any, policy: Any, problem: Problem, tape: Any, repeats: int) -> Row:
    rounds = len(tape.noise)
    ours, theirs = [], []
    for repeat in range(repeats + 1):
        trace, other = new_trace(0, rounds), new_trace(0, rounds)  # pages touched before the clock starts
        mine = timed_play(policy, policy.init(problem), tape, trace)
        start = time.thread_time()
        twin.play(library, policy, tape, RNG, other, problem)
        its = time.thread_time() - start
        if repeat == 0:
            _compare(name, trace, other)
        else:
            ours.append(mine)
            theirs.append(its)
    return row(
        _name(name),
        unit="ns/round",
        ours=statistics.median(ours) / rounds * 1e9,
        theirs=statistics.median(theirs) / rounds * 1e9,
        ratio=statistics.median(mine / its for mine, its in zip(ours, theirs, strict=True)),
        target=f"C: {name}",
        note="same choices bit for bit" + (", 40 rows of 5 features" if problem.dim else ""),
    )


def _compare(name: str, trace: Any, other: Any) -> None:
    unlike = np.flatnonzero((trace.actions != other.actions) | (trace.rewards != other.rewards))
    if len(unlike):
        raise TwinsDisagree(f"{name} and its C twin part at round {unlike[0]}, and in {len(unlike)} rounds altogether")
