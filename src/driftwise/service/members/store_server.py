"""The SQLite store of several workers: their parent has the file open, and writes for all of them.

A worker reads the file by itself. What it writes it sends over a Unix socket, and all that has come during a commit
goes into the next one, as in `writer`. If that fails, each part is tried by itself: one worker's mistake is not
another's. What a member sends after it was expelled is refused.
"""

import logging
import queue
import socket
import threading
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from driftwise.service.members.memory_roster import MemoryRoster
from driftwise.service.members.roster import NOBODY
from driftwise.service.members.store_protocol import ROSTER, WRITES, error_message, receive, send
from driftwise.service.store.journal import CATALOGUE, ExpelledError
from driftwise.service.store.sqlite import SQLiteJournal

MAX_CALLS = 64  # in one commit
log = logging.getLogger("driftwise.service")


class WriteCall(NamedTuple):
    """A call of a member that waits for its turn."""

    member: int
    operation: str
    arguments: tuple[Any, ...]
    results: "queue.SimpleQueue[tuple[str, Any]]"


class StoreServer:
    """Listens at a path, until it is closed; the journal is the caller's to close."""

    def __init__(self, journal: SQLiteJournal, path: Path) -> None:
        self.journal, self.path = journal, path
        self._quiet = threading.Lock()
        self.roster = MemoryRoster(lambda: journal.last(CATALOGUE), self._quiet)
        self._calls: queue.SimpleQueue[WriteCall | None] = queue.SimpleQueue()
        self._connections: set[socket.socket] = set()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(128)
        self._writer = threading.Thread(target=self._write_all, name="store", daemon=True)
        self._writer.start()
        threading.Thread(target=self._accept_all, name="workers", daemon=True).start()

    def close(self) -> None:
        """End all connections, and write what has come."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._calls.put(None)
        self._writer.join()
        self.path.unlink(missing_ok=True)

    # ---- a thread per connection ----

    def _accept_all(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), name="worker", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Answer the calls of a connection; the first argument of a write is the id of the member."""
        results: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        member = NOBODY
        try:
            while (message := receive(connection)) is not None:
                operation, member, arguments = message
                if operation in WRITES:
                    values = msgspec.convert(arguments, WRITES[operation])
                    self._calls.put(WriteCall(member, operation, values, results))
                    send(connection, *results.get())
                else:
                    send(connection, *self._ask_roster(operation, arguments))
        except OSError:
            pass  # the worker has ended
        except Exception:
            log.exception("a call of a worker failed")
        finally:
            self._connections.discard(connection)
            self.roster.expire(member)  # most likely its process has ended; otherwise it renews its lease
            connection.close()

    def _ask_roster(self, operation: str, arguments: list[Any]) -> tuple[str, Any]:
        values = msgspec.convert(arguments, ROSTER[operation])
        try:
            if operation == "renew":
                return "", self.roster.renew(values[0], ready=values[1])
            return "", getattr(self.roster, operation)(*values)
        except Exception as error:
            return error_message(error)

    # ---- the one thread that writes ----

    def _write_all(self) -> None:
        while (call := self._calls.get()) is not None:
            batch = [call]
            while len(batch) < MAX_CALLS and all(each.operation == "append" for each in batch):
                try:
                    more = self._calls.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    self._calls.put(None)
                    break
                batch.append(more)
            self._write(batch)

    def _write(self, batch: list[WriteCall]) -> None:
        """Write what has come: appends of several members in one commit, anything else by itself."""
        appends = [call for call in batch if call.operation == "append"]
        with self._quiet:
            joined = [each for each in appends if each.member in self.roster]
            if len(joined) > 1 and self._append_together(joined):
                for call in appends:
                    call.results.put(("", None) if call.member in self.roster else error_message(ExpelledError()))
                appends = []
            for call in [*appends, *(each for each in batch if each.operation != "append")]:
                call.results.put(self._do(call))

    def _append_together(self, calls: list[WriteCall]) -> bool:
        events, answers, snapshots = zip(*(call.arguments for call in calls), strict=True)
        try:
            self.journal.append([*chain(*events)], [*chain(*answers)], [*chain(*snapshots)])
        except Exception:
            return False
        return True

    def _do(self, call: WriteCall) -> tuple[str, Any]:
        try:
            if call.member not in self.roster and call.operation != "recover":
                raise ExpelledError
            return "", getattr(self.journal, call.operation)(*call.arguments)
        except Exception as error:
            return error_message(error)
