"""Dask's workers against threads, by hand: python -m benchmarks.cluster.

200 cells of about a second each, on one thread, on one worker and on two, by the clock on the wall, so it needs a quiet
machine; how much of a core others took meanwhile is printed with it. Bounded: about six minutes on two free cores.
"""

import argparse
import json
import os
import time
from pathlib import Path

from driftwise.families import Abrupt, SlidingThompson
from driftwise.study.cluster import Cluster
from driftwise.study.results import Results
from driftwise.study.run import run
from driftwise.study.study import Study


def busy() -> float:
    """Seconds of processor time taken on this machine by anyone."""
    user, nice, system, *_ = map(int, Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def timed(study: Study, *, threads: int | None = None, cluster: Cluster | None = None) -> dict[str, float]:
    """Wall seconds, and processor seconds of the whole machine meanwhile."""
    wall, everyone = time.perf_counter(), busy()
    run(study, Results(), threads=threads, cluster=cluster)
    return {"wall": time.perf_counter() - wall, "processor": busy() - everyone}


def main() -> None:
    """Print one JSON document."""
    from distributed import Client, LocalCluster

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cells", type=int, default=200)
    options.add_argument("--rounds", type=int, default=4_000_000)
    given = options.parse_args()
    policies = {"sliding-thompson": SlidingThompson(window=1000)}
    study = Study(name="cluster", worlds={"w": Abrupt()}, policies=policies, horizon=given.rounds, runs=given.cells)
    tiny = Study(name="tiny", worlds={"w": Abrupt()}, policies=policies, horizon=2000, runs=4)
    run(tiny, threads=1)  # compiles
    found = {"one thread": timed(study, threads=1), "two threads": timed(study, threads=2)}
    for workers in (1, 2):
        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
            ) as local,
            Client(local) as client,
        ):
            cluster = Cluster(client, "local")
            run(tiny, cluster=cluster)  # loads
            found[f"{workers} worker{'s' * (workers > 1)}"] = timed(study, cluster=cluster)
    ratios = {
        "two workers against one": found["1 worker"]["wall"] / found["2 workers"]["wall"],
        "two workers against two threads, wall": found["2 workers"]["wall"] / found["two threads"]["wall"],
        "one worker against one thread, processor": found["1 worker"]["processor"] / found["one thread"]["processor"],
    }
    print(json.dumps({"cells": given.cells, "rounds": given.rounds, "seconds": found, "ratios": ratios}, indent=1))


if __name__ == "__main__":
    main()
