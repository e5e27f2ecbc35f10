"""The tables of a results file, and the conversion of files of earlier versions, when they are opened.

version 1 had a row per checkpoint in a table `curves`
version 2 had no `labels`: a cell had only those of the study that played it
"""

import sqlite3

from driftwise.errors import ParameterError
from driftwise.study import curves

VERSION = 3
CELLS = """
create table if not exists cells (
    key text primary key, study text, world text, policy text, run integer, seed integer, horizon integer, facts text
) without rowid
"""
LABELS = """
create table if not exists labels (
    study text, world text, policy text, key text references cells, primary key (study, world, policy, key)
) without rowid
"""
OUTCOMES = (
    *("rounds", "regret", "static_regret", "reward", "optimal_rate", "recovery", "seconds"),
    *("benchmark", "spent", "steady_regret", "violation"),
)


def prepare(connection: sqlite3.Connection) -> None:
    """Create what is missing, and convert a file of an earlier version, in one transaction."""
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > VERSION:
        raise ParameterError(f"it was written by a later driftwise: its version is {version}, this one reads {VERSION}")
    if version < VERSION:
        connection.execute("begin immediate")
        with connection:
            connection.execute(CELLS)
            connection.execute(LABELS)
            curves.prepare(connection)
            connection.execute("insert or ignore into labels select study, world, policy, key from cells")
            connection.execute(f"pragma user_version = {VERSION}")
    _add_outcomes(connection)


def _add_outcomes(connection: sqlite3.Connection) -> None:
    """A column for every outcome: earlier releases had fewer, under the same version."""
    there = {column[1] for column in connection.execute("pragma table_info(cells)")}
    for name in OUTCOMES:
        if name not in there:
            connection.execute(f"alter table cells add column {name} real")
