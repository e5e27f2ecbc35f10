"""Studies on a Dask cluster: batches of jobs go out, results come back as batches end and are stored at once.

Workers compute nothing but what a job says, from streams with names, so the results are the same bits as on one thread.
A worker that dies costs the batch it was at; a driver that is stopped goes on from what is stored. Every batch carries
the keys of its cells, which depend on the code: a worker with other code finds other keys and refuses.

Needs the extra `cluster`. Dask sends pickles: use it on networks you trust, or with its TLS.
"""

import logging
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from threading import Event
from typing import NamedTuple

from driftwise.core.cores import available_cores
from driftwise.core.extras import needed_for
from driftwise.core.fingerprint import importable
from driftwise.errors import DriftwiseError, ParameterError
from driftwise.study.results import Played
from driftwise.study.run import Job, Progress, Save, play_job, warm
from driftwise.study.study import Study, inside

with needed_for("a cluster"):
    from dask import config
    from distributed import Client, Future, KilledWorker, LocalCluster, as_completed

LOCAL = "local"
TIMEOUT = 10.0  # seconds for a scheduler to answer
PATIENCE = 60.0  # seconds for the first worker to come
BATCHES = 8  # for each thread of the cluster, if all were as large as the first; each costs 10 ms
RETRIES = 3
LOCAL_WORKERS = {  # of workers on this machine; Dask's own take 5 % of two cores, and the last one up to 25 % of a run
    "distributed.worker.profile.enabled": False,  # or every stack is read a hundred times a second
    "distributed.admin.tick.interval": "1s",  # or every process wakes up fifty times a second
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,  # or the memory of a tape is returned at once
}
WARM: set[str] = set()  # in a worker: the code that is compiled


class ClusterError(DriftwiseError):
    """A cluster that cannot be reached, has no workers, or has other code."""


class Cluster(NamedTuple):
    """A connection to a scheduler."""

    client: Client
    address: str

    def play(self, study: Study, jobs: Sequence[Job], save: Save, progress: Progress) -> None:
        """Play all jobs, each saved as its batch comes back."""
        _check_importable(study)
        shared = self.client.scatter(study, broadcast=True)
        batches = batches_of(jobs, self._threads())
        futures = [self.client.submit(play_batch, shared, batch, pure=False, retries=RETRIES) for batch in batches]
        try:
            for future in as_completed(futures):
                for job, played in self._result(future):
                    save(job, played)
                    progress.played(study.horizon * len(job))
                future.release()
        finally:
            self.client.cancel([future for future in futures if not future.done()])

    def check_versions(self) -> None:
        """Refuse workers that would not compute the same bits."""
        ours = versions()
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
            theirs = self.client.run(versions)
        except TimeoutError:
            raise ClusterError(
                f"the cluster at {self.address} has no workers: start some, then run this again"
            ) from None
        except (ImportError, AttributeError) as error:
            raise ClusterError(f"the workers of {self.address} lack this driftwise: {_first_line(error)}") from None
        for worker, found in theirs.items():
            other = [f"{name} {found.get(name)} and not {ours[name]}" for name in ours if found.get(name) != ours[name]]
            if other:
                raise ClusterError(f"the worker {worker} has {', '.join(other)}: install the same version everywhere")

    def _threads(self) -> int:
        return max(1, sum(map(int, self.client.nthreads().values())))

    def _result(self, future: Future) -> list[tuple[Job, list[Played]]]:
        try:
            played: list[tuple[Job, list[Played]]] = future.result()
            return played
        except KilledWorker as error:
            what = f"workers of {self.address} ended again and again at one batch ({_first_line(error)})"
            raise ClusterError(f"{what}: the rest is stored") from None
        except ModuleNotFoundError as error:
            raise ClusterError(f"the workers of {self.address} have no module {error.name}: install it there") from None


def batches_of(jobs: Sequence[Job], threads: int) -> Iterator[list[Job]]:
    """All jobs in order, in batches that shrink to one: few messages for many jobs, and no worker is late at the end.

    >>> [len(batch) for batch in batches_of([[]] * 50, threads=1)]
    [6, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    first = 0
    while first < len(jobs):
        size = max(1, (len(jobs) - first) // (BATCHES * threads))
        yield list(jobs[first : first + size])
        first += size


def play_batch(study: Study, batch: list[Job]) -> list[tuple[Job, list[Played]]]:
    """What a worker does: compile what is new to it, and play."""
    _check_code(study, batch)
    fresh = {cell.facts["tag"] for job in batch for cell in job} - WARM
    if fresh:
        warm(study, Progress())  # so that no run's seconds hold a compilation
        WARM.update(fresh)
    return [(job, played) for job in batch if (played := play_job(study, job, Progress(), Event())) is not None]


def versions() -> dict[str, str]:
    """What the bits of a result depend on, besides the code of the cells."""
    packages = {name: version(name) for name in ("numba", "numpy", "scipy")}
    return {"Python": platform.python_version(), "driftwise": import_module("driftwise").__version__, **packages}


def _check_code(study: Study, batch: list[Job]) -> None:
    """The key of a cell depends on the code: a worker that finds another key has other code."""
    for cell in {(cell.world, cell.policy): cell for job in batch for cell in job}.values():
        if study.cell(cell.world, cell.policy, cell.run).key != cell.key:
            code = f"{cell.policy} or {cell.world}"
            raise ClusterError(f"the worker {platform.node()} has other code for {code}: update it")


def _check_importable(study: Study) -> None:
    for thing in (*study.worlds.values(), *study.policies.values()):
        for part in inside(thing):
            if not importable(type(part)):
                raise ParameterError(
                    f"{type(part).__name__} was written in this session, where workers cannot import it: "
                    "move it to a module that they have too"
                )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def connect(address: str) -> Iterator[Cluster]:
    """A cluster by the address of its scheduler (`tcp://host:8786`), or `local`: a process for each core here.

    It is refused where a worker has another version of Python, numba, NumPy or driftwise.
    """
    with _quiet(), local(available_cores()) if address == LOCAL else _remote(address) as client:
        cluster = Cluster(client, address)
        cluster.check_versions()
        yield cluster


@contextmanager
def local(n_workers: int) -> Iterator[Client]:
    """Processes of this machine, without the measurements for Dask's dashboard and without a limit on their memory."""
    options = {"threads_per_worker": 1, "memory_limit": 0, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with config.set(LOCAL_WORKERS), LocalCluster(n_workers=n_workers, **options) as workers, Client(workers) as client:
        yield client


@contextmanager
def _remote(address: str) -> Iterator[Client]:
    try:
        client = Client(address, timeout=TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address}: {_first_line(error)}") from None
    with client:
        yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Dask's own messages: what a user must know is said in one sentence."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.nanny", "tornado")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
