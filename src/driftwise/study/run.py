"""Play the cells of a study that are missing; an interrupted study continues where it stopped.

One job is one world of one run: its tape is drawn block by block, and every policy still missing plays each block. The
streams are named (see `core/seeding.py`), so results are the same bits on one thread or many, on this machine or on a
cluster (`study/cluster.py`), alone or in company.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from driftwise.core.cores import available_cores
from driftwise.core.family import FAMILIES, trace_for
from driftwise.core.loop import play
from driftwise.core.protocols import Comparator, Policy, Tape, World
from driftwise.core.seeding import key
from driftwise.core.types import Record, Trace
from driftwise.core.validation import whole, without_text
from driftwise.errors import ArmError, ParameterError
from driftwise.measure.ledger import OPTIMAL, REGRET, REWARD, Ledger, enter, new_ledger
from driftwise.measure.recovery import recovery_times
from driftwise.study.progress import Progress as Progress
from driftwise.study.progress import displayed
from driftwise.study.results import Played, Results
from driftwise.study.study import Cell, Study, state_of, with_foresight

if TYPE_CHECKING:
    from driftwise.study.cluster import Cluster

Job = list[Cell]  # of one world and run
Save = Callable[[Job, list[Played]], None]


class Runner(NamedTuple):
    """One policy on its way through one world."""

    policy: Policy
    state: Record
    nature: object
    rng: np.uint64
    ledger: Ledger
    seconds: list[float]
    rounds: list[int]


class Pool(Protocol):
    """What plays jobs: the threads of this process, or a cluster."""

    def play(self, study: Study, jobs: Sequence[Job], save: Save, progress: Progress) -> None:
        """Play all jobs, each saved as it is done."""


def run(
    study: Study,
    results: Results | str | Path | None = None,
    *,
    threads: int | None = None,
    cluster: "Cluster | str | None" = None,
    progress: Progress | bool | None = None,
) -> Results:
    """Play what is missing and return the results.

    In a notebook or a terminal a bar says how far it is; `progress=False` is silent. A `Progress` of your own is called
    as runs are compiled and played.

    With `cluster`, the address of a Dask scheduler or `local`, its workers play; the results are the same.

    >>> from driftwise.families import SlidingUCB
    >>> from driftwise.families import Abrupt
    >>> policies = {"sw": SlidingUCB(window=50)}
    >>> study = Study(name="tiny", worlds={"abrupt": Abrupt()}, policies=policies, horizon=100, runs=2)
    >>> run(study).column(study.cells(), "rounds")
    array([100., 100.])
    """
    if isinstance(cluster, str):
        from driftwise.study.cluster import connect

        with connect(cluster) as connected:
            return run(study, results, threads=threads, cluster=connected, progress=progress)
    if cluster is not None and threads is not None:
        raise ParameterError(f"threads={threads} goes with this machine only: the workers of a cluster have their own")
    if not isinstance(study, Study):
        raise ParameterError(f"study={study!r} is not a Study: give Study(name=..., worlds=..., policies=..., ...)")
    results = results if isinstance(results, Results) else Results(results)
    pool: Pool = cluster or Threads(whole("threads", threads) if threads is not None else available_cores())
    jobs = missing(study, results)
    runs = sum(map(len, jobs))
    with displayed(progress) as display:
        display.started(runs, runs * study.horizon)
        if jobs:
            for sentence in study.cautions():
                display.cautioned(sentence)
            pool.play(study, jobs, partial(results.save, study), display)
    return results


class Threads(NamedTuple):
    """Threads of this process: kernels run without the interpreter's lock."""

    threads: int

    def play(self, study: Study, jobs: Sequence[Job], save: Save, progress: Progress) -> None:
        """Play all jobs, each saved as it is done."""
        stop = Event()
        warm(study, progress)  # so that no run's seconds hold a compilation
        with ThreadPoolExecutor(self.threads) as pool:
            futures = [pool.submit(_play_and_save, study, job, save, progress, stop) for job in jobs]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            except BaseException:  # Ctrl-C: let the jobs at work stop at their next block
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
            if any(future.done() and future.exception() for future in futures):
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
            for future in futures:
                if not future.cancelled():
                    future.result()


def _play_and_save(study: Study, job: Job, save: Save, progress: Progress, stop: Event) -> None:
    played = play_job(study, job, progress, stop)
    if played is not None:
        save(job, played)


