"""What tests of several files are given: stores of every kind."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import postgres


def pytest_collection_finish() -> None:
    """All that was imported and collected stays: from here on the garbage collector need not look through it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A server for all tests that ask nothing about durability, started when the first of them needs it."""
    if why := postgres.missing():
        pytest.skip(why)
    with postgres.server(*postgres.FAST) as server:
        yield server


@pytest.fixture
def durable_server() -> Iterator[postgres.Server]:
    """A server for one test, which may kill it."""
    if why := postgres.missing():
        pytest.skip(why)
    with postgres.server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: Any, tmp_path: Path) -> str:
    """The URL of a new, empty store, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    server: postgres.Server = request.getfixturevalue("postgres_server")
    return server.store()
