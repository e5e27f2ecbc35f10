"""Whittle indices against markovianbandit-pkg, one call per arm on both sides, and many arms planned anew at once.

Both get the same dense random arms and one BLAS thread, and both test whether the arm is indexable. Ours is timed right
before and right after each run of theirs, by `whittle_index`, checks and all, and by the compiled kernel alone, as
policies call it.
"""

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.measure import ask
from benchmarks.sizes import Sizes
from benchmarks.table import Row, not_measured, row
from driftwise.core.types import Floats
from driftwise.families.restless.whittle.advantage_lines import RestlessArm
from driftwise.families.restless.whittle.api import whittle_index
from driftwise.families.restless.whittle.index import new_whittle_room, whittle_indices
from driftwise.families.restless.whittle.warm_start import new_whittle_memory

DISCOUNT = 0.99
ARMS = {10: 40, 100: 8, 500: 2}
PEER = "markovianbandit"
MANY, STATES, THREADS = 10_000, 10, 2
MOVED = 5


def rows(sizes: Sizes) -> list[Row]:
    """Speed and agreement by number of states; then what needs no peer."""
    arms = {size: random_arms(count, size) for size, count in ARMS.items()}
    ours: list[dict[int, tuple[float, float]]] = [_ours(arms)]
    theirs: list[dict[str, Any]] = []
    for _ in range(sizes.peer_pairs):
        theirs.append(_theirs(arms))
        ours.append(_ours(arms))
    measured = [_speed(size, ours, theirs) for size in ARMS]
    return [*measured, _agreement(arms, theirs[0]), *without_peers(sizes)]


def skipped(sizes: Sizes, why: str) -> list[Row]:
    """The rows of the peer unmeasured."""
    return [*(not_measured(_name(size), why, target=f"whittle: S={size}") for size in ARMS), *without_peers(sizes)]


def without_peers(sizes: Sizes) -> list[Row]:
    """Many arms at once, and what is remembered."""
    return [_replan(sizes), *(_again(size, sizes) for size in (100, 500))]


def random_arms(count: int, size: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Dense kernels with exponential weights and uniform rewards, as the peer draws them itself."""
    luck = np.random.default_rng([seed, size])
    transitions = luck.exponential(size=(2, count, size, size))
    transitions /= transitions.sum(axis=3, keepdims=True)
    return transitions[0], transitions[1], luck.random((count, size, 2))


def _name(size: int) -> str:
    return f"Whittle indices, S={size}, speed / {PEER}'s"


def _ours(arms: dict[int, tuple[Floats, Floats, Floats]]) -> dict[int, tuple[float, float]]:
    """Seconds per arm, by call and by kernel alone: medians over arms."""
    taken = {}
    for size, (passive, active, rewards) in arms.items():
        room, out, calls, transitions = new_whittle_room(size), np.zeros(size), [], []
        for told in zip(passive, active, rewards, strict=True):
            arm = RestlessArm(told[0], told[1], told[2][:, 0].copy(), told[2][:, 1].copy(), DISCOUNT)
            bare = whittle_indices.bind(room, arm, out)
            calls.append(_seconds(size, whittle_index, *told, DISCOUNT))
            transitions.append(_seconds(size, bare, room, arm, out))
        taken[size] = statistics.median(calls), statistics.median(transitions)
    return taken


def _seconds(size: int, work: Callable[..., object], *told: object) -> float:
    """Processor seconds of one of several calls, after one that may compile."""
    repeats = max(1, 2_000_000 // size**3)
    work(*told)
    start = time.thread_time()
    for _ in range(repeats):
        work(*told)
    return (time.thread_time() - start) / repeats


def _theirs(arms: dict[int, tuple[Floats, Floats, Floats]]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "arms.npz"
        parts = {f"{part}_{size}": array for size, three in arms.items() for part, array in enumerate(three)}
        np.savez(told, **parts)  # type: ignore[arg-type]
        return ask(PEER, str(told), str(DISCOUNT), *map(str, arms))


def _speed(size: int, ours: list[dict[int, tuple[float, float]]], theirs: list[dict[str, Any]]) -> Row:
    """The median ratio of neighbours: ours before and after against theirs between."""
    peer = [each["sizes"][str(size)]["seconds"] for each in theirs]
    near = [(before[size][0] + after[size][0]) / 2 for before, after in itertools.pairwise(ours)]
    bare = statistics.median(each[size][1] for each in ours)
    return row(
        _name(size),
        unit="us/arm",
        ours=statistics.median(near) * 1e6,
        theirs=statistics.median(peer) * 1e6,
        ratio=statistics.median(slow / fast for slow, fast in zip(peer, near, strict=True)),
        target=f"whittle: S={size}",
        note=f"checks included; the kernel alone {bare * 1e6:,.1f} us",
        detail={"ours": near, "theirs": peer, "kernel": bare},
    )


def _agreement(arms: dict[int, tuple[Floats, Floats, Floats]], theirs: dict[str, Any]) -> Row:
    apart = {
        size: float(np.abs(whittle_index(*told, DISCOUNT).values - theirs["sizes"][str(size)]["indices"]).max())
        for size, told in arms.items()
    }
    return row(
        f"Whittle indices, distance to {PEER}'s",
        unit="",
        ours=max(apart.values()),
        target="whittle: agreement",
        note=", ".join(f"S={size}: {value:.1e}" for size, value in apart.items()),
        detail={"version": theirs["version"]},
    )


def _replan(sizes: Sizes) -> Row:
    """By the wall: the two threads must both get a core."""
    arms, seconds = random_arms(MANY, STATES), []
    for _ in range(sizes.repeats + 1):
        start = time.perf_counter()
        whittle_index(*arms, DISCOUNT, threads=THREADS)
        seconds.append(time.perf_counter() - start)
    return row(
        f"{MANY:,} different arms with {STATES} states planned anew, {THREADS} threads",
        unit="s, wall",
        ours=statistics.median(seconds[1:]),
        target="whittle: replan",
        note="checks included, after the first compilation",
    )


def _again(size: int, sizes: Sizes) -> Row:
    """A few rows of both kernels go back and forth."""
    passive, active, rewards = (each[:1] for each in random_arms(1, size, seed=1))
    other = passive.copy(), active.copy()
    for transitions in other:
        transitions[0, :MOVED] = 0.9 * transitions[0, :MOVED] + 0.1 * transitions[0, :MOVED][:, ::-1]
    memory, turns = new_whittle_memory(1, size), [(passive, active), other]
    fresh: list[float] = []
    again: list[float] = []
    for turn in range(2 * sizes.repeats + 2):
        told = (*turns[turn % 2], rewards, DISCOUNT)
        for taken, kept in ((fresh, None), (again, memory)):
            start = time.thread_time()
            whittle_index(*told, memory=kept)
            taken.append(time.thread_time() - start)
    return row(
        f"Whittle indices, S={size}, {MOVED} rows moved, afresh / from memory",
        unit="us/arm",
        ours=statistics.median(again[2:]) * 1e6,
        theirs=statistics.median(fresh[2:]) * 1e6,
        ratio=statistics.median(slow / fast for slow, fast in zip(fresh[2:], again[2:], strict=True)),
    )
