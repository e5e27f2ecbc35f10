"""Group commit. One thread writes; what is queued during a commit goes into the next. There is no timer.

A request submits what to write and gets a future, which is done after the commit. When a commit fails, all that was in
it fails, and all that was queued behind it: it depends on what is now lost. An *era* ends then. Each write has the era
in which it was decided; writes of an earlier era are refused.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from driftwise.service.histogram import SECONDS, SIZES, Histogram
from driftwise.service.store.journal import Answer, Event, Journal, JournalError, Snapshot

MAX_EVENTS = 2000  # in one commit
NOTHING: tuple[()] = ()
M = TypeVar("M")  # what the caller marks a write with
Chore = Callable[[], bool | None]  # work on the store; returns whether there is more to do


class WriteRequest(NamedTuple, Generic[M]):
    """What to write for one request."""

    era: int
    events: Sequence[Event]
    answers: Sequence[Answer]
    snapshots: Sequence[Snapshot]
    done: "asyncio.Future[bool]"
    mark: M | None = None
    chore: Chore | None = None


class BatchResult(NamedTuple, Generic[M]):
    """The result of a batch: the valid writes, the era after it, what became of it, and the error."""

    batch: list[WriteRequest[M]]
    valid: list[WriteRequest[M]]
    era: int
    wrote: bool
    more: dict[int, bool]  # by the identity of a write: whether its chore has more to do
    error: JournalError | None
    seconds: float


class Writer(Generic[M]):
    """The one thread that appends to a journal."""

    def __init__(
        self,
        journal: Journal,
        on_commit: Callable[[JournalError | None], None],
        on_done: Callable[[M], None],
    ) -> None:
        self.era = 0
        self.commits = self.written = self.failures = 0
        self.seconds, self.sizes = Histogram(SECONDS), Histogram(SIZES)  # of commits
        self._journal, self._on_commit, self._on_done = journal, on_commit, on_done
        self._loop = asyncio.get_running_loop()
        self._submitted: list[WriteRequest[M]] = []
        self._queue: queue.SimpleQueue[list[WriteRequest[M]] | None] = queue.SimpleQueue()
        self._waiting = 0
        self._last_error = JournalError("a write before this one failed")  # what ended the last era
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def submit(
        self,
        events: Sequence[Event] = NOTHING,
        answers: Sequence[Answer] = NOTHING,
        snapshots: Sequence[Snapshot] = NOTHING,
        mark: M | None = None,
        era: int | None = None,
        chore: Chore | None = None,
    ) -> "asyncio.Future[bool]":
        """Write after all that was submitted before; called from the event loop.

        When it is written, or has failed, `on_done` gets its `mark`. `era` is that of an earlier decision. After every
        commit `on_commit` gets the error, or None. A `chore` is work on the store that is done after the commit; the
        result is what it returns: whether there is more to do.
        """
        if not self._submitted:  # all submissions of one round of the event loop share one wake-up
            self._loop.call_soon(self._enqueue)
        commit = self._loop.create_future()
        write = WriteRequest(self.era if era is None else era, events, answers, snapshots, commit, mark, chore)
        self._submitted.append(write)
        self._waiting += 1
        return commit

    def _enqueue(self) -> None:
        if self._submitted:
            submitted, self._submitted = self._submitted, []
            self._queue.put(submitted)

    @property
    def waiting(self) -> int:
        """Requests that wait for their commit."""
        return self._waiting

    async def close(self) -> None:
        """Write the rest, then stop."""
        self._enqueue()
        self._queue.put(None)
        await self._loop.run_in_executor(None, self._thread.join)
        await asyncio.sleep(0)

    # ---- in the thread ----

    def _run(self) -> None:
        era = 0
        while True:
            batch, last = self._gather()
            valid = [write for write in batch if write.era == era]
            error: JournalError | None = None
            wrote, more = False, {}
            start = time.perf_counter()
            try:
                wrote = self._write(valid)
                more = {id(write): bool(write.chore()) for write in valid if write.chore is not None}
            except Exception as problem:
                era += 1
                error = problem if isinstance(problem, JournalError) else JournalError(repr(problem))
            try:
                result = BatchResult(batch, valid, era, wrote, more, error, time.perf_counter() - start)
                self._loop.call_soon_threadsafe(self._settle, result)
            except RuntimeError:
                return  # the loop is closed, and nobody waits
            if last:
                return

    def _gather(self) -> tuple[list[WriteRequest[M]], bool]:
        """Everything in the queue, at least one write; True when the writer stops."""
        batch: list[WriteRequest[M]] = []
        size = 0
        writes = self._queue.get()
        while writes is not None:
            batch += writes
            size += sum(len(write.events) for write in writes)
            if size >= MAX_EVENTS:
                return batch, False
            try:
                writes = self._queue.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _write(self, batch: list[WriteRequest[M]]) -> bool:
        """Write a batch; returns whether there was anything to write."""
        events = [event for write in batch for event in write.events]
        answers = [answer for write in batch for answer in write.answers]
        snapshots = [snapshot for write in batch for snapshot in write.snapshots]
        something = bool(events or answers or snapshots)
        if something:
            self._journal.append(events, answers, snapshots)
        elif batch:
            self._journal.recover()  # an empty write waits for a store that can be read
        return something

    # ---- back in the event loop ----

    def _settle(self, result: BatchResult[M]) -> None:
        batch, valid, self.era, wrote, more, error, seconds = result
        self._waiting -= len(batch)
        if error is None:
            size = sum(len(write.events) for write in valid)
            self.commits += 1
            self.written += size
            if wrote:
                self.seconds.add(seconds)
                self.sizes.add(size)
        else:
            self.failures += 1
            self._last_error = error
        if wrote or error is not None:
            self._on_commit(error)
        good = set() if error is not None else {id(write) for write in valid}
        for write in batch:
            if write.mark is not None:
                self._on_done(write.mark)
            if write.done.done():
                continue  # the request was dropped
            if id(write) in good:
                write.done.set_result(more.get(id(write), False))
            else:
                write.done.set_exception(self._last_error)
                write.done.exception()  # mark it as retrieved, even if the request was dropped
