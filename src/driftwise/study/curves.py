"""Curves in a results file: a row per cell, in which each column is a list of numbers in JSON.

A row per checkpoint took most of the time of a short run. The view `curves` still has one, for tools that read SQL:
key, t, regret, reward, optimal. Files of the first version, which had a table of that name, are converted when they are
opened.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec
import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.errors import ParameterError

COLUMNS = ("regret", "reward", "optimal")
SCHEMA = """
create table if not exists curve_columns (
    key text primary key references cells, t text, regret text, reward text, optimal text
) without rowid;
create view if not exists curves as
select c.key, j.value as t, json_extract(c.regret, '$[' || j.key || ']') as regret,
    json_extract(c.reward, '$[' || j.key || ']') as reward, json_extract(c.optimal, '$[' || j.key || ']') as optimal
from curve_columns c, json_each(c.t) j;
"""
_READ = msgspec.json.Decoder(list[float | None])

Row = tuple[str, ...]  # a key, and four lists in JSON


def prepare(connection: sqlite3.Connection) -> None:
    """Create what curves need, and convert those of the first version."""
    old = connection.execute("select 1 from sqlite_master where name = 'curves' and type = 'table'").fetchone()
    if old:
        connection.execute("alter table curves rename to old_curves")
    for statement in filter(str.strip, SCHEMA.split(";")):
        connection.execute(statement)
    if old:
        write(connection, _old_rows(connection))
        connection.execute("drop table old_curves")


def row_of(key: str, checkpoints: Ints, curve: Floats) -> Row:
    """What is stored of the curve of a cell: the checkpoints that it has reached."""
    reached = ~np.isnan(curve[:, 0])
    columns = checkpoints[reached].tolist(), *curve[reached].T.tolist()
    return key, *(msgspec.json.encode(each).decode() for each in columns)


def write(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Store rows; those of the same cells are replaced."""
    connection.executemany("insert or replace into curve_columns values (?, ?, ?, ?, ?)", rows)


def read(connection: sqlite3.Connection, key: str, name: str) -> tuple[Ints, Floats] | None:
    """The checkpoints of a cell and one of its columns; None where the cell is missing."""
    if name not in COLUMNS:
        raise ParameterError(f"{name!r} is not a curve: there are {', '.join(COLUMNS)}")
    row = connection.execute(f"select t, {name} from curve_columns where key = ?", (key,)).fetchone()
    if row is None:
        return None
    t, values = (np.array(_READ.decode(text), float) for text in row)
    return t.astype(np.int64), values


def _old_rows(connection: sqlite3.Connection) -> Iterator[Row]:
    points = connection.execute("select key, t, regret, reward, optimal from old_curves order by key, t").fetchall()
    for key, group in groupby(points, key=lambda point: point[0]):
        table = np.array([point[1:] for point in group], float)
        yield row_of(key, table[:, 0].astype(np.int64), table[:, 1:])
