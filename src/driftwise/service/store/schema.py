"""The tables of a store, the version of their format, and migrations from earlier ones.

    events      stream, number, at, kind, body, ref, link      a row per event; the outcome of a decision refers to it
    answers     key, fingerprint, at, status, body, digest     a row per request with an idempotency key
    snapshots   stream, number, body, digest                   a few per stream
    origins     stream, number, first, before, link, body, digest   where replays of a stream begin, if not at event 0
    heads       stream, number, link, digest                   the last event of a stream when it was last saved
    quarantine  stream, number, at, kind, body, ref, link      damaged events that a repair has set aside
    members     id, address, secret, ready, expires_at         processes that serve the store (PostgreSQL only)
    slots       slot, member                                   which of them owns which streams

Each migration goes from one version to the next. They are written once, in the words that both databases understand;
`Dialect` has the types.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from driftwise.errors import ParameterError
from driftwise.service.store import chain
from driftwise.service.store.journal import Answer, Event, Snapshot

FORMAT = 3
MigrationMode = Literal["rehearse", "commit"]
PAGE = 1000  # rows that a migration reads at a time
EVENT = "stream, number, at, kind, body, ref"


class Dialect(NamedTuple):
    """The types of a database."""

    integer: str
    text: str
    blob: str
    event_key: str  # how an event is identified: a column of its own, or the primary key of the table
    strict: str  # what ends a table
    keyed: str  # what ends a table that is looked up by its key alone


SQLITE = Dialect("INTEGER", "TEXT", "BLOB", "seq INTEGER PRIMARY KEY", ") STRICT", ") STRICT, WITHOUT ROWID")
POSTGRES = Dialect("bigint", "text", "bytea", "PRIMARY KEY (stream, number)", ")", ")")


class Run(Protocol):
    """Run a statement with `?` for values, and return all rows."""

    def __call__(self, statement: str, values: Sequence[Any] = ()) -> list[Any]: ...


def create_tables(run: Run, sql: Dialect) -> None:
    """Create the tables of a new store."""
    run(f"CREATE TABLE events ({_event_columns(sql)}, {sql.event_key}{sql.strict}")
    if sql is SQLITE:
        run("CREATE UNIQUE INDEX by_stream ON events (stream, number)")
    run("CREATE UNIQUE INDEX by_decision ON events (stream, ref) WHERE ref >= 0")
    run(
        f"CREATE TABLE answers (key {sql.text} PRIMARY KEY, fingerprint {sql.blob} NOT NULL, at {sql.integer} NOT NULL,"
        f" status integer NOT NULL, body {sql.blob} NOT NULL, digest {sql.integer} NOT NULL{sql.keyed}"
    )
    run("CREATE INDEX by_age ON answers (at)")
    run(
        f"CREATE TABLE snapshots (stream {sql.integer} NOT NULL, number {sql.integer} NOT NULL, body {sql.blob} NOT "
        f"NULL, digest {sql.integer} NOT NULL, PRIMARY KEY (stream, number){sql.strict}"
    )
    _create_upkeep_tables(run, sql)


def _event_columns(sql: Dialect) -> str:
    numbers = ", ".join(f"{name} {sql.integer} NOT NULL" for name in ("stream", "number", "at", "ref", "link"))
    return f"{numbers}, kind {sql.text} NOT NULL, body {sql.blob} NOT NULL"


def _create_upkeep_tables(run: Run, sql: Dialect) -> None:
    def numbers(*names: str) -> str:
        return ", ".join(f"{name} {sql.integer} NOT NULL" for name in names)

    run(
        f"CREATE TABLE origins (stream {sql.integer} PRIMARY KEY, {numbers('number', 'first', 'before', 'link')}, "
        f"body {sql.blob} NOT NULL, {numbers('digest')}{sql.strict}"
    )
    run(f"CREATE TABLE heads (stream {sql.integer} PRIMARY KEY, {numbers('number', 'link', 'digest')}{sql.strict}")
    run(f"CREATE TABLE quarantine ({_event_columns(sql)}{sql.strict}")


def create_roster(run: Run) -> None:
    """Create the tables of members and slots (`members.roster`), which only a database server has.

    They are no part of what is kept: a server that crashes may empty them, and the members join again.
    """
    run(
        "CREATE UNLOGGED TABLE members (id bigint PRIMARY KEY, address text NOT NULL, secret text NOT NULL, "
        "ready boolean NOT NULL, expires_at timestamptz NOT NULL)"
    )
    run("CREATE UNLOGGED TABLE slots (slot integer PRIMARY KEY, member bigint NOT NULL)")


# ---- migrations ----


def _add_hashes(run: Run, sql: Dialect) -> None:
    """2 to 3: hashes of all rows. What was damaged before cannot be told from what was written."""
    run(f"ALTER TABLE events ADD COLUMN link {sql.integer} NOT NULL DEFAULT 0")
    run(f"ALTER TABLE answers ADD COLUMN digest {sql.integer} NOT NULL DEFAULT 0")
    run(f"ALTER TABLE snapshots ADD COLUMN digest {sql.integer} NOT NULL DEFAULT 0")
    _create_upkeep_tables(run, sql)
    for (stream,) in run("SELECT DISTINCT stream FROM events ORDER BY stream"):
        _link_events(run, stream)
    for (key,) in run("SELECT key FROM answers"):
        (row,) = run("SELECT key, fingerprint, at, status, body FROM answers WHERE key = ?", (key,))
        run("UPDATE answers SET digest = ? WHERE key = ?", (chain.answer_digest(Answer(*row)), key))
    for where in run("SELECT stream, number FROM snapshots"):
        (row,) = run("SELECT stream, number, body FROM snapshots WHERE stream = ? AND number = ?", where)
        last = run("SELECT link FROM events WHERE stream = ? AND number = ?", where)
        digest = chain.snapshot_digest(Snapshot(*row), last[0][0] if last else chain.START)
        run("UPDATE snapshots SET digest = ? WHERE stream = ? AND number = ?", (digest, *where))


def _link_events(run: Run, stream: int) -> None:
    number, last = -1, chain.START
    query = f"SELECT {EVENT} FROM events WHERE stream = ? AND number > ? ORDER BY number LIMIT {PAGE}"
    while page := run(query, (stream, number)):
        for row in page:
            event = Event(*row)
            last = chain.link(last, event)
            run("UPDATE events SET link = ? WHERE stream = ? AND number = ?", (last, stream, event.number))
        number = page[-1][1]
    run(
        "INSERT INTO heads (stream, number, link, digest) VALUES (?, ?, ?, ?)",
        (stream, number, last, chain.head_digest(stream, number, last)),
    )


MIGRATIONS: dict[int, Callable[[Run, Dialect], None]] = {2: _add_hashes}


class Migration(NamedTuple):
    """What a migration did, or would do."""

    before: int
    after: int
    n_events: int


def migrate(run: Run, sql: Dialect, version: int) -> Migration:
    """Bring the tables of a store from a version to the present one; the caller has begun a transaction."""
    ((n_events,),) = run("SELECT count(*) FROM events")
    for step in range(version, FORMAT):
        MIGRATIONS[step](run, sql)
    return Migration(version, FORMAT, n_events)


def check_version(name: object, version: int) -> None:
    """Refuse a store of another version, in one sentence that says what to do."""
    if version > FORMAT:
        raise ParameterError(
            f"{name} has format {version}, of a newer version of driftwise: this one reads format {FORMAT}"
        )
    if version not in (*MIGRATIONS, FORMAT):
        raise ParameterError(f"{name} has format {version}; this version of driftwise reads format {FORMAT}")
    if version < FORMAT:
        raise ParameterError(
            f"{name} has format {version}, of an older version of driftwise: copy it and run `driftwise store upgrade`"
        )
