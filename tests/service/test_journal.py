"""Every journal keeps every promise; and what only one of them promises."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from driftwise.checks import JOURNAL_CHECKS
from driftwise.errors import ParameterError
from driftwise.service.store.journal import Event, InUseError, JournalError, open_journal, snapshots_to_keep
from driftwise.service.store.sql import OUTCOME
from driftwise.service.store.sqlite import SQLiteJournal, require_version
from tests.fixtures.patience import until
from tests.fixtures.service_process import SOURCE

HERE = os.environ | {"PYTHONPATH": SOURCE}


@pytest.mark.parametrize("check", JOURNAL_CHECKS, ids=lambda check: check.__name__)
def test_journal(check: Any, store: str) -> None:
    check(lambda: open_journal(store))


@pytest.mark.system
def test_a_second_process_is_refused_in_one_sentence(store: str) -> None:
    journal = open_journal(store)
    program = f"from driftwise.service.store.journal import open_journal; open_journal({store!r}).close()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=HERE)
    assert re.search(f"is in use by .*process {os.getpid()}", done.stderr)
    journal.close()
    assert not subprocess.run([sys.executable, "-c", program], check=False, env=HERE).returncode


@pytest.mark.system
def test_a_lock_goes_with_its_process(store: str) -> None:
    opens = f"from driftwise.service.store.journal import open_journal; open_journal({store!r})"
    program = f"import os; {opens}; os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", program], check=False, env=HERE).returncode == -9
    until(lambda: opened(store), "the lock of a process that was killed")


def opened(store: str) -> bool:
    try:
        open_journal(store).close()
    except InUseError:  # a server needs a moment to notice
        return False
    return True


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2"])
def test_an_old_sqlite_is_refused(version: str) -> None:
    with pytest.raises(JournalError, match="WAL-reset"):
        require_version(version)
    require_version("3.51.3")


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    for url in ("sqlite://", "sqlite:///", "mysql://x", "driftwise", f"sqlite:///{tmp_path}"):
        with pytest.raises(ParameterError):
            open_journal(url)
    other = apsw.Connection(f"{tmp_path}/other.db")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(ParameterError, match="another program"):
        open_journal(f"sqlite:///{tmp_path}/other.db")
    (tmp_path / "text.db").write_text("not a database, but long enough to be taken for the head of one" * 20)
    with pytest.raises(JournalError, match="could not be opened"):
        open_journal(f"sqlite:///{tmp_path}/text.db")


def test_a_locked_file_is_an_error_that_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftwise.service.store.sqlite.BUSY_MS", 10)
    journal = SQLiteJournal(tmp_path / "store.db")
    event = Event(1, 0, 0, "decided", b"")
    other = apsw.Connection(str(tmp_path / "store.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match="locked"):
        journal.append([event])
    assert [*journal.read(1)] == []
    other.execute("ROLLBACK")
    other.close()
    journal.append([event])
    assert [*journal.read(1)] == [event]
    journal.close()


def test_a_backup_is_a_whole_store(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "store.db")
    events = [Event(1, n, 0, "decided", b"x") for n in range(10)]
    journal.append(events)
    journal.backup(str(tmp_path / "copy.db"))
    journal.append([Event(1, 10, 0, "decided", b"x")])
    copy = SQLiteJournal(tmp_path / "copy.db")
    assert [*copy.read(1)] == events
    copy.close()
    journal.close()


def test_a_store_may_be_read_while_it_is_written(store: str) -> None:
    journal = open_journal(store)
    journal.append([Event(1, n, 0, "decided", b"x") for n in range(1500)])
    reading = journal.read(1)
    next(reading)
    journal.append([Event(1, 1500, 0, "decided", b"x")])
    assert sum(1 for _ in reading) == 1500
    journal.close()


def test_what_is_looked_up_is_found_by_an_index(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "store.db")
    plan = " ".join(str(row) for row in journal._query(f"EXPLAIN QUERY PLAN {OUTCOME}", (1, 2)))
    assert "by_decision (stream=? AND ref=?)" in plan
    journal.close()


def test_in_use_is_a_journal_error() -> None:
    assert issubclass(InUseError, JournalError)


def test_snapshots_thin_out() -> None:
    numbers: list[int] = []
    for number in range(1, 5001):
        numbers = sorted(snapshots_to_keep([*numbers, number]))
    assert numbers[-1] == 5000 and len(numbers) <= 15
    assert all(5000 - older <= 4 * (5000 - newer) + 4 for older, newer in itertools.pairwise(numbers[:-1]))
