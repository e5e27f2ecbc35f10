"""The file of a store: only its owner reads it, and only one process writes to it, whatever name it goes by."""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from driftwise.errors import ParameterError
from driftwise.service.store.journal import Event, InUseError, JournalError, open_journal
from driftwise.service.store.sqlite import WAL_BYTES
from tests.fixtures.service_process import SOURCE

HERE = os.environ | {"PYTHONPATH": SOURCE}
OPEN = "import sys; from driftwise.service.store.journal import open_journal; journal = open_journal(sys.argv[1])"
HOLD = f"{OPEN}; print('open', flush=True); sys.stdin.read(); journal.close()"
EVENT = Event(1, 0, 0, "decided", b"x")


@contextmanager
def held(path: Path) -> Iterator[int]:
    """Another process that has a store open; its id."""
    command = [sys.executable, "-c", HOLD, f"sqlite:///{path}"]
    with subprocess.Popen(command, env=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        yield process.pid
        process.communicate()


def opened(path: Path) -> str:
    """What a process is told that opens a store; nothing, if it may."""
    command = [sys.executable, "-c", f"{OPEN}; journal.close()", f"sqlite:///{path}"]
    done = subprocess.run(command, env=HERE, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def modes(folder: Path) -> dict[str, str]:
    return {path.name: f"{path.stat().st_mode & 0o777:o}" for path in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_can_read_a_new_store(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        journal = open_journal(f"sqlite:///{tmp_path}/store.db")
        journal.append([EVENT])
        found = modes(tmp_path)
        journal.close()
    finally:
        os.umask(before)
    assert found == dict.fromkeys(["store.db", "store.db-wal", "store.db-shm", "store.db.lock"], "600")
    assert modes(tmp_path) == dict.fromkeys(["store.db", "store.db.lock"], "600")


def test_a_store_that_others_could_read_is_closed_to_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "store.db"
    open_journal(f"sqlite:///{path}").close()
    assert not caplog.records
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING, "driftwise.service"):
        journal = open_journal(f"sqlite:///{path}")
    journal.append([EVENT])
    assert set(modes(tmp_path).values()) == {"600"}
    journal.close()
    assert [str(record.message) for record in caplog.records] == [
        f"other users of this machine could open {path} (mode 644): its mode is now 600"
    ]


def symlink(store: Path, folder: Path) -> Path:
    other = folder / "symlink.db"
    other.symlink_to(store)
    return other


def symlink_to_folder(store: Path, folder: Path) -> Path:
    other = folder / "elsewhere"
    other.symlink_to(store.parent)
    return other / store.name


def hard_link(store: Path, folder: Path) -> Path:
    other = folder / "hard.db"
    other.hardlink_to(store)
    return other


def renamed(store: Path, folder: Path) -> Path:
    return store.rename(folder / "renamed.db")


@pytest.mark.system
@pytest.mark.parametrize("rename", [symlink, symlink_to_folder, hard_link, renamed], ids=lambda rename: rename.__name__)
def test_another_name_does_not_get_round_the_lock(tmp_path: Path, rename: Callable[[Path, Path], Path]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "store").mkdir()
    store = tmp_path / "store" / "store.db"
    with held(store) as process:
        other = rename(store, folder)
        assert re.search(f"is in use by process {process}: only one can write to a store", opened(other))
        if store.exists():
            assert re.search(f"is in use by process {process}", opened(store))


@pytest.mark.system
def test_the_lock_goes_with_its_process_whatever_the_name(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with held(store):
        pass
    assert opened(symlink(store, tmp_path)) == ""


def test_a_store_with_two_names_is_refused(tmp_path: Path) -> None:
    """SQLite keeps the newest commits beside one name: whoever comes by the other would not see them."""
    store = tmp_path / "store.db"
    open_journal(f"sqlite:///{store}").close()
    other = hard_link(store, tmp_path)
    for path in (store, other):
        with pytest.raises(ParameterError, match=r"has 2 names \(hard links\): remove"):
            open_journal(f"sqlite:///{path}")
    other.unlink()
    open_journal(f"sqlite:///{store}").close()


def test_a_refusal_leaves_the_locks_of_this_process_alone(tmp_path: Path) -> None:
    """Whoever closes a file loses all of its process' POSIX locks on it, those of SQLite too."""
    store = tmp_path / "store.db"
    journal = open_journal(f"sqlite:///{store}")
    journal.append([EVENT])

    def locks() -> list[str]:
        lines = Path("/proc/locks").read_text().splitlines()
        return [line for line in lines if f":{store.stat().st_ino} " in line and "POSIX" in line]

    before = len(locks())
    assert before
    with pytest.raises(InUseError, match=f"process {os.getpid()}"):
        open_journal(f"sqlite:///{hard_link(store, tmp_path)}")
    assert len(locks()) == before
    journal.close()


@pytest.mark.system
def test_a_store_that_is_taken_away_is_noticed(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    journal = open_journal(f"sqlite:///{store}")
    journal.append([EVENT])
    away = store.rename(tmp_path / "away.db")
    for replaced in (False, True):
        if replaced:
            store.write_bytes(b"")
        with pytest.raises(JournalError, match="was removed or replaced while in use"):
            journal.append([EVENT._replace(number=1)])
    away.rename(store)
    journal.append([EVENT._replace(number=1)])
    assert [event.number for event in journal.read(1)] == [0, 1]
    journal.close()
    assert opened(store) == ""


def test_a_wal_that_has_grown_behind_a_long_read_becomes_small_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    wal, journal = Path(f"{path}-wal"), open_journal(f"sqlite:///{path}")
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN; SELECT count(*) FROM events").fetchall()
    for number in range(30):
        journal.append([Event(1, number, number, "decided", bytes(10**6))])
    assert wal.stat().st_size > 1.5 * WAL_BYTES  # nothing can be overwritten that is being read
    reader.close()
    for number in range(30, 33):
        journal.append([Event(1, number, number, "decided", b"")])
    assert wal.stat().st_size <= WAL_BYTES and sum(1 for _ in journal.read(1)) == 33
    journal.close()


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
from driftwise.cli import main
main()
"""


@pytest.mark.system
@pytest.mark.parametrize("room", [0, 3, 5000, 20_000, 40_000])
@pytest.mark.parametrize("command", ["keys create --scopes admin", "serve --port 8431"])
def test_a_store_that_cannot_be_created_leaves_nothing(tmp_path: Path, room: int, command: str) -> None:
    """One sentence and exit code 2, however far the disk reached."""
    store = f"sqlite:///{tmp_path}/store.db"
    words = [sys.executable, "-c", FULL, str(room), *command.split(), "--store", store]
    done = subprocess.run(words, env=HERE, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(r"driftwise: .*store\.db(\.lock)? could not be (written|opened): .*\n", done.stderr)
    assert not [*tmp_path.iterdir()]


@pytest.mark.system
def test_a_store_that_cannot_be_opened_keeps_its_files(tmp_path: Path) -> None:
    """Only what was created a moment ago is removed."""
    path = tmp_path / "store.db"
    journal = open_journal(f"sqlite:///{path}")
    journal.append([EVENT])
    journal.close()
    before = path.read_bytes()
    (tmp_path / "store.db.lock").unlink()
    words = [sys.executable, "-c", FULL, "0", "keys", "list", "--store", f"sqlite:///{path}"]
    done = subprocess.run(words, env=HERE, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and "could not be written" in done.stderr
    assert [*tmp_path.iterdir()] == [path] and path.read_bytes() == before
