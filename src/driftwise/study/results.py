"""Results in one SQLite file that any tool opens. A cell is written whole or not at all.

cells   one row per run: what was played, with which parameters, seed and code tag, and what came out. Its `study`,
        `world` and `policy` are the labels of the study that played it
labels  one row per use: the labels that each study has for its cells, whether it played them or an earlier one did
curves  about 200 checkpoints per cell: cumulative regret, reward and optimal choices after t rounds (study/curves.py)

    rounds         rounds played before the world closed
    regret         what the comparator earned and this run did not; `benchmark` is all the comparator earned
    static_regret  the same against the best arm that never changes
    optimal_rate   share of rounds with the best choice; `recovery` rounds until it was found again after a change
    spent          with budgets: the largest share of one that was used
    steady_regret  with budgets: regret without the luck of rewards and costs
    violation      with constraints: by how much they were broken in all
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.core.words import Column
from driftwise.display.frames import frame_of_columns
from driftwise.display.svg import Plot
from driftwise.display.text import counted, plus_minus, text_table
from driftwise.errors import ParameterError
from driftwise.measure.summary import estimate
from driftwise.study import curves, schema
from driftwise.study.parameter_columns import PolicyFacts, parameter_columns
from driftwise.study.schema import OUTCOMES
from driftwise.study.study import Cell, Study
from driftwise.study.summary import StudySummary

NAMES = ("key", "study", "world", "policy", "run", "seed", "horizon", "facts", *OUTCOMES)
LABELS = ("study", "world", "policy")
EVERY_USE = "labels join cells using (key) order by labels.study, labels.world, labels.policy, run, key"


class Played(NamedTuple):
    """What came out of one cell: outcomes by name, those that do not apply left out, and the curve."""

    outcomes: Mapping[str, float | None]
    checkpoints: Ints
    curve: Floats


class Group(NamedTuple):
    """All runs of one policy in one world that are stored; a row has a run each."""

    study: str
    world: str
    policy: str
    rows: list[tuple[Any, ...]]

    @property
    def cells(self) -> list[Cell]:
        """The cells, as far as they are needed to find their curves."""
        return [Cell(row[3], self.world, self.policy, row[4], {}) for row in self.rows]

    @property
    def regrets(self) -> Floats:
        """The regret of each run."""
        return np.array([row[5] for row in self.rows], float)

    @property
    def optimal_rate(self) -> float:
        """The mean share of rounds with the best choice."""
        return float(np.mean([row[6] for row in self.rows]))


class Results:
    """A results file, safe to write from many threads. Without a path it is in memory."""

    def __init__(self, path: str | Path | None = None) -> None:
        try:
            self._connection = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=60.0)
            schema.prepare(self._connection)
        except (sqlite3.Error, ParameterError) as error:
            raise ParameterError(f"{path} cannot be used as a results file: {error}") from None
        self.path = path
        self._path = path or "results in memory"
        self._lock = threading.Lock()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The file for one caller at a time; what SQLite says against it becomes one sentence."""
        try:
            with self._lock, self._connection:
                yield self._connection
        except sqlite3.Error as error:
            raise ParameterError(f"{self._path} cannot be read or written: {error}") from None

    def has(self, keys: Iterable[str]) -> set[str]:
        """Which of these cells are there already."""
        requests = list(keys)
        with self._open() as connection:
            there = {key for (key,) in connection.execute("select key from cells")}
        return there.intersection(requests)

    def label(self, study: Study, cells: Iterable[Cell]) -> None:
        """Give cells that are there the labels of a study that uses them; nothing is written where they have them."""
        wanted = _label_rows(study, cells)
        query = "select study, world, policy, key from labels where study = ?"
        with self._open() as connection:
            there = set(connection.execute(query, (study.name,)))
            _write_labels(connection, [row for row in wanted if row not in there])

    def save(self, study: Study, cells: list[Cell], played: list[Played]) -> None:
        """Write cells with their curves, in one transaction."""
        heads = [
            (
                *(cell.key, study.name, cell.world, cell.policy, cell.run, study.seed, study.horizon),
                json.dumps(cell.facts),
                *(each.outcomes.get(name) for name in OUTCOMES),
            )
            for cell, each in zip(cells, played, strict=True)
        ]
        rows = [curves.row_of(cell.key, each.checkpoints, each.curve) for cell, each in zip(cells, played, strict=True)]
        with self._open() as connection:
            connection.executemany(f"insert or replace into cells ({', '.join(NAMES)}) values ({_marks(NAMES)})", heads)
            _write_labels(connection, _label_rows(study, cells))
            curves.write(connection, rows)

    def column(self, cells: Iterable[Cell], name: str) -> Floats:
        """One outcome of the given cells, in their order."""
        if name not in OUTCOMES:
            raise ParameterError(f"{name!r} is not an outcome: there are {', '.join(OUTCOMES)}")
        query = f"select {name} from cells where key = ?"
        with self._open() as connection:
            rows = [connection.execute(query, (cell.key,)).fetchone() for cell in cells]
        if any(row is None for row in rows):
            raise ParameterError(f"{rows.count(None)} of {len(rows)} cells are missing: run the study first")
        return np.array([np.nan if row[0] is None else row[0] for row in rows], float)

    def curves(self, cells: Iterable[Cell], name: str = "regret") -> tuple[Ints, Floats]:
        """Checkpoints, and one row of cumulative values per cell."""
        with self._open() as connection:
            found = [curves.read(connection, cell.key, name) for cell in cells]
        there = [each for each in found if each is not None and len(each[0])]
        if len(there) < len(found):
            n_missing = len(found) - len(there)
            raise ParameterError(f"{n_missing} of {len(found)} curves are missing: run the study first")
        shortest = min(len(t) for t, _ in there)
        return there[0][0][:shortest], np.array([values[:shortest] for _, values in there])

    def at(self, cells: Iterable[Cell], t: int, name: str = "regret") -> Floats:
        """The cumulative value of each cell after `t` rounds, which must be one of its checkpoints."""
        with self._open() as connection:
            found = [curves.read(connection, cell.key, name) for cell in cells]
        values = [value for each in found if each is not None for value in each[1][each[0] == t]]
        if len(values) < len(found):
            raise ParameterError(f"round {t} is not a checkpoint of every run: add it to the study's marks")
        return np.array(values, float)

    def values(self, cells: list[Cell], column: Column) -> Floats:
        """What every run has in a column of its family."""
        values = self.column(cells, column.outcome)
        return values / self.column(cells, column.of) if column.of else values

    def summary(self, study: Study) -> StudySummary:
        """A table of the study: mean regret with its interval, per world and policy."""
        return StudySummary(study, self)

    def frame(self, library: str = "pandas") -> Any:
        """Every run as a row of a `pandas`, `polars` or `arrow` frame: what was played, and what came out.

        A run that several studies use has a row in each, with the labels of that study and the same `key`.
        A parameter in which policies of one class differ, such as one that was swept, has a column of its own.
        """
        query = f"select {', '.join(map(_of_use, NAMES))} from {EVERY_USE}"
        with self._open() as connection:
            rows = [dict(zip(NAMES, row, strict=True)) for row in connection.execute(query)]
        facts = [PolicyFacts(row["study"], json.loads(row.pop("facts"))["policy"]) for row in rows]
        columns = {name: [row[name] for row in rows] for name in NAMES if name != "facts"}
        head = {name: columns[name] for name in ("key", "study", "world", "policy")}
        return frame_of_columns(head | parameter_columns(facts, reserved=columns) | columns, library)

    def plot(self, study: Study, world: str | None = None, outcome: str = "regret") -> Plot:
        """Cumulative regret (or `reward`, or `optimal` choices) over time, in one world; the first unless given."""
        from driftwise.study.display import course_plot

        return course_plot(study, self, world, outcome)

    def groups(self) -> "list[Group]":
        """Every policy in every world of every study, the least regret first."""
        with self._open() as connection:
            names = (*LABELS, "key", "run", "regret", "optimal_rate", "rounds")
            rows = connection.execute(f"select {', '.join(map(_of_use, names))} from {EVERY_USE}").fetchall()
        found = [Group(*names, [*cells]) for names, cells in groupby(rows, key=_names)]
        return sorted(found, key=lambda group: (group.study, group.world, group.regrets.mean()))

    def __repr__(self) -> str:
        groups = self.groups()
        head = f"Results({str(self._path)!r}), {len(groups)} policies in worlds"
        rows = [
            (
                each.study,
                each.world,
                each.policy,
                counted(len(each.rows), "run"),
                f"regret {plus_minus(*estimate(each.regrets))}",
            )
            for each in groups
        ]
        return f"{head}\n{text_table(rows, left=3)}" if rows else head

    def _repr_html_(self) -> str:
        from driftwise.study.display import results_html

        return results_html(self)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _names(row: tuple[Any, ...]) -> tuple[str, str, str]:
    study, world, policy, *_ = row
    return study, world, policy


def _of_use(column: str) -> str:
    """Labels are those of the study that uses a cell, the rest is the cell's."""
    return f"labels.{column}" if column in LABELS else f"cells.{column}"


def _label_rows(study: Study, cells: Iterable[Cell]) -> list[tuple[str, str, str, str]]:
    return [(study.name, cell.world, cell.policy, cell.key) for cell in cells]


def _write_labels(connection: sqlite3.Connection, rows: Sequence[tuple[str, ...]]) -> None:
    if rows:
        connection.executemany("insert or ignore into labels values (?, ?, ?, ?)", rows)


def _marks(columns: Sequence[object]) -> str:
    return ", ".join("?" * len(columns))
