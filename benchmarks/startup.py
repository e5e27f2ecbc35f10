"""How long the command line lets one wait, by the clock on the wall."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.sizes import Sizes
from benchmarks.table import Row, not_measured, row

SIMULATE = "simulate --world abrupt --policy sliding-ucb --horizon 1000 --runs 2"


def rows(sizes: Sizes) -> list[Row]:
    """Help, and a small simulation whose kernels are compiled already."""
    return [_row("help", "--help", sizes.repeats), _row("simulate", SIMULATE, sizes.repeats)]


def _row(target: str, words: str, repeats: int) -> Row:
    name = f"driftwise {words.replace(' --policy', ' ...').split(' ...')[0]}"
    command = [*_driftwise(), *words.split()]
    first = subprocess.run(command, capture_output=True, text=True, check=False)  # compiles what is not cached
    if first.returncode:
        why = (first.stderr.strip() or "no message").splitlines()[-1]
        return not_measured(name, f"exit code {first.returncode}, {why}", target=target)
    seconds = [_seconds(command) for _ in range(repeats)]
    if target != "help":
        return row(name, unit="s, wall", ours=statistics.median(seconds), target=target, note="kernels cached on disk")
    loads = _imports(command, "numba")
    measured = row(name, unit="s, wall", ours=statistics.median(seconds), target=target)
    if loads:
        return measured._replace(met=False, note="it imports numba, which it must not")
    return measured._replace(note="numba is not imported")


def _driftwise() -> list[str]:
    """The installed command as a script of this python, or the module when it is not installed."""
    script = Path(sys.executable).with_name("driftwise")
    return [sys.executable, str(script)] if script.exists() else [sys.executable, "-m", "driftwise.cli"]


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


def _imports(command: list[str], module: str) -> bool:
    """Whether python's own list of imports names the module."""
    told = subprocess.run([command[0], "-X", "importtime", *command[1:]], capture_output=True, text=True, check=True)
    return any(line.rpartition("|")[2].strip() == module for line in told.stderr.splitlines())
