"""A journal that another process writes: it is only read here, and no lock is taken.

A long replay runs in a process of its own (`deployments/replay_process`), beside the one that decides.
"""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from driftwise.errors import ParameterError
from driftwise.service.store.journal import JournalError

if TYPE_CHECKING:
    from driftwise.service.store.upkeep import SQLUpkeep

READ_ONLY = "the journal is open for reading only"


def open_reader(url: str) -> "SQLUpkeep":
    """Open a journal by the `url` of the one that writes."""
    kind, _, rest = url.partition("://")
    if kind == "sqlite":
        return _sqlite_reader(Path(rest.removeprefix("/")))
    if kind in ("postgresql", "postgres"):
        return _postgres_reader(url)
    raise ParameterError(f"{kind}://... is neither sqlite:///PATH nor postgresql://...")


def _sqlite_reader(path: Path) -> "SQLUpkeep":
    from driftwise.service.store.sqlite import SQLiteJournal
    from driftwise.service.store.upkeep import SQLUpkeep

    class SQLiteReader(SQLiteJournal):
        """Connections that cannot write, and no lock on the file."""

        def __init__(self) -> None:
            SQLUpkeep.__init__(self)
            self.path, self.vfs, self.durability, self._mode = path, None, "full", None
            self._file, self._writer, self._closed = None, None, False
            self._readers, self._open = threading.local(), []

        def recover(self) -> NoReturn:
            """Refuse: what writes begins with it."""
            raise JournalError(READ_ONLY)

    return SQLiteReader()


def _postgres_reader(url: str) -> "SQLUpkeep":
    from driftwise.service.store.postgres import PostgresJournal
    from driftwise.service.store.postgres_session import Address
    from driftwise.service.store.upkeep import SQLUpkeep

    class PostgresReader(PostgresJournal):
        """Sessions to read with, and no advisory lock."""

        def __init__(self) -> None:
            SQLUpkeep.__init__(self)
            self._address, self._mode, self.durability, self.url = Address(url), None, "full", url
            self.schema = self._address.schema
            self.path = f"postgresql schema {self.schema}"
            self._idle, self._idling, self._closed = [], threading.Lock(), False
            self._writer, self._writer_id = None, None

        def recover(self) -> NoReturn:
            """Refuse: what writes begins with it."""
            raise JournalError(READ_ONLY)

    return PostgresReader()