def warm(study: Study, progress: Progress) -> None:
    """Compile what the study needs by playing one round of each pair; at once where the cache has it."""
    done, pairs = 0, len(study.worlds) * len(study.policies)
    progress.compiled(done, pairs)
    for label, world in study.worlds.items():
        tape = next(iter(world.tapes(study.horizon, 0, size=1)))
        problem = world.problem(study.horizon)
        for player in (study.player(label, each) for each in study.policies):
            policy = with_foresight(player, world, study.horizon, 0)
            state, trace = state_of(policy, world, study.horizon, 0), trace_for(problem, 0, 1)
            with _of(policy):
                play(without_text(policy), state, tape, world.nature(study.horizon), key(0), trace, 1)
            done += 1
            progress.compiled(done, pairs)


def missing(study: Study, results: Results) -> list[Job]:
    """The cells still to be played, grouped by world and run; those that are there get the labels of this study."""
    cells = list(study.cells())
    there = results.has(cell.key for cell in cells)
    results.label(study, [cell for cell in cells if cell.key in there])
    groups = defaultdict(list)
    for cell in cells:
        if cell.key not in there:
            groups[cell.world, cell.run].append(cell)
    return list(groups.values())


def play_job(study: Study, cells: Job, progress: Progress, stop: Event) -> list[Played] | None:
    """What came out of every cell of a job; None where it was stopped."""
    world, run_number, horizon = study.worlds[cells[0].world], cells[0].run, study.horizon
    world_seed = int(key(study.seed, run_number, "world"))
    comparator = FAMILIES[world.problem(horizon).family].comparator(world, horizon, world_seed)
    runners = [_runner(study, cell, world, world_seed) for cell in cells]
    block = min(horizon, world.block)
    buffer = trace_for(world.problem(horizon), 0, block)  # written over, block after block
    for tape in world.tapes(horizon, world_seed, block):
        rounds = min(block, horizon - tape.start)
        best = comparator.block(tape)
        for runner in runners:
            if stop.is_set():
                return None
            trace = Trace(tape.start, buffer.actions[:rounds], buffer.rewards[:rounds])
            _play_block(runner, tape, trace, horizon)
            enter(runner.ledger, best, trace, rounds)
            progress.played(rounds)
    changes = world.changes(horizon, world_seed)
    return [_played(runner, comparator, changes) for runner in runners]


@contextmanager
def _of(policy: Policy) -> Iterator[None]:
    """What a world refuses in this block is a choice of this policy."""
    try:
        yield
    except ArmError as error:
        raise ArmError(f"{policy}: {error}") from None


def _play_block(runner: Runner, tape: Tape, trace: Trace, horizon: int) -> None:
    """Play the rounds of a tape; those after a world has closed pay nothing."""
    before = time.perf_counter()
    with _of(runner.policy):
        played = play(runner.policy, runner.state, tape, runner.nature, runner.rng, trace, horizon)
    runner.seconds[0] += time.perf_counter() - before
    runner.rounds[0] += played
    trace.actions[played:] = -1
    trace.rewards[played:] = 0.0


def _runner(study: Study, cell: Cell, world: World, world_seed: int) -> Runner:
    policy = with_foresight(study.player(cell.world, cell.policy), world, study.horizon, world_seed)
    facts = sorted(cell.facts["policy"].items())
    return Runner(
        without_text(policy),
        state_of(policy, world, study.horizon, world_seed),
        world.nature(study.horizon),
        key(study.seed, cell.run, "policy", facts),
        new_ledger(study.horizon, study.marks),
        [0.0],
        [0],
    )


def _played(runner: Runner, comparator: Comparator, changes: list[int]) -> Played:
    totals, horizon = runner.ledger.totals, len(runner.ledger.good)
    times = recovery_times(runner.ledger.good, changes)
    outcomes = {
        "rounds": runner.rounds[0],
        "regret": float(totals[REGRET]),
        "reward": float(totals[REWARD]),
        "optimal_rate": float(totals[OPTIMAL]) / horizon,
        "recovery": float(times.mean()) if len(times) else None,
        "seconds": runner.seconds[0],
        **comparator.tell(runner.ledger, runner.nature),
    }
    return Played(outcomes, runner.ledger.rounds, runner.ledger.curve)
