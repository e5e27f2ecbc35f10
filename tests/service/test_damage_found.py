"""Damage is found: no flipped bit makes another state without an error."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from driftwise.errors import DriftwiseError
from driftwise.service.deployments.catalogue import read_catalogue
from driftwise.service.deployments.fold import fold
from driftwise.service.deployments.idempotency import IdempotencyKey
from driftwise.service.store.journal import open_journal
from tests.fixtures.engine import create, decide, learn, running
from tests.fixtures.postgres import Server

FLIPS = 60
ROUNDS = 40


async def fill(store: str) -> None:
    """Two deployments with decisions, outcomes and keys; closed in good order."""
    async with running(store) as engine:
        await create(engine)
        await create(engine, name="ucb", policy="sliding-ucb:window=30", sticky=True)
        for n in range(ROUNDS):
            await learn(engine, (await decide(engine, key=IdempotencyKey("me", f"{n}", b"")))["id"])
            id = (await decide(engine, "ucb", unit=f"u{n % 7}"))["id"]
            if n % 3:
                await learn(engine, id, "ucb", reward=float(n % 2))


def state(store: str, *, cached: bool) -> Any:
    """All that decisions depend on: deployments, API keys, the fold of every deployment; and the answers."""
    journal = open_journal(store)
    try:
        catalogue = read_catalogue(journal)
        entries = {
            name: (entry.stream, entry.status, entry.policy, fold(journal, entry.stream, entry.initial, cached=cached))
            for name, entry in catalogue.entries.items()
        }
        plain = {name: (*rest, live.snapshot()) for name, (*rest, live) in entries.items()}
        answers = [journal.answer(f"me/{n}") for n in range(ROUNDS)]
        return plain, sorted(catalogue.keys), dict(enumerate(answers))
    finally:
        journal.close()


def count_found(expected: Any, flips: list[Callable[[], str]]) -> int:
    """Flip one bit after another, each in a store of its own: found, or harmless."""
    found = 0
    for flip in flips:
        store = flip()
        for cached in (False, True):
            try:
                changed = state(store, cached=cached)
            except DriftwiseError:
                found += 1
            else:
                assert changed[:2] == expected[:2], f"a flipped bit is another state, cached={cached}"
                # by a damaged key an answer is not found, but never another one
                assert all(answer in (None, expected[2][n]) for n, answer in changed[2].items())
    return found


def test_no_flipped_bit_of_the_file_changes_the_state_silently(tmp_path: Path) -> None:
    asyncio.run(fill(f"sqlite:///{tmp_path}/base.db"))
    base, luck = (tmp_path / "base.db").read_bytes(), random.Random(8)
    expected = state(f"sqlite:///{tmp_path}/base.db", cached=False)

    def flip(n: int) -> Callable[[], str]:
        def write() -> str:
            content = bytearray(base)
            content[luck.randrange(len(content))] ^= 1 << luck.randrange(8)
            (tmp_path / f"{n}.db").write_bytes(content)
            return f"sqlite:///{tmp_path}/{n}.db"

        return write

    assert count_found(expected, [flip(n) for n in range(FLIPS)]) > FLIPS // 4  # many bits are free room


COLUMNS = {
    "events": ["stream", "number", "at", "kind", "body", "ref", "link"],
    "answers": ["key", "fingerprint", "at", "status", "body", "digest"],
    "snapshots": ["stream", "number", "body", "digest"],
    "heads": ["stream", "number", "link", "digest"],
}


def test_no_flipped_bit_of_a_row_changes_the_state_silently(postgres_server: Server) -> None:
    """Of every column of every table: PostgreSQL stores its pages itself, perhaps without checksums."""
    store = postgres_server.store()
    schema = store.rpartition("schema=")[2]
    asyncio.run(fill(store))
    expected, luck = state(store, cached=False), random.Random(9)
    with psycopg.connect(postgres_server.url, autocommit=True) as session:
        session.execute(f"SET search_path = {schema}")

        def flip(table: str, column: str) -> int:
            rows = session.execute(f"SELECT ctid::text, {column} FROM {table} ORDER BY 1").fetchall()
            while True:
                place, value = luck.choice(rows)
                with suppress(psycopg.errors.UniqueViolation):  # another row has that key
                    change(table, column, place, flipped(value, luck))
                    break
            found = count_found(expected, [lambda: store])
            place = session.execute(f"SELECT ctid::text FROM {table} WHERE ctid NOT IN ({known(rows)})").fetchall()[0][
                0
            ]
            change(table, column, place, value)
            return found

        def change(table: str, column: str, place: str, value: Any) -> None:
            session.execute(f"UPDATE {table} SET {column} = %s WHERE ctid = %s::tid", (value, place))

        def known(rows: list[Any]) -> str:
            return ", ".join(f"'{place}'::tid" for place, _ in rows)

        found = [flip(table, column) for table, columns in COLUMNS.items() for column in columns for _ in range(3)]
    assert state(store, cached=False) == expected
    assert sum(found) > len(found)  # at least at one of two readings; what is cached may not be read


def flipped(value: Any, luck: random.Random) -> Any:
    """A value with one bit changed."""
    if isinstance(value, int):
        return value ^ 1 << luck.randrange(31)
    content = bytearray(value.encode() if isinstance(value, str) else value)
    content[luck.randrange(len(content))] ^= 1 << luck.randrange(6)
    return bytes(content).decode() if isinstance(value, str) else bytes(content)


@pytest.mark.parametrize("table", ["answers", "heads"])
def test_what_is_not_replayed_is_checked_when_it_is_read(tmp_path: Path, table: str) -> None:
    import apsw

    store = f"sqlite:///{tmp_path}/store.db"
    asyncio.run(fill(store))
    connection = apsw.Connection(f"{tmp_path}/store.db")
    connection.execute(f"UPDATE {table} SET digest = digest + 1")
    connection.close()
    with pytest.raises(DriftwiseError, match="damaged"):
        state(store, cached=True)
