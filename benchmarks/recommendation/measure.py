"""Measure the table that `driftwise recommend` reads: `python benchmarks/recommendation/measure.py`.

    --kind K        one kind of problem, repeatable; all of them if not given
    --again P       forget the rows of a policy and measure it anew, repeatable
    --out FILE      the table; default src/driftwise/evaluate/recommendations.csv

Only rows that the table lacks are played, and each is written at once: a stopped run goes on where it was, and a
candidate that a later version adds (`benchmarks/recommendation/grid.py`) is played alone. A candidate that this version
does not have, or that does not fit a world, is left out.

    loss            share of the attainable reward that was lost: regret / what the comparator earned; where points are
                    chosen under constraints, what these were overdrawn by counts like regret
    ci95            half width of its 95% interval
    propensities    known (told exactly), sampled (counted with Agent(propensity_samples=...)), none (always 1)
"""

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.recommendation.grid import KINDS, SEED, Match, matches, propensities_of
from driftwise import __version__
from driftwise.core.spec import parse
from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families import POLICIES, WORLDS
from driftwise.families.composite.worlds.delayed import Delayed
from driftwise.study.run import run
from driftwise.study.study import Study

TABLE = Path(__file__).resolve().parents[2] / "src" / "driftwise" / "evaluate" / "recommendations.csv"
COLUMNS = (
    *("kind", "drift", "delay", "horizon", "runs", "seed", "world", "policy"),
    *("propensities", "loss", "ci95", "version"),
)
KEY = COLUMNS[:8]
Row = dict[str, str]


def main(words: list[str] | None = None) -> None:
    """Play what is missing."""
    options = _options(words)
    table = [row for row in _read(options.out) if row["policy"] not in options.again]
    there = {tuple(row[name] for name in KEY) for row in table}
    kinds = options.kind or list(KINDS)
    plan = [match for late in (False, True) for kind in kinds for match in matches(kind, late=late)]
    for match in plan:
        before = time.process_time()
        for policy in match.policies:
            key = key_of(match, policy)
            if tuple(key.values()) not in there and (row := play(key)):
                table.append(row)
                _write(options.out, table)
        print(f"{time.process_time() - before:6.1f} s  {' '.join(map(str, match[:5]))}", flush=True)


def key_of(match: Match, policy: str) -> Row:
    """What a row is about."""
    length = match.length
    values = (match.kind, match.drift, match.delay, length.horizon, length.runs, SEED, match.world, policy)
    return dict(zip(KEY, map(str, values), strict=True))


def play(key: Row) -> Row | None:
    """The row of one candidate in one world; None where it cannot play there."""
    world = parse(key["world"], WORLDS, "world")
    if key["delay"] != "0":
        kind, _, rounds = key["delay"].partition(":")
        world = Delayed(world=world, delay=float(rounds), kind=kind)
    try:
        study = Study(
            name="recommendation",
            worlds={"world": world},
            policies={"policy": parse(key["policy"], POLICIES, "policy")},
            horizon=int(key["horizon"]),
            runs=int(key["runs"]),
            seed=int(key["seed"]),
        )
    except ParameterError as reason:
        print(f"left out: {key['policy']}: {str(reason)[:90]}", flush=True)
        return None
    losses = loss_of(study)
    ci95 = 1.96 * losses.std(ddof=1) / np.sqrt(len(losses))
    measured = (propensities_of(key["policy"]), f"{losses.mean():.6f}", f"{ci95:.6f}", __version__)
    return key | dict(zip(COLUMNS[len(KEY) :], measured, strict=True))


def loss_of(study: Study) -> Floats:
    """The share of the attainable reward that each run of the one policy in the one world lost."""
    results, cells = run(study, threads=1), list(study.cells())
    regret, reward = results.column(cells, "regret"), results.column(cells, "reward")
    overdrawn = np.nan_to_num(results.column(cells, "violation"))
    return np.asarray((regret + overdrawn) / (regret + reward))


def _read(path: Path) -> Iterator[Row]:
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            yield from csv.DictReader(file)


def _write(path: Path, table: list[Row]) -> None:
    beside = path.with_suffix(".part")  # a reader never sees half of it
    with beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(table, key=lambda row: tuple(row[name] for name in KEY)))
    beside.replace(path)


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the table that `driftwise recommend` reads.")
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    parser.add_argument("--again", action="append", default=[])
    parser.add_argument("--out", type=Path, default=TABLE)
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
