"""`play` against other libraries: the same rounds, as `peers/timing.py` makes them, after the same warm-up.

Ours is measured right before and right after each run of a peer; a ratio is of neighbours, so a machine that slows
down slows both. The cost of entering compiled code, ten microseconds a run, is ours and is counted.
"""

import itertools
import statistics
from typing import Any

import numpy as np

from benchmarks.peers.measure import ROUNDS, measure
from benchmarks.peers.timing import Options, Round, make_world
from benchmarks.sizes import Sizes
from benchmarks.stopwatch import timed_run
from benchmarks.table import Row, not_measured, row
from driftwise.core.types import Problem
from driftwise.policies import UCB1, SlidingThompson, SlidingUCB, Thompson
from driftwise.worlds.arms import BernoulliTape, Levels

ARMS, WINDOW = 10, 1000
POLICIES: dict[str, Any] = {
    "sliding-ucb": SlidingUCB(window=WINDOW),
    "sliding-thompson": SlidingThompson(window=WINDOW),
    "ucb1": UCB1(),
    "thompson": Thompson(),
}
PEERS = {
    "smpybandits": ("sliding-ucb", "ucb1", "thompson"),
    "river": ("sliding-ucb", "sliding-thompson", "ucb1", "thompson"),
    "pymab": ("sliding-ucb", "sliding-thompson", "ucb1", "thompson"),
}
SHORT_RUNS = 20


def rows(sizes: Sizes) -> list[Row]:
    """A row per peer and policy."""
    return [each for peer in PEERS for each in _peer(peer, sizes.peer_pairs)]


def skipped(why: str) -> list[Row]:
    """The rows that carry a target, unmeasured."""
    promised = [("smpybandits", "sliding-ucb"), ("river", "sliding-ucb"), ("river", "sliding-thompson")]
    return [not_measured(_name(peer, case), why, target=f"{peer}: {case}") for peer, case in promised]


def _name(peer: str, case: str) -> str:
    return f"{case}, speed / {peer}'s"


def _peer(peer: str, pairs: int) -> list[Row]:
    rounds, cases = ROUNDS[peer], PEERS[peer]
    tapes = as_tapes(*make_world(Options(rounds=rounds, arms=ARMS, window=WINDOW, seed=0)))
    ours = {case: [_ours(case, tapes)] for case in cases}
    theirs: dict[str, list[float]] = {case: [] for case in cases}
    for _ in range(pairs):
        document = measure(peer, rounds=rounds, arms=ARMS, window=WINDOW, cases=cases)
        for case in cases:
            theirs[case].append(document["cases"][case]["ns_per_round"])
            ours[case].append(_ours(case, tapes))
    remarks = {case: f"{peer} {document['version']}: {document['cases'][case]['note']}" for case in cases}
    return [_row(peer, case, ours[case], theirs[case], remarks[case]) for case in cases]


def _row(peer: str, case: str, ours: list[float], theirs: list[float], remark: str) -> Row:
    beside = [(before + after) / 2 for before, after in itertools.pairwise(ours)]
    return row(
        _name(peer, case),
        unit="ns/round",
        ours=statistics.median(beside),
        theirs=statistics.median(theirs),
        ratio=statistics.median(its / mine for its, mine in zip(theirs, beside, strict=True)),
        target=f"{peer}: {case}",
        note="its window forced in by hand" if peer == "river" and case.startswith("sliding") else "",
        detail={"peer": remark},
    )


def _ours(case: str, tapes: list[BernoulliTape]) -> float:
    """Nanoseconds per timed round, the median of short runs; the first, which may compile, is left out."""
    problem = Problem(ARMS)
    seconds = [timed_run(POLICIES[case], problem, tapes)[1] for _ in range(SHORT_RUNS + 1)]
    return statistics.median(seconds[1:]) / len(tapes[1].noise) * 1e9


def as_tapes(warm_up: list[Round], timed: list[Round]) -> list[BernoulliTape]:
    """The rounds of the peers' world as two consecutive tapes."""
    tapes, start = [], 0
    for part in (warm_up, timed):
        table = sorted({means for _, means in part})
        places = {means: place for place, means in enumerate(table)}
        levels = Levels(np.array(table), np.array([places[means] for _, means in part], np.int32))
        tapes.append(BernoulliTape(start, levels, np.array([uniform for uniform, _ in part])))
        start += len(part)
    return tapes
