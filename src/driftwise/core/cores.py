"""How many cores this process may use: fewer than the machine has under a CPU affinity or in a container."""

import os
from pathlib import Path

CONTAINER_LIMIT = Path("/sys/fs/cgroup/cpu.max")  # microseconds of processor time and of the period they are for


def available_cores() -> int:
    """The number of cores, at least 1; a share of a core in a container's limit counts as a whole one.

    >>> available_cores() >= 1
    True
    """
    by_affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(by_affinity, _container_limit() or by_affinity)


def _container_limit() -> int | None:
    try:
        quota, period = (int(word) for word in CONTAINER_LIMIT.read_text().split())
    except (OSError, ValueError):  # no container, or no limit: the quota is then the word max
        return None
    return max(1, -(-quota // period))
