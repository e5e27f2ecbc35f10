"""How long driftwise lets one wait: its help by the clock on the wall, all else by processor time."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.sizes import Sizes
from benchmarks.table import Row, not_measured, row

SIMULATE = "simulate --world abrupt --policy sliding-ucb --horizon 1000 --runs 2"


FIRST = {
    "sliding-ucb": "multi-armed",
    "filter-bank-ucb": "multi-armed",  # `auto`, as are filter-bank-lin-ucb and adaptive-whittle
    "sliding-lin-ucb": "contextual",
    "filter-bank-lin-ucb": "contextual",
    "adaptive-whittle": "restless",
}
DECIDE = """
import sys, time
import numpy as np
from driftwise.agent.agent import Agent
from driftwise.families import FAMILIES, POLICIES
policy, family = POLICIES[sys.argv[1]](), FAMILIES[sys.argv[2]]
fixtures, rng = family.fixtures.of(policy), np.random.default_rng(0)
usage = next(iter(fixtures.usages.values()))
agent = Agent(policy, usage.problem)
agent.learn(agent.decide(**usage.request(rng, agent.arms)), **fixtures.outcome(rng, agent.arms))
print(time.process_time())
"""


def rows(sizes: Sizes) -> list[Row]:
    """Help, a small simulation whose kernels are compiled already, and first decisions with and without them."""
    first = [each for policy, family in FIRST.items() for each in _first_decisions(policy, family)]
    return [_row("help", "--help", sizes.repeats), _row("simulate", SIMULATE, sizes.repeats), *first]


def _first_decisions(policy: str, family: str) -> list[Row]:
    """One decision and its outcome in a fresh process, with nothing compiled, then with everything."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"DRIFTWISE_CACHE_DIR": folder, "DRIFTWISE_CACHE_PATH": ""}
        command = [sys.executable, "-c", DECIDE, policy, family]
        done = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
    cold, warm = (float(each.stdout) for each in done)
    name, unit = f"first decision of {policy}", "s, processor"
    return [
        row(name, unit=unit, ours=cold, target=f"first: {family}", note="nothing is compiled"),
        row(name, unit=unit, ours=warm, target="first: compiled ahead", note="compiled ahead"),
    ]


def _row(target: str, words: str, repeats: int) -> Row:
    name = f"driftwise {words.replace(' --policy', ' ...').split(' ...')[0]}"
    command = [*_driftwise(), *words.split()]
    first = subprocess.run(command, capture_output=True, text=True, check=False)  # compiles what is not cached
    if first.returncode:
        why = (first.stderr.strip() or "no message").splitlines()[-1]
        return not_measured(name, f"exit code {first.returncode}, {why}", target=target)
    runs = [_seconds(command) for _ in range(repeats)]
    wall, processor = (statistics.median(each) for each in zip(*runs, strict=True))
    if target != "help":
        return row(name, unit="s, processor", ours=processor, target=target, note="kernels cached on disk")
    loads = _imports(command, "numba")
    measured = row(name, unit="s, wall", ours=wall, target=target)
    if loads:
        return measured._replace(met=False, note="it imports numba, which it must not")
    return measured._replace(note="numba is not imported")


def _driftwise() -> list[str]:
    """The installed command as a script of this python, or the module when it is not installed."""
    script = Path(sys.executable).with_name("driftwise")
    return [sys.executable, str(script)] if script.exists() else [sys.executable, "-m", "driftwise.cli"]


def _seconds(command: list[str]) -> tuple[float, float]:
    """By the clock on the wall, and of the processor."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    wall, after = time.perf_counter() - start, os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def _imports(command: list[str], module: str) -> bool:
    """Whether python's own list of imports names the module."""
    told = subprocess.run([command[0], "-X", "importtime", *command[1:]], capture_output=True, text=True, check=True)
    return any(line.rpartition("|")[2].strip() == module for line in told.stderr.splitlines())
