"""What `diagnose` promises, measured: its level, its power, its time and its memory.

python benchmarks/diagnose.py level          200 logs without drift: how many are called drifting
python benchmarks/diagnose.py power          200 logs with a step of 0.1 at mid-log: found, dated within 5 %, covered
python benchmarks/diagnose.py limit          the same logs, dated by who knows the arm and both rates
python benchmarks/diagnose.py gradual        40 logs each with steps and slopes: how many are called gradual
python benchmarks/diagnose.py adaptive       the level on logs of policies that adapt: UCB, Thompson, greedy
python benchmarks/diagnose.py speed          a million rows: processor time
python benchmarks/diagnose.py memory         ten million rows of Parquet: time and the most memory
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from driftwise import Log
from driftwise.core.types import Floats, Ints

ROWS, ARMS, START, PAUSE = 10_000, 3, 1.788e9, 260.0
NAMES = ("A", "B", "C")
LOGS = 200
READ = """
import resource, sys, time
from driftwise import Log
found = Log.read(sys.argv[1]).diagnose()
used = resource.getrusage(resource.RUSAGE_SELF)
seconds = used.ru_utime + used.ru_stime
print(f"{found.rows:,} rows: {seconds:.1f} s processor time, {used.ru_maxrss / 1e6:.2f} GB, drifts {found.drifts}")
"""


def stepped(seed: int, *, base: float, step: float, every_arm: bool = False) -> Log:
    """Three arms chosen at random; one, or all, go up at mid-log."""
    random = np.random.default_rng(seed)
    actions = random.integers(0, ARMS, ROWS)
    moved = (np.arange(ROWS) >= ROWS // 2) & ((actions == 1) | every_arm)
    rewards = (random.random(ROWS) < base + step * moved).astype(float)
    return Log.from_arrays(actions, rewards, arms=NAMES, times=START + PAUSE * np.arange(ROWS))


def level() -> None:
    """At most 12 of 200."""
    for base in (0.05, 0.3):
        called = sum(stepped(seed, base=base, step=0.0).diagnose().drifts for seed in range(200))
        print(f"base {base}: {called} of 200 logs without drift called drifting")


def power() -> None:
    """Found, dated within 5 % of the log, and how often the 95 % interval of a change found alone has the date."""
    middle = ROWS // 2
    for base, every_arm in ((0.05, False), (0.3, False), (0.5, False), (0.3, True)):
        logs = [stepped(seed, base=base, step=0.1, every_arm=every_arm).diagnose() for seed in range(LOGS)]
        own = [[change for change in found.changes if change.arm == 1] for found in logs]
        near = [any(abs(change.row - middle) <= 0.05 * ROWS for change in each) for each in own]
        alone = [each[0] for each in own if len(each) == 1]
        covered = np.mean([change.low <= middle <= change.high for change in alone])
        where, slopes = "all arms" if every_arm else "one arm", sum(bool(found.gradual) for found in logs)
        print(
            f"base {base}, {where}: found {np.mean([*map(bool, own)]):.1%}, dated within 5 % {np.mean(near):.1%}, "
            f"interval has the date {covered:.1%}, called gradual {slopes} of {LOGS}"
        )


def limit() -> None:
    """What nobody can beat: the tenth of the log that most likely has the change, with all known but the date."""
    for base in (0.05, 0.3, 0.5):
        near = []
        for seed in range(LOGS):
            log = stepped(seed, base=base, step=0.1)
            rows = np.flatnonzero(log.actions == 1)
            won = log.rewards[rows] > 0.0
            ratios: Floats = np.array([np.log1p(-0.1 / (1.0 - base)), np.log1p(0.1 / base)])[won.astype(np.int64)]
            logs = ratios.sum() - np.cumsum(ratios)  # of a change after each reward
            shares = np.concatenate([[0.0], np.cumsum(np.exp(logs - logs.max()))])
            first, last = np.searchsorted(rows, rows - ROWS // 20), np.searchsorted(rows, rows + ROWS // 20, "right")
            mass = shares[last] - shares[first]
            near.append(abs(int(np.median(rows[mass >= mass.max() * (1 - 1e-12)])) - ROWS // 2) <= ROWS // 20)
        print(f"base {base}: dated within 5 % {np.mean(near):.1%} by who knows the arm and both rates")


def gradual() -> None:
    """Steps should be called sudden, slopes gradual."""
    paths: dict[str, Callable[[Floats], Any]] = {
        "step of 0.3": lambda x: 0.3 + 0.3 * (x > 0.437),
        "stairs, 0.2 and 0.2": lambda x: 0.2 + 0.2 * (x > 0.33) + 0.2 * (x > 0.66),
        "stairs, 0.1 and 0.1": lambda x: 0.2 + 0.1 * (x > 0.33) + 0.1 * (x > 0.66),
        "slope of 0.2 over all": lambda x: 0.2 + 0.2 * x,
        "slope of 0.4 over all": lambda x: 0.2 + 0.4 * x,
        "slope of 0.3 over a third": lambda x: 0.2 + 0.3 * np.clip(3.0 * x - 1.0, 0.0, 1.0),
        "sine of 0.2": lambda x: 0.4 + 0.2 * np.sin(2.0 * np.pi * x),
    }
    for name, path in paths.items():
        logs = []
        for seed in range(40):
            random = np.random.default_rng(seed)
            actions = random.integers(0, ARMS, ROWS)
            means = np.where(actions == 1, path(np.arange(ROWS) / ROWS), 0.3)
            rewards = (random.random(ROWS) < means).astype(float)
            times = START + PAUSE * np.arange(ROWS)
            logs.append(Log.from_arrays(actions, rewards, arms=NAMES, times=times).diagnose())
        share = np.mean([bool(found.gradual) for found in logs])
        sudden, slopes = sum(len(found.changes) for found in logs), sum(len(found.gradual) for found in logs)
        print(f"{name}: {share:.0%} of 40 logs have a gradual change; in all {sudden} sudden, {slopes} gradual")


def adaptive() -> None:
    """Logs without drift by policies that choose by what came before."""
    for policy in ("greedy", "ucb", "thompson"):
        called = sum(_adapting(policy, seed).diagnose().drifts for seed in range(100))
        print(f"{policy}: {called} of 100 logs without drift called drifting")


def _adapting(policy: str, seed: int, n: int = 2000) -> Log:
    random = np.random.default_rng(seed)
    counts, sums = np.ones(ARMS), np.full(ARMS, 0.5)
    actions: Ints = np.empty(n, np.int64)
    rewards: Floats = np.empty(n)
    for t in range(n):
        means = sums / counts
        index = {
            "greedy": means,
            "ucb": means + np.sqrt(0.5 * np.log(t + 1) / counts),
            "thompson": random.beta(sums + 1.0, np.maximum(counts - sums, 0.0) + 1.0),
        }[policy]
        actions[t] = arm = int(np.argmax(index + 1e-9 * random.random(ARMS)))
        rewards[t] = random.random() < 0.5
        counts[arm], sums[arm] = counts[arm] + 1.0, sums[arm] + rewards[t]
    return Log.from_arrays(actions, rewards, arms=NAMES, times=START + PAUSE * np.arange(n))


def speed() -> None:
    """Under 10 s of processor time, reading included; the second run finds everything compiled."""
    _in_process(1_000_000)


def memory() -> None:
    """Under 2 GB."""
    _in_process(10_000_000)


def _in_process(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        subprocess.run([sys.executable, __file__, "write", str(rows), str(path)], check=True)
        for _ in range(2 if rows <= 1_000_000 else 1):
            subprocess.run([sys.executable, "-c", READ, str(path)], check=True)


def write(rows: int, path: str) -> None:
    """A log of clicks with a daily season and a step, in a file of its own process."""
    import polars as pl

    random = np.random.default_rng(0)
    times = (np.linspace(1_788_000_000, 1_788_000_000 + 90 * 86400, rows) * 1e6).astype(np.int64)
    actions = random.integers(0, ARMS, rows)
    day = times / 86_400e6
    means = (
        0.05 + 0.01 * actions + 0.02 * np.sin(2 * np.pi * day) + 0.01 * ((actions == 1) & (np.arange(rows) > rows / 2))
    )
    frame = pl.DataFrame(
        {
            "time": pl.Series(times).cast(pl.Datetime("us", "UTC")),
            "action": np.array(NAMES)[actions],
            "reward": (random.random(rows) < means).astype(np.int64),
            "propensity": np.full(rows, 1 / 3),
        }
    )
    frame.write_parquet(path)


MODES = {each.__name__: each for each in (level, power, limit, gradual, adaptive, speed, memory)}

if __name__ == "__main__":
    start = time.process_time()
    if sys.argv[1] == "write":
        write(int(sys.argv[2]), sys.argv[3])
    else:
        MODES[sys.argv[1]]()
        print(f"{time.process_time() - start:.0f} s processor time")
