"""Salvage a malformed SQLite file: every row that can still be read goes to a new file, which takes its place.

Rows are read one by one, so that a damaged page costs its own rows only. What is missing then is what `repair` mends:
events are lost, or restored from a backup. The malformed file stays beside the store.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from driftwise.errors import ParameterError
from driftwise.service.store.schema import EVENT, FORMAT, SQLITE, create_tables
from driftwise.service.store.store_file import StoreFile

COLUMNS = {
    "events": f"seq, {EVENT}, link",
    "answers": "key, fingerprint, at, status, body, digest",
    "snapshots": "stream, number, body, digest",
    "origins": "stream, number, first, before, link, body, digest",
    "heads": "stream, number, link, digest",
    "quarantine": f"{EVENT}, link",
}
MAX_MISSES = 100_000  # row ids that are tried beyond the last that was found
DAMAGE = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)


def salvage(path: Path) -> tuple[int, Path]:
    """Replace a malformed store by what can be read of it; returns how many rows, and where the malformed file is."""
    damaged, new = path.with_name(f"{path.name}.malformed"), path.with_name(f"{path.name}.salvaged")
    if damaged.exists():
        raise ParameterError(f"{damaged} exists: it is from an earlier repair; move it away first")
    new.unlink(missing_ok=True)
    lock = StoreFile(path)
    try:
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        count = _copy(source, new)
        source.close()
    except DAMAGE as error:
        new.unlink(missing_ok=True)
        raise ParameterError(f"{path} is damaged beyond repair ({error}): start with a backup") from None
    finally:
        lock.release()
    path.rename(damaged)
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    new.rename(path)
    return count, damaged


def _copy(source: Any, new: Path) -> int:
    """Copy what can be read, in one transaction."""
    target = apsw.Connection(str(new))
    new.chmod(0o600)
    target.execute("PRAGMA auto_vacuum = INCREMENTAL")
    target.execute("BEGIN")
    create_tables(lambda statement, values=(): target.execute(statement, values).fetchall(), SQLITE)
    count = 0
    for table, columns in COLUMNS.items():
        places = ",".join("?" * len(columns.split(",")))
        for row in _rows(source, table, columns):
            try:
                target.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})", row)
                count += 1
            except apsw.ConstraintError:
                continue  # a value of another type: the row is damaged
    target.execute(f"PRAGMA user_version = {FORMAT}")
    target.execute("COMMIT")
    target.close()
    return count


def _rows(source: Any, table: str, columns: str) -> Iterator[Sequence[Any]]:
    """The rows of a table; after damage those that can be found by their row ids."""
    last, key = 0, "key" if table == "answers" else "rowid"
    try:
        for row in source.execute(f"SELECT {columns}, {key} FROM {table} ORDER BY {key}"):
            yield row[:-1]
            last = row[-1]
        return
    except DAMAGE:
        if key != "rowid":
            return  # it has none: what follows cannot be found
    misses = 0
    while misses < MAX_MISSES:
        last += 1
        try:
            batch = source.execute(f"SELECT {columns} FROM {table} WHERE rowid = ?", (last,)).fetchall()
        except DAMAGE:
            batch = []
        misses = 0 if batch else misses + 1
        yield from batch
