"""A store of the version before is upgraded and goes on as it was; one of a newer version is refused."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from click.testing import CliRunner, Result

from driftwise.cli import main
from driftwise.errors import ParameterError
from driftwise.service.deployments import queries
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import IdempotencyKey
from driftwise.service.store.journal import open_journal
from driftwise.service.store.schema import FORMAT, MIGRATIONS
from tests.fixtures import store_versions
from tests.fixtures.engine import START, Clock, decide, running


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def old_store(request: Any, tmp_path: Path) -> str:
    """A store of format 2."""
    if request.param == "sqlite":
        return store_versions.unpack(2, tmp_path)
    return store_versions.load(2, request.getfixturevalue("postgres_server"))


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["store", *words])


def test_an_upgraded_store_goes_on_as_before(old_store: str) -> None:
    with pytest.raises(ParameterError, match="older version of driftwise: copy it and run `driftwise store upgrade`"):
        open_journal(old_store)
    for _ in range(2):
        rehearsal = run("upgrade", "--dry-run", old_store)
        assert rehearsal.output == f"the store can be upgraded from format 2 to {FORMAT}: 72 events\n"
    done = run("upgrade", old_store)
    assert done.exit_code == 0 and done.output == f"the store was upgraded from format 2 to {FORMAT}: 72 events\n"
    assert run("upgrade", old_store).output == f"the store has format {FORMAT}: there is nothing to do\n"
    found = run("check", old_store)
    assert found.exit_code == 0 and "prices: 31 events: sound" in found.output, found.output
    assert asyncio.run(store_versions.go_on(old_store)) == store_versions.expected(2)

    async def verify() -> None:
        async with running(old_store, Clock(START + 86_400_000_000)) as engine:
            assert await identical(engine)
            again = await decide(engine, unit="user0", key=IdempotencyKey("me", "visit-0", b"{}"))
            assert again["id"] == 0  # answers are kept, too
            assert [*engine.catalogue.keys] == ["key1"]

    asyncio.run(verify())


async def identical(engine: Engine) -> bool:
    return all([(await queries.verify(engine, name)).identical for name in ("shop", "prices")])


def test_every_version_has_a_migration_and_a_store() -> None:
    assert [*MIGRATIONS] == list(range(2, FORMAT))
    for version in MIGRATIONS:
        assert (store_versions.FOLDER / f"version{version}.db.gz").exists()


def test_a_store_of_a_newer_version_is_refused(store: str) -> None:
    open_journal(store).close()
    if store.startswith("sqlite"):
        connection = apsw.Connection(store.removeprefix("sqlite:///"))
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
        connection.close()
    else:
        url, _, schema = store.partition("&schema=")
        with psycopg.connect(url, autocommit=True) as session:
            session.execute(f"UPDATE {schema}.format SET version = {FORMAT + 1}")
    for command in ("check", "repair", "upgrade"):
        refused = run(command, store)
        assert refused.exit_code == 2
        sentence = f"has format {FORMAT + 1}, of a newer version of driftwise: this one reads format {FORMAT}"
        assert refused.output.count("\n") == 1 and sentence in refused.output
