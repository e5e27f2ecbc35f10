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

from driftwise.errors import DriftwiseError
from driftwise.service.deployments import background_tasks as background
from driftwise.service.deployments.catalogue import PAUSED, RETIRED, Damage, Entry, read_catalogue
from driftwise.service.deployments.clock import Clock
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.fold import fold
from driftwise.service.deployments.readiness import ANSWER_S, READ, WRITTEN, Readiness, Ready
from driftwise.service.http.errors import Busy, Damaged, KeyReused, Paused, Unavailable, Unknown
from driftwise.service.store.events import Body, body_of
from driftwise.service.store.journal import Answer, DamagedError, Event, Journal, JournalError, Snapshot
from driftwise.service.store.writer import Writer

SNAPSHOT_EVERY = 10_000  # events
PER_PENDING = 4  # and this many events for each decision that waits
MANY = 1_000  # decisions and units of a snapshot that is worth a thread
ANSWERS_US = 48 * 3600 * 1_000_000  # how long a key is remembered
MOST_DEFAULTS = 5_000  # recorded in one go
T = TypeVar("T")
Reply = tuple[int, bytes]
Happened = tuple[Event, Body]
log = logging.getLogger("driftwise.service")


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
        self.catalogue = read_catalogue(journal)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.readiness = Readiness()
        self.writer: Writer
        self.cataloguing: asyncio.Lock
        self._in_flight: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._trial: asyncio.Task[None] | None = None

    # ---- beginning and end ----

    async def start(self) -> None:
        """Begin to write; in the background, warm the kernels of every kind of deployment and tend to time."""
        self.cataloguing = asyncio.Lock()
        self.writer = Writer(self.journal, self._committed, self._written)
        self._keep_company(background.warm(self))
        self._keep_company(background.tend_for_ever(self))

    def _keep_company(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have something done beside requests, until the engine closes."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(background.ended)
        return task

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
        if entry.lost:
            raise refusal_of(entry)
        entry.busy = asyncio.get_running_loop().create_future()
        try:
            await self.commit()
            if entry.live is None:
                entry.live = await self._folded_or_lost(entry)
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

    async def _folded_or_lost(self, entry: Entry) -> Deployment:
        try:
            return await self.folded(entry)
        except Damaged:
            entry.lost = True  # it is not tried again and again
            raise

    async def folded(self, entry: Entry, **options: Any) -> Deployment:
        """A deployment from its journal, at the time it has come to; options are those of `fold`."""
        live: Deployment = await self.read_of(entry, fold, self.journal, entry.stream, entry.made, **options)
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

    def _committed(self, error: JournalError | None) -> None:
        """A commit is done, or has failed."""
        if error is None:
            self.readiness.wrote()
        else:
            self.readiness.failed(WRITTEN, error)
            self._forget_uncommitted()

    def _forget_uncommitted(self) -> None:
        """A commit failed: what was done on top of it is folded anew when it is next needed.

        Of a store apart everything is: it may have fallen, and have come back without what it had not flushed.
        """
        for entry in self.catalogue.entries.values():
            if entry.writing or self.journal.apart:
                entry.discard("a commit failed")
                entry.settled.clear()

    def doubt(self, name: str | None) -> None:
        """Something unforeseen happened to a deployment: believe the journal, not what is in memory."""
        entry = self.catalogue.entries.get(name or "")
        if entry is not None:
            entry.discard("a request failed unexpectedly")

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

    # ---- reading ----

    async def look(self, ask: Callable[..., T], *args: Any) -> T:
        """Ask the journal, here if that is quick."""
        try:
            return ask(*args) if self.journal.quick else await asyncio.to_thread(ask, *args)
        except JournalError as error:
            raise self.unreadable(error) from None

    async def read_of(self, entry: Entry, work: Callable[..., T], *args: Any, **options: Any) -> T:
        """Do something in a thread that reads the journal of a deployment."""
        try:
            return await asyncio.to_thread(work, *args, **options)
        except DamagedError as error:
            if isinstance(error.__cause__, DriftwiseError) and options.get("policy") is not None:
                raise error.__cause__ from None  # what was asked for does not go with what is there
            raise self.damaged(entry, error) from None
        except JournalError as error:
            raise self.unreadable(error) from None
        except (OSError, MemoryError) as error:
            log.exception("a deployment could not be loaded", extra={"facts": {"deployment": entry.made.name}})
            why = f"deployment {entry.made.name} could not be loaded ({type(error).__name__}); ask again"
            raise Unavailable(why) from None

    def body_of(self, entry: Entry, event: Event) -> Any:
        """What an event of a deployment says."""
        try:
            return body_of(event)
        except DamagedError as error:
            raise self.damaged(entry, error) from None

    def unreadable(self, error: JournalError) -> Unavailable:
        """The store could not be read: what to answer."""
        self.readiness.failed(READ, error)
        return Unavailable(f"the store cannot be read just now ({error.reason}); ask again")

    def damaged(self, entry: Entry, error: DamagedError) -> Damaged:
        """The journal of a deployment is damaged: what to answer. The log is told once."""
        if entry.damage is None:
            facts = {"deployment": entry.made.name, "event_number": error.event, "why": str(error)}
            log.error("the journal of a deployment is damaged", extra={"facts": facts})
            entry.damage = Damage(str(error), error.event)
        return refusal_of(entry)

    # ---- is it ready ----

    @property
    def ready(self) -> bool:
        """Whether requests can be served, as far as is known."""
        return self.readiness.reason is None

    async def check_ready(self) -> Ready:
        """Whether requests can be served. Where nothing was written of late, the store is tried, but not for long."""
        reason = self.readiness.reason
        if reason is None and self.readiness.idle:
            if self._trial is None or self._trial.done():
                self._trial = self._keep_company(background.try_store(self))
            done, _ = await asyncio.wait([self._trial], timeout=ANSWER_S)
            reason = self.readiness.reason if done else f"the store has not answered for {ANSWER_S:g} seconds"
        return Ready(reason is None, reason, self.damaged_names)

    @property
    def damaged_names(self) -> list[str]:
        """The deployments whose journal is known to be damaged."""
        entries = self.catalogue.entries.items()
        return [name for name, entry in entries if entry.damage is not None and entry.status != RETIRED]


def refusal_of(entry: Entry) -> Damaged:
    """What is answered for a deployment whose journal is damaged."""
    damage = entry.damage or Damage("its journal cannot be read", None)
    return Damaged(f"deployment {entry.made.name} is damaged: {damage.why}", damage.event)


async def waited(done: Awaitable[None]) -> None:
    """Wait for a commit."""
    try:
        await done
    except JournalError as error:
        why = f"the store cannot be written just now ({error.reason}); ask again, with the same key"
        raise Unavailable(why) from None
