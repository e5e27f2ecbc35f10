"""An `Agent` with forty arms and a context, one decide and one learn at a time, against libraries doing the same.

    python -m benchmarks.live_linear [PEER ...]      the table of this section
    python -m benchmarks.live_linear --ours N D      our side alone: N rounds with D features, as JSON

Every library keeps a regression per arm, but for Vowpal Wabbit, whose SquareCB takes gradient steps: cheaper, and
another algorithm, so its rows have no target. Each side runs in a process of its own. Rates are of processor time after
a warm-up; first use is the processor time of a process from its start to the first reward; memory is its peak. Our
first use is measured twice: with compiled code on disk, and with an empty cache.
"""

import functools
import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.peers import settings
from benchmarks.peers.measure import measure
from benchmarks.peers.timing import LinearRound, Options, make_linear_world, peak_bytes
from benchmarks.report import table_of
from benchmarks.sizes import FULL, Sizes
from benchmarks.table import Row, not_measured, row
from driftwise.agent import Agent
from driftwise.families import Contextual, LinUCB

ARMS, WARM_UP = 40, 100
ROOT = Path(__file__).resolve().parents[1]
FEATURES = (5, 20)

#: Rounds that a peer is timed for, and the case it plays.
PEERS = {
    "vowpalwabbit": (1000, "square-cb"),
    "pymab": (1000, "lin-ucb"),
    "river": (300, "lin-ucb"),
    "contextualbandits": (300, "lin-ucb"),
    "mabwiser": (100, "lin-ucb"),
    "bayesianbandits": (30, "lin-ucb"),
}
OUR_ROUNDS = 1000


def rows(sizes: Sizes, *, peers: bool, names: tuple[str, ...] = tuple(PEERS)) -> list[Row]:
    """Rates by number of features, then first use and memory with the fewest features."""
    found = [_alone(features) for features in FEATURES]
    for features in FEATURES:
        for peer in names if peers else ():
            found += _against(peer, features, sizes.peer_pairs, other_costs=features == FEATURES[0])
    return found


def _alone(features: int) -> Row:
    document = ours(OUR_ROUNDS, features)
    cost, target = document["us_per_round"], f"agent: {features} features"
    return row(f"agent lin-ucb, {ARMS} arms, {features} features", unit="us/round", ours=cost, target=target)


def _against(peer: str, features: int, pairs: int, *, other_costs: bool) -> list[Row]:
    rounds, case = PEERS[peer]
    label = f"agent lin-ucb, 40 arms, {features} features"
    mine, theirs = [ours(OUR_ROUNDS, features)], []
    for _ in range(pairs):
        try:
            document = measure(peer, rounds=rounds, arms=ARMS, window=WARM_UP, cases=(case,), features=features)
        except RuntimeError as why:  # it could not be installed or started; the others still run
            print(f"bench: {peer} left out: {why}", file=sys.stderr)
            return [not_measured(f"{label}, speed / {peer}'s {case}", f"{peer} does not run here")]
        theirs.append(document | {"us_per_round": document["cases"][case]["ns_per_round"] / 1000})
        mine.append(ours(OUR_ROUNDS, features))
    beside = [(before["us_per_round"] + after["us_per_round"]) / 2 for before, after in itertools.pairwise(mine)]
    costs = [document["us_per_round"] for document in theirs]
    target = "agent: linear" if case == "lin-ucb" else ""
    speed = row(
        f"{label}, speed / {peer}'s {case}",
        unit="us/round",
        ours=statistics.median(beside),
        theirs=statistics.median(costs),
        ratio=statistics.median(its / my for its, my in zip(costs, beside, strict=True)),
        target=target,
        note="gradient steps, another and cheaper algorithm" if not target else "",
        detail={"peer": theirs[-1]["cases"][case]["note"], "version": theirs[-1]["version"]},
    )
    return [speed, *(_other_costs(peer, mine[-1], theirs[-1]) if other_costs else [])]


def _other_costs(peer: str, mine: dict[str, float], theirs: dict[str, Any]) -> list[Row]:
    first, memory = theirs["first_use_seconds"], theirs["peak_bytes"] / 1e6
    cold = first_use_of_an_empty_cache()
    return [
        row(
            f"first use with features, {peer}'s / ours",
            unit="s, processor",
            ours=mine["first_use_seconds"],
            theirs=first,
            ratio=first / mine["first_use_seconds"],
            note=f"compiled code on disk; {cold:.1f} s where it is not",
        ),
        row(
            f"memory of a live process, {peer}'s / ours",
            unit="MB",
            ours=mine["peak_bytes"] / 1e6,
            theirs=memory,
            ratio=memory / (mine["peak_bytes"] / 1e6),
        ),
    ]


def ours(rounds: int, features: int, **environment: str) -> dict[str, float]:
    """Our side in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.live_linear", "--ours", str(rounds), str(features)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | threads | environment, capture_output=True, text=True, check=True
    )
    document: dict[str, float] = json.loads(done.stdout)
    return document


@functools.cache
def first_use_of_an_empty_cache() -> float:
    """Seconds of processor time, everything compiled."""
    with tempfile.TemporaryDirectory() as folder:
        return ours(1, FEATURES[0], DRIFTWISE_CACHE_DIR=folder)["first_use_seconds"]


def play_ours(rounds: int, features: int) -> dict[str, float]:
    """First use, then the cost of a round, then the peak memory."""
    options = Options(rounds=max(rounds, 4), arms=ARMS, window=WARM_UP, seed=0, features=features)
    warm_up, timed = make_linear_world(options, np.array)
    problem = Contextual(ARMS, context_dim=features, reward_range=None, noise=settings.LINEAR_NOISE)
    drawn = time.process_time()
    agent = Agent(LinUCB(ridge=settings.RIDGE), problem, seed=0)
    _live(agent, warm_up[:1])
    first_use = time.process_time() - drawn + STARTED
    _live(agent, warm_up[1:])
    gc.collect()
    start = time.process_time()
    _live(agent, timed)
    cost = (time.process_time() - start) / len(timed) * 1e6
    return {"us_per_round": cost, "first_use_seconds": first_use, "peak_bytes": peak_bytes()}


def _live(agent: Agent, rounds: list[LinearRound]) -> None:
    decide, learn = agent.decide, agent.learn
    for noise, means, context in rounds:
        decision = decide(context=context)
        learn(decision, means[decision.action] + noise)


def _main(words: list[str]) -> None:
    if words[:1] == ["--ours"]:
        print(json.dumps(play_ours(int(words[1]), int(words[2]))))
        return
    found = rows(FULL._replace(peer_pairs=1), peers=True, names=tuple(words) or tuple(PEERS))
    Console(width=None if sys.stdout.isatty() else 150).print(table_of("agent with features", found))


STARTED = time.process_time()  # imports are over: what they cost belongs to a first use

if __name__ == "__main__":
    _main(sys.argv[1:])
