"""All deployments: what they need to be asked, changed and written, in one event loop.

A request is done in memory at once, so that the next one sees it, and answered when the writer has committed it. When
a commit fails, the deployments it touched are thrown away and folded anew from the journal: what was not committed
never happened. What takes long (a fold, a compilation, a replay) runs in a thread, and only requests for that
deployment wait.

What can be done with deployments is in `deciding`, `changing` and `asking`; what is done beside, in `background`.
"""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from driftwise.serve import background
from driftwise.serve.catalogue import PAUSED, RETIRED, Catalogue, Entry
from driftwise.serve.clock import Clock
from driftwise.serve.deployment import Deployment, fold
from driftwise.serve.events import Body
from driftwise.serve.journal import CATALOGUE, Answer, Event, Journal, JournalError, Snapshot
from driftwise.serve.refusals import Busy, KeyReused, Paused, Unavailable, Unknown
from driftwise.serve.writer import Writer

SNAPSHOT_EVERY = 10_000  # events
PER_PENDING = 4  # and this many events for each decision that waits
MANY = 1_000  # decisions and units of a snapshot that is worth a thread
ANSWERS_US = 48 * 3600 * 1_000_000  # how long a key is remembered
MOST_DEFAULTS = 5_000  # recorded in one go
T = TypeVar("T")
Reply = tuple[int, bytes]
Happened = tuple[Event, Body]
log = logging.getLogger("driftwise.serve")


class Keyed:
    """The key of a request: who asked, the key itself, and a print of what was asked."""

    __slots__ = ("key", "print")

    def __init__(self, caller: str = "", key: str | None = None, what: bytes = b"") -> None:
        self.key = f"{caller}/{key}" if key else ""
        self.print = hashlib.sha256(what).digest() if key else b""

    def answers(self, reply: Reply, at: int) -> Sequence[Answer]:
        """What to keep of the reply."""
        return [Answer(self.key, self.print, at, *reply)] if self.key else ()


NO_KEY = Keyed()


