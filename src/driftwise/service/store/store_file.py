"""The file of a SQLite store: only its owner reads it, and only one process writes to it, under whatever name.

A lock file beside the store keeps a second process out and says which one is in. The store itself is locked too, for
it may have other names: a hard link, or a new name since it was opened. (Only on Linux: elsewhere such a lock would
shut SQLite out as well.) A symbolic link is followed to the file.
"""

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from driftwise.errors import ParameterError
from driftwise.service.store.journal import InUseError, JournalError, NoStoreError

OWNER_ONLY = 0o600
BESIDE = ("", "-wal", "-shm", ".lock")
NETWORKED = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "ceph", "glusterfs", "lustre")
LOCKS, MOUNTS = Path("/proc/locks"), Path("/proc/mounts")
log = logging.getLogger("driftwise.service")

Identity = tuple[int, int]  # device and inode
_OPEN: set[Identity] = set()  # the stores of this process


class StoreFile:
    """The file of a store, created if missing, and locked until `release`; `discard` removes what was created, too."""

    def __init__(self, path: Path) -> None:
        check_platform()
        self.path = path.resolve()
        _check_folder(self.path)
        self._open: list[int] = []
        self._created: list[Path] = []
        self._identity: Identity | None = None
        try:
            self._take_lock()
            self._take_store()
            self._close_to_others()
        except BaseException:
            self.discard()
            raise

    def check_in_place(self) -> None:
        """Fail when the path names another file, or none: nobody would find what is written."""
        if _identity(self.path) != self._identity:
            raise JournalError(
                f"{self.path} was removed or replaced while in use: put the file back", "the file of the store is gone"
            )

    def release(self) -> None:
        """Release the locks. Closing a file drops the locks of SQLite on it: its connections must be closed before."""
        for file in self._open:
            os.close(file)
        self._open.clear()
        if self._identity is not None:
            _OPEN.discard(self._identity)
            self._identity = None

    def discard(self) -> None:
        """Remove the files that this has created, with those that SQLite put beside them, and release the locks."""
        ends = BESIDE if self.path in self._created else ()
        for path in (*self._created, *(Path(f"{self.path}{end}") for end in ends)):
            with suppress(OSError):
                path.unlink()
        self._created.clear()
        self.release()

    def _take_lock(self) -> None:
        """Lock the lock file, and write our process id into it."""
        file = self._opened(Path(f"{self.path}.lock"))
        if not _locked(file):
            self._refuse(os.read(file, 20).decode(errors="replace").strip())
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            raise JournalError(f"{self.path}.lock could not be written: {error.strerror}") from None

    def _take_store(self) -> None:
        """Lock the store itself, which may have other names."""
        if _identity(self.path) in _OPEN:
            self._refuse(str(os.getpid()))
        file = self._opened(self.path)
        status = os.fstat(file)
        if sys.platform == "linux" and not _locked(file):
            self._refuse(_owner(status.st_ino))
        if status.st_nlink > 1:
            raise ParameterError(
                f"{self.path} has {status.st_nlink} names (hard links): remove all but one; SQLite keeps the newest "
                "commits beside one name and would not find them by another"
            )
        self._identity = status.st_dev, status.st_ino
        _OPEN.add(self._identity)

    def _opened(self, path: Path) -> int:
        how = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            try:
                file = os.open(path, how | os.O_EXCL, OWNER_ONLY)
                self._created.append(path)
            except FileExistsError:
                file = os.open(path, how, OWNER_ONLY)
        except OSError as error:
            raise JournalError(f"{path} could not be opened: {error.strerror}") from None
        self._open.append(file)
        return file

    def _refuse(self, owner: str) -> NoReturn:
        who = f"process {owner}" if owner else "another process"
        raise InUseError(f"{self.path} is in use by {who}: only one can write to a store")

    def _close_to_others(self) -> None:
        """Remove the permissions of other users; files that SQLite creates get the mode of the store."""
        for end in BESIDE:
            path = Path(f"{self.path}{end}")
            with suppress(FileNotFoundError):
                mode = path.stat().st_mode & 0o777
                if mode & ~OWNER_ONLY == 0:
                    continue
                try:
                    path.chmod(OWNER_ONLY)
                    result = "its mode is now 600"
                except OSError as error:
                    result = f"its mode could not be changed ({error.strerror})"
                log.warning("other users of this machine could open %s (mode %o): %s", path, mode, result)


def check_there(path: Path) -> None:
    """Refuse a file that is not there, or that has nothing in it: opening it would make a store of it."""
    if not path.exists():
        raise NoStoreError(f"there is no store at {path.resolve()}")
    if path.is_file() and not path.stat().st_size:
        raise NoStoreError(f"{path.resolve()} is an empty file, not a store")


def check_platform() -> None:
    """Refuse to open a store where its locks and modes do not exist."""
    if os.name == "nt":
        raise ParameterError("the service runs on Linux and macOS: on Windows, run it in WSL or in a container")


def _locked(file: int) -> bool:
    """Whether an open file could be locked."""
    import fcntl  # Windows has none, and can import this module

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _owner(inode: int) -> str:
    """The process that has locked a file, where Linux tells it."""
    with suppress(OSError):
        for line in LOCKS.read_text().splitlines():
            parts = line.split()
            if "FLOCK" in parts and "->" not in parts and parts[5].endswith(f":{inode}") and int(parts[4]) > 0:
                return parts[4]
    return ""


def _check_folder(path: Path) -> None:
    if path.is_dir() or not path.parent.is_dir():
        raise ParameterError(f"{path} cannot be a store: {'it is a' if path.is_dir() else 'there is no such'} folder")
    kind = _file_system(path.parent)
    if kind.startswith(NETWORKED):
        raise ParameterError(f"{path} lies on {kind}, where locks cannot be trusted: use a local disk, or PostgreSQL")


def _file_system(folder: Path) -> str:
    """The type of the file system a folder lies on, where Linux tells it."""
    best, kind = "", ""
    for line in MOUNTS.read_text().splitlines() if MOUNTS.exists() else []:
        _, point, type_, *_ = line.split()
        inside = str(folder).startswith(point.rstrip("/") + "/") or str(folder) == point
        if inside and len(point) >= len(best):
            best, kind = point, type_
    return kind
