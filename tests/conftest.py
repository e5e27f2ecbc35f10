"""What tests of several files are given: stores of every kind. What starts a program or plays a paper is `system`."""

import gc
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import postgres


def pytest_collection_finish(session: pytest.Session) -> None:
    """All that was imported and collected stays: from here on the garbage collector need not look through it."""
    if getattr(session.config.option, "loadgroup", False):
        grouped = [each for each in session.items if each.get_closest_marker("xdist_group")]
        assert all("@" in each.nodeid for each in grouped), "xdist knows no groups: this pytest is too new for it"
    gc.collect()
    gc.freeze()


WHOLE = {"postgres_server", "durable_server", "evidence"}  # servers, and papers that are played
QUESTIONS = {"uname", "/sbin/ldconfig", "ldconfig", "fc-list"}  # programs that libraries ask about this machine
_running: list[pytest.Item] = []


def pytest_itemcollected(item: pytest.Item) -> None:
    """Who asks for a server starts a program, and a paper is many studies.

    `make system` gives tests of a file to one worker if they set something up together, or compile the same. When all
    items are collected would be too late to say so: xdist reads the groups before this file is asked.
    """
    if WHOLE & set(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.system)
    if item.get_closest_marker("system") and _shares(item):
        item.add_marker(pytest.mark.xdist_group(item.path.stem))


def _shares(item: pytest.Item) -> bool:
    """Whether a test uses what is set up once for its file, or a store, whose tests play the same policies."""
    fixtures = getattr(item, "_fixtureinfo", None)
    defined = {} if fixtures is None else fixtures.name2fixturedefs
    return "store" in defined or any(each[-1].scope == "module" for each in defined.values())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _running.append(item)
    try:
        return (yield)
    finally:
        _running.clear()


class _MarkedPopen(subprocess.Popen[Any]):
    """A program, which only a test that is marked may start: `make test` stays quick."""

    def __init__(self, args: Any, *more: Any, **options: Any) -> None:
        marked = not _running or any(_running[0].get_closest_marker(name) for name in ("system", "deep"))
        if not marked and args[0] not in QUESTIONS:
            pytest.fail(f"a test that starts a program is marked `system`: {args}")
        super().__init__(args, *more, **options)


subprocess.Popen = _MarkedPopen  # type: ignore[misc]


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


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def store(request: Any, tmp_path: Path) -> str:
    """The URL of a new, empty store, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    server: postgres.Server = request.getfixturevalue("postgres_server")
    return server.store()
