"""Group commit. One thread writes; whatever queued up during a commit goes into the next. There is no timer.

A request hands over what it wants written and gets a future, which is done after the commit. When a commit fails, all
that was in it fails, and all that queued behind it: it was decided on top of what is now lost. An *era* ends then. What
is handed over names the era it was decided in, and that of an era gone by is refused.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from driftwise.service.store.journal import Answer, Event, Journal, JournalError, Snapshot

MOST = 2000  # events in one commit
NOTHING: tuple[Any, ...] = ()


class Write(NamedTuple):
    """What one request wants written."""

    era: int
    events: Sequence[Event]
    answers: Sequence[Answer]
    snapshots: Sequence[Snapshot]
    done: "asyncio.Future[None]"
    mark: Any = None
    forget: int = 0  # answers older than this


class Done(NamedTuple):
    """What became of a batch: which writes were valid, the era after it, whether anything was written, and why not."""

    batch: list[Write]
    valid: list[Write]
    era: int
    wrote: bool
    error: JournalError | None


class Writer:
    """The one thread that appends to a journal."""

    def __init__(
        self,
        journal: Journal,
        on_commit: Callable[[JournalError | None], None],
        on_done: Callable[[Any], None],
    ) -> None:
        self.era = 0
        self.forgetting = False
        self.commits = self.written = self.failures = 0
        self._journal, self._on_commit, self._on_done = journal, on_commit, on_done
        self._loop = asyncio.get_running_loop()
        self._gathered: list[Write] = []
        self._queue: queue.SimpleQueue[list[Write] | None] = queue.SimpleQueue()
        self._waiting = 0
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def submit(
        self,
        events: Sequence[Event] = NOTHING,
        answers: Sequence[Answer] = NOTHING,
        snapshots: Sequence[Snapshot] = NOTHING,
        mark: Any = None,
        era: int | None = None,
    ) -> "asyncio.Future[None]":
        """Have something written after all that was handed over before; called from the event loop.

        When it is, or cannot be, `on_done` is told its `mark`. What was made earlier says in which `era`. After every
        commit `on_commit` is told the error, or None.
        """
        return self._submit(
            Write(self.era if era is None else era, events, answers, snapshots, self._loop.create_future(), mark)
        )

    def forget_answers(self, before: int) -> "asyncio.Future[None]":
        """Have some old answers dropped; `forgetting` says whether there are more."""
        return self._submit(Write(self.era, NOTHING, NOTHING, NOTHING, self._loop.create_future(), None, before))

    def _submit(self, write: Write) -> "asyncio.Future[None]":
        """Hand over all that is asked for in one round of the event loop together: one wake-up, not one each."""
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(write)
        self._waiting += 1
        return write.done

    def _hand_over(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._queue.put(gathered)

    @property
    def waiting(self) -> int:
        """Requests whose commit has not been answered."""
        return self._waiting

    async def close(self) -> None:
        """Write what is left, then stop."""
        self._hand_over()
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
            wrote = False
            try:
                wrote = self._write(valid)
            except Exception as problem:
                era += 1
                error = problem if isinstance(problem, JournalError) else JournalError(repr(problem))
            try:
                self._loop.call_soon_threadsafe(self._settle, Done(batch, valid, era, wrote, error))
            except RuntimeError:
                return  # the loop is gone, and with it everybody who waited
            if last:
                return

    def _gather(self) -> tuple[list[Write], bool]:
        """Everything in the queue, at least something; True when there will be no more."""
        batch: list[Write] = []
        size = 0
        writes = self._queue.get()
        while writes is not None:
            batch += writes
            size += sum(len(write.events) for write in writes)
            if size >= MOST:
                return batch, False
            try:
                writes = self._queue.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _write(self, batch: list[Write]) -> bool:
        """Write all of it; whether there was anything to write."""
        events = [event for write in batch for event in write.events]
        answers = [answer for write in batch for answer in write.answers]
        snapshots = [snapshot for write in batch for snapshot in write.snapshots]
        wanted = bool(events or answers or snapshots)
        if wanted:
            self._journal.append(events, answers, snapshots)
        elif batch:
            self._journal.recover()  # whoever writes nothing wants to read what is there for good
        for before in {write.forget for write in batch if write.forget}:
            self.forgetting = self._journal.forget_answers(before)
        return wanted

    # ---- back in the event loop ----

    def _settle(self, done: Done) -> None:
        batch, valid, self.era, wrote, error = done
        self._waiting -= len(batch)
        if error is None:
            self.commits += 1
            self.written += sum(len(write.events) for write in valid)
        else:
            self.failures += 1
        if wrote or error is not None:
            self._on_commit(error)
        good = set() if error is not None else {id(write) for write in valid}
        for write in batch:
            if write.mark is not None:
                self._on_done(write.mark)
            if write.done.done():
                continue  # nobody waits any more
            if id(write) in good:
                write.done.set_result(None)
            else:
                write.done.set_exception(error or JournalError("a write before this one failed"))
                write.done.exception()  # seen, even if the request was dropped meanwhile