class Engine:
    """See above. `clock` is an argument so that tests can make time pass."""

    def __init__(self, journal: Journal, *, clock: Clock | None = None) -> None:
        self.journal, self.clock = journal, clock or Clock()
        self.catalogue = Catalogue()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.ready = False
        self.writer: Writer
        self.cataloguing: asyncio.Lock
        self._in_flight: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- beginning and end ----

    async def start(self) -> None:
        """Read the catalogue; in the background, warm the kernels of every kind of deployment and tend to time."""
        self.cataloguing = asyncio.Lock()
        for event in self.journal.read(CATALOGUE):
            self.catalogue.apply(event)
        self.writer = Writer(self.journal, self._forget_uncommitted, self._written)
        self._keep_company(background.warm(self))
        self._keep_company(background.tend_for_ever(self))

    def _keep_company(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done beside requests, until the engine closes."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Save what is new, write what is left, and let go of the journal."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for entry in self.catalogue.entries.values():
            self.save(entry, now=True)
        await self.writer.close()
        self.journal.close()

    # ---- one deployment, ready to work with ----

    def entry(self, name: str) -> Entry:
        """A deployment by name."""
        found = self.catalogue.entries.get(name)
        if found is None:
            raise Unknown(f"there is no deployment called {name}")
        return found

    async def running(self, name: str, *, paused: bool = False) -> tuple[Entry, Deployment]:
        """A deployment that takes requests; with `paused`, also one that is paused."""
        entry = self.entry(name)
        if entry.status == RETIRED or (entry.status == PAUSED and not paused):
            raise Paused(f"{name} is {entry.status}")
        if entry.live is None or entry.busy is not None:
            return await self.live(name)
        entry.touched = self.clock()
        return entry, entry.live

    async def live(self, name: str) -> tuple[Entry, Deployment]:
        """A deployment, folded and with nobody working on it."""
        entry = self.entry(name)
        while entry.busy is not None or entry.live is None:
            if entry.busy is not None:
                await entry.busy
                continue
            async with self.alone(name):
                pass
        entry.touched = self.clock()
        return entry, entry.live

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[tuple[Entry, Deployment]]:
        """Keep others from a deployment, with all it did so far written, until this is left."""
        entry = self.entry(name)
        while entry.busy is not None:
            await entry.busy
        entry.busy = asyncio.get_running_loop().create_future()
        try:
            await self.commit()
            if entry.live is None:
                entry.live = await self.folded(entry)
                entry.unsaved = entry.live.number - entry.live.saved  # what was replayed now need not be again
            yield entry, entry.live
        finally:
            done, entry.busy = entry.busy, None
            done.set_result(None)

    @staticmethod
    def check_known(entry: Entry) -> None:
        """Refuse to go on with a deployment that was forgotten while one was alone with it."""
        if entry.live is None:
            raise Unavailable("the store was lost meanwhile; ask again")

    async def folded(self, entry: Entry, **options: Any) -> Deployment:
        """A deployment from its journal, at the time it has come to; options are those of `fold`."""
        try:
            live = await asyncio.to_thread(fold, self.journal, entry.stream, entry.made, **options)
        except JournalError:
            raise Unavailable("the store cannot be read just now; ask again") from None
        now = self.clock()
        live.go_on_from(live.at if entry.live is None else entry.live.time(now), now)
        if live.ahead and entry.live is None:
            facts = {"deployment": entry.made.name, "ahead_s": round(live.ahead / 1e6, 1)}
            log.warning("events of a deployment lie ahead of the clock: it goes on from there", extra={"facts": facts})
        return live

    def defaults(self, live: Deployment, now: int) -> list[Happened]:
        """Record default outcomes of decisions whose window has passed; they must be written."""
        return [live.default(ref, now) for ref in live.overdue(now, self.catalogue.leaps)[:MOST_DEFAULTS]]

    def oldest_answer(self, now: int) -> int:
        """When the oldest answer was given that is kept."""
        return self.catalogue.leaps.back(now, ANSWERS_US)

    # ---- writing ----

    def write(self, entry: Entry, happened: Sequence[Happened], answers: Sequence[Answer] = ()) -> Awaitable[None]:
        """Hand what happened to a deployment to the writer, before anything else can happen to it."""
        outcomes = {event.ref: body for event, body in happened if event.ref >= 0}
        if outcomes:
            entry.settled |= outcomes
        entry.writing += 1
        entry.unsaved += len(happened)
        done = self.writer.submit([event for event, _ in happened], answers, mark=(entry, outcomes))
        waiting = 0 if entry.live is None else len(entry.live.waiting)
        if entry.unsaved >= max(SNAPSHOT_EVERY, PER_PENDING * waiting):  # the more wait, the longer a snapshot takes
            self.save(entry)
        return done

    @staticmethod
    def _written(mark: tuple[Entry, dict[int, Body]]) -> None:
        """A commit of a deployment is done, or has failed."""
        entry, outcomes = mark
        entry.writing -= 1
        for ref in outcomes:
            entry.settled.pop(ref, None)

    async def answer(self, entry: Entry, happened: Sequence[Happened], key: Keyed, reply: Reply) -> Reply:
        """Write what a request did, and answer it after the commit."""
        await waited(self.write(entry, happened, key.answers(reply, self.clock())))
        return reply

    async def commit(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Have something written, after all that was handed over before, and wait for it."""
        await waited(self.writer.submit(events, answers, snapshots))

    def save(self, entry: Entry, *, now: bool = False) -> None:
        """Have a snapshot written, if there is anything new in it; a large one is made in a thread, unless `now`."""
        live = entry.live
        if live is None or not entry.unsaved or entry.busy is not None or not live.number:
            return
        entry.unsaved = 0
        if now or len(live.waiting) + len(live.units) < MANY:
            self.writer.submit(snapshots=[live.snapshot()])
        else:
            self._keep_company(self._save_later(live.draft(), self.writer.era))

    async def _save_later(self, draft: Callable[[], Snapshot], era: int) -> None:
        """Make a snapshot while work goes on. If a commit fails meanwhile, it holds what never happened: it is void."""
        snapshot = await asyncio.to_thread(draft)
        self.writer.submit(snapshots=[snapshot], era=era)

    def _forget_uncommitted(self) -> None:
        """A commit failed: what was done on top of it is folded anew when it is next needed.

        Of a store apart everything is: it may have fallen, and have come back without what it had not flushed.
        """
        for entry in self.catalogue.entries.values():
            if entry.writing or self.journal.apart:
                entry.live = None
                entry.settled.clear()

    def doubt(self, name: str | None) -> None:
        """Something unforeseen happened to a deployment: believe the journal, not what is in memory."""
        entry = self.catalogue.entries.get(name or "")
        if entry is not None:
            entry.live = None

    # ---- keys of requests ----

    async def once(self, key: Keyed, work: Callable[[], Awaitable[Reply]]) -> Reply:
        """Do a request, or answer it as it was answered before."""
        if not key.key:
            return await work()
        if key.key in self._in_flight:
            raise Busy("a request with this idempotency key is under way: ask again when it is done")
        self._in_flight.add(key.key)
        try:
            found: Answer | None = await self.look(self.journal.answer, key.key)
            if found is None:
                return await work()
            if found.print != key.print:
                raise KeyReused("this idempotency key was used for another request")
            self.counts["replayed", ""] += 1
            return found.status, found.body
        finally:
            self._in_flight.discard(key.key)

    async def look(self, ask: Callable[..., T], *args: Any) -> T:
        """Ask the journal, here if that is quick."""
        try:
            return ask(*args) if self.journal.quick else await asyncio.to_thread(ask, *args)
        except JournalError:
            raise Unavailable("the store cannot be read just now; ask again") from None


async def waited(done: Awaitable[None]) -> None:
    """Wait for a commit."""
    try:
        await done
    except JournalError:
        raise Unavailable("the store cannot be written just now; ask again, with the same key") from None
