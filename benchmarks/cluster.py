"""Dask's workers against threads, by hand: python -m benchmarks.cluster.

Cells of about a second each, in turns: on two threads, on one worker, on two workers, and again. The clusters stay open
meanwhile. On a busy machine the wall says little, so that the ratios are of processor time too: what the workers spent
against what threads spent (the overhead), and what one worker spent against the busier one of two (the speed, if each
has a core). By default 24 cells in 3 turns: under four minutes on two free cores.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from driftwise.families import Abrupt, SlidingThompson
from driftwise.study.cluster import Cluster
from driftwise.study.results import Results
from driftwise.study.run import run
from driftwise.study.study import Study

if TYPE_CHECKING:
    from distributed import LocalCluster

TICK = os.sysconf("SC_CLK_TCK")


def processor_s(pid: int) -> float:
    """Seconds of processor time that a process has spent."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def timed(study: Study, local: "LocalCluster | None", cluster: Cluster | None) -> dict[str, float]:
    """Wall seconds, processor seconds of all, and of the busiest worker."""
    workers = [] if local is None else [worker.pid for worker in local.workers.values()]
    before, wall, own = {pid: processor_s(pid) for pid in workers}, time.perf_counter(), time.process_time()
    run(study, Results(), threads=2 if cluster is None else None, cluster=cluster)
    spent = [processor_s(pid) - before[pid] for pid in workers]
    own = time.process_time() - own
    wall = time.perf_counter() - wall
    return {"wall": wall, "processor": own + sum(spent), "busiest": max(spent, default=own)}


def main() -> None:
    """Print one JSON document."""
    from distributed import Client, LocalCluster

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cells", type=int, default=24)
    options.add_argument("--rounds", type=int, default=4_000_000)
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    policies = {"sliding-thompson": SlidingThompson(window=1000)}
    study = Study(name="cluster", worlds={"w": Abrupt()}, policies=policies, horizon=given.rounds, runs=given.cells)
    tiny = Study(name="tiny", worlds={"w": Abrupt()}, policies=policies, horizon=2000, runs=4)
    alone = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    run(tiny, threads=1)  # compiles
    with (
        LocalCluster(n_workers=1, **alone) as one,
        LocalCluster(n_workers=2, **alone) as two,
        Client(one) as client_of_one,
        Client(two) as client_of_two,
    ):
        places = {
            "two threads": (None, None),
            "one worker": (one, Cluster(client_of_one, "one")),
            "two workers": (two, Cluster(client_of_two, "two")),
        }
        for _, cluster in places.values():
            run(tiny, cluster=cluster)  # loads
        turns = [{name: timed(study, *place) for name, place in places.items()} for _ in range(given.turns)]
    total = {name: {what: sum(t[name][what] for t in turns) for what in turns[0][name]} for name in places}
    ratios = {
        "two workers against one, wall": total["one worker"]["wall"] / total["two workers"]["wall"],
        "two workers against one, processor": total["one worker"]["busiest"] / total["two workers"]["busiest"],
        "two workers against two threads, wall": total["two workers"]["wall"] / total["two threads"]["wall"],
        "two workers against two threads, processor": (
            total["two workers"]["processor"] / total["two threads"]["processor"]
        ),
    }
    facts = {"cells": given.cells, "rounds": given.rounds, "load": os.getloadavg()[0]}
    print(json.dumps(facts | {"ratios": ratios, "seconds": total, "turns": turns}, indent=1))


if __name__ == "__main__":
    main()
