"""Studies on a real Dask cluster: a scheduler and workers as processes of their own, on loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import dask
import pytest
from distributed import Worker

import driftwise as dw
from driftwise.core.protocols import Policy
from driftwise.errors import ParameterError
from driftwise.study import cluster as clusters
from driftwise.study.cluster import ClusterError, connect
from driftwise.study.run import Progress, missing
from driftwise.study.study import Cell

LOOPBACK = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")


def study(runs: int = 12, horizon: int = 2000) -> dw.Study:
    policies: dict[str, Policy] = {"ucb": dw.SlidingUCB(window=100), "uniform": dw.Uniform()}
    return dw.Study(name="c", worlds={"w": dw.worlds.Abrupt()}, policies=policies, horizon=horizon, runs=runs, seed=5)


@contextmanager
def process(program: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program of Dask; ended by its id."""
    command = [sys.executable, "-m", f"distributed.cli.{program}", *LOOPBACK, *options]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def worker(address: str, name: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return process("dask_worker", address, "--nthreads", "1", "--no-nanny", "--name", name)


@contextmanager
def scheduler(folder: Path) -> Iterator[str]:
    """A scheduler; its address."""
    file = folder / "scheduler.json"
    with process("dask_scheduler", "--port", "0", "--scheduler-file", str(file)) as running:
        while not file.exists() or not file.read_text(encoding="utf-8").strip():
            assert running.poll() is None, "the scheduler has ended"
            time.sleep(0.05)
        yield json.loads(file.read_text(encoding="utf-8"))["address"]


class Stop(Exception):
    """Raised by a driver that is interrupted."""


class Interrupt(Progress):
    """Ends the driver after so many rounds."""

    def __init__(self, rounds: int) -> None:
        self.left = rounds

    def played(self, rounds: int) -> None:
        self.left -= rounds
        if self.left <= 0:
            raise Stop


def same(ours: dw.Results, theirs: dw.Results, of: dw.Study) -> bool:
    names = ("regret", "reward", "optimal_rate")
    cells = list(of.cells())
    columns = all((ours.column(cells, name) == theirs.column(cells, name)).all() for name in names)
    return columns and bool((ours.curves(cells)[1] == theirs.curves(cells)[1]).all())


@pytest.mark.system
def test_a_killed_worker_costs_its_batch_and_an_interrupted_driver_resumes(tmp_path: Path) -> None:
    whole = study()
    alone = dw.run(whole, threads=1)
    with scheduler(tmp_path) as address, worker(address, "one") as victim, worker(address, "two"):
        results = dw.Results()
        with connect(address) as cluster, pytest.raises(Stop):
            cluster.client.wait_for_workers(2)
            dw.run(whole, results, cluster=cluster, progress=Interrupt(rounds=3 * 2000))
        left = sum(map(len, missing(whole, results)))
        assert 0 < left < 24, "a driver that is interrupted has stored what came back"

        seen: list[int] = []

        class Killer(Progress):
            def played(self, rounds: int) -> None:
                if not seen:
                    os.kill(victim.pid, signal.SIGKILL)
                seen.append(rounds)

        dw.run(whole, results, cluster=address, progress=Killer())
        assert sum(seen) == left * 2000, "every run that was missing came back once"
        assert same(results, alone, whole)


def simulated(*options: str) -> dict[str, object]:
    command = [sys.executable, "-m", "driftwise.cli", "simulate", "--world", "abrupt", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    (policy,) = document["policies"].values()  # type: ignore[attr-defined]
    return document | {"policies": {name: policy[name] for name in ("regret", "optimal_rate")}}


@pytest.mark.system
def test_processes_of_this_machine_give_the_same_results() -> None:
    options = ("--policy", "sliding-ucb:window=100", "--horizon", "500", "--runs", "4")
    assert simulated(*options, "--cluster", "local") == simulated(*options)


def settings_of(dask_worker: Worker) -> tuple[object, ...]:
    profile = dask.config.get("distributed.worker.profile.enabled")
    return profile, dask_worker.memory_manager.memory_limit, os.environ.get("MALLOC_TRIM_THRESHOLD_")


@pytest.mark.system
def test_a_process_of_this_machine_plays_without_the_measurements_of_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    before = dask.config.get("distributed")
    with clusters.local(1) as client:
        assert [*client.run(settings_of).values()] == [(False, None, None)]
    assert dask.config.get("distributed") == before


@pytest.mark.parametrize("n_jobs", [0, 1, 7, 200, 5000])
@pytest.mark.parametrize("threads", [1, 2, 64])
def test_batches_have_every_job_once_in_order_and_shrink(n_jobs: int, threads: int) -> None:
    jobs = [[Cell(str(run), "w", "p", run, {})] for run in range(n_jobs)]
    batches = list(clusters.batches_of(jobs, threads))
    assert [job for batch in batches for job in batch] == jobs
    sizes = [len(batch) for batch in batches]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-threads:] == [1] * min(threads, n_jobs), "the last batch of every thread is one job"
    assert sum(sizes[:1]) <= max(1, n_jobs / (8 * threads)), "a worker that dies costs a small part"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0.0.1:1"),
        ("nonsense://x", "no Dask scheduler answers at nonsense://x"),
    ],
)
def test_a_cluster_that_cannot_be_reached_is_one_sentence(
    address: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "TIMEOUT", 0.5)
    with pytest.raises(ClusterError, match=says):
        dw.run(study(), cluster=address)


@pytest.mark.system
def test_a_cluster_without_workers_or_with_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scheduler(tmp_path) as address:
        monkeypatch.setattr(clusters, "PATIENCE", 0.3)
        with pytest.raises(ClusterError, match="has no workers"):
            dw.run(study(), cluster=address)
        monkeypatch.undo()
        with worker(address, "one"):
            monkeypatch.setattr(dw, "__version__", "99")
            with pytest.raises(ClusterError, match=r"has driftwise .* and not 99: install the same version"):
                dw.run(study(), cluster=address)


def test_other_code_is_found_by_the_keys_of_cells() -> None:
    whole = study()
    job: list[Cell] = missing(whole, dw.Results())[0]
    assert [len(played) for _, played in clusters.play_batch(whole, [job])] == [2]
    ucb, uniform = job
    for label, other in (("ucb", [altered(ucb), uniform]), ("uniform", [ucb, altered(uniform)])):
        with pytest.raises(ClusterError, match=f"has other code for {label} or w"):
            clusters.play_batch(whole, [other])


def altered(cell: Cell) -> Cell:
    return cell._replace(key="0" * 24)


class Homemade(NamedTuple):
    """A policy that no worker can import."""

    def init(self, problem: object) -> object: ...


def test_what_workers_cannot_import_is_refused() -> None:
    Homemade.__module__ = "__main__"
    odd = study()
    object.__setattr__(odd, "policies", {"homemade": Homemade()})
    with pytest.raises(ParameterError, match="Homemade was written in this session, where workers cannot import it"):
        clusters._check_importable(odd)


def test_threads_and_a_cluster_do_not_go_together() -> None:
    with pytest.raises(ParameterError, match="threads=2 goes with this machine only"):
        dw.run(study(), threads=2, cluster=clusters.Cluster(None, "x"))
