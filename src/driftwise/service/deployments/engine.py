"""The engine: all deployments in one event loop, and the path from a request to the journal.

A request is done in memory at once, so that the next one sees it, and answered after the writer has committed it. When
a commit fails, the deployments it touched are discarded and folded again from the journal: what was not committed
never happened. What takes long (a fold, a compilation, a replay) runs in a thread, and only requests for that
deployment wait.

The operations on deployments are in `decisions`, `admin` and `queries`; periodic work is in `background_tasks`.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from driftwise.errors import DriftwiseError
from driftwise.service.deployments import background_tasks as background
from driftwise.service.deployments.catalogue import PAUSED, RETIRED, Damage, DeploymentEntry, read_catalogue
from driftwise.service.deployments.clock import Clock
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.idempotency import IdempotencyKey, Replayed, Reply
from driftwise.service.deployments.loading import LONG, load, wait_patiently
from driftwise.service.deployments.readiness import READ, WRITTEN, Readiness
from driftwise.service.deployments.replay_process import ReplayProcess, ReplayProcessError
from driftwise.service.http.errors import (
    Damaged,
    IdempotencyKeyReused,
    NotFound,
    NotOwner,
    NotRunning,
    RequestInProgress,
    Unavailable,
)
from driftwise.service.store.events import Body, body_of
from driftwise.service.store.journal import Answer, DamagedError, Event, Journal, JournalError, Snapshot
from driftwise.service.store.writer import Chore, Writer

SNAPSHOT_EVERY = 10_000  # events
PER_PENDING = 4  # and this many events for each pending decision
MANY = 1_000  # pending decisions and units of a snapshot that is worth a thread
KEEP_ANSWERS_S = 48 * 3600.0  # how long an idempotency key is remembered
MAX_DEFAULTS = 5_000  # recorded at a time
P = ParamSpec("P")
T = TypeVar("T")
NewEvent = tuple[Event, Body]
log = logging.getLogger("driftwise.service")


class Engine:
    """See the module. `clock` is an argument so that tests can control time.

    Answers are kept for `keep_answers_s` seconds; `archive` is the folder for events that a retention drops.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        clock: Clock | None = None,
        keep_answers_s: float = KEEP_ANSWERS_S,
        archive: Path | None = None,
    ) -> None:
        self.journal, self.clock = journal, clock or Clock()
        self.keep_answers_us, self.archive = int(1e6 * keep_answers_s), archive
        self.catalogue = read_catalogue(journal)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.readiness = Readiness()
        self.writer: Writer[tuple[DeploymentEntry, dict[int, Body]]]
        self.catalogue_lock: AbstractAsyncContextManager[None]
        self.owns: Callable[[int], bool] = lambda stream: True  # whether this process may write to a stream
        self.dropped: set[int] = set()  # streams of deleted deployments that were dropped since the start
        self.replays, self.one_replay, self.long_replay = ReplayProcess(), asyncio.Lock(), LONG
        self._in_flight: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- beginning and end ----

    async def start(self, *, in_background: bool = True) -> None:
        """Start the writer and the background tasks, which compile kernels and do periodic work in all deployments."""
        self.catalogue_lock = asyncio.Lock()
        self.writer = Writer(self.journal, self._committed, self._written)
        for task in background.TASKS if in_background else ():
            self.start_task(task(self))

    def start_task(
        self, work: Coroutine[Any, Any, None], at_end: Callable[[asyncio.Task[None]], None] = background.log_failure
    ) -> asyncio.Task[None]:
        """Start a background task, which ends with the engine at the latest."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(at_end)
        return task

    async def close(self) -> None:
        """Save snapshots, write the rest, and close the journal."""
        self.replays.end()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for entry in self.catalogue.entries.values():
            self.save(entry, now=True)
        await self.writer.close()
        self.journal.close()

    # ---- one deployment, loaded ----

    def entry(self, name: str) -> DeploymentEntry:
        """A deployment by name."""
        entry = self.catalogue.entries.get(name)
        if entry is None:
            raise NotFound(f"there is no deployment {name!r}")
        return entry

    async def running(self, name: str, *, paused: bool = False) -> tuple[DeploymentEntry, Deployment]:
        """A deployment that accepts requests; with `paused`, also one that is paused."""
        entry = self.entry(name)
        if entry.status == RETIRED or (entry.status == PAUSED and not paused):
            raise NotRunning(f"deployment {name} is {entry.status}")
        if entry.live is None or entry.busy is not None:
            return await self.live(name)
        self._check_owner(entry)
        entry.touched = self.clock()
        return entry, entry.live

    async def live(self, name: str) -> tuple[DeploymentEntry, Deployment]:
        """A deployment, folded and not in exclusive use; `touched` of its entry is now."""
        entry = self.entry(name)
        while entry.busy is not None or entry.live is None:
            if entry.busy is None:
                self._check_owner(entry)
                if entry.lost:
                    raise damaged_error(entry)
            await wait_patiently(entry, entry.busy or self.start_task(self._load(entry), background.ignore_failure))
        self._check_owner(entry)
        entry.touched = self.clock()
        return entry, entry.live

    async def _load(self, entry: DeploymentEntry) -> None:
        if entry.busy is not None or entry.live is not None:
            return  # another request was first
        async with self._busy(entry):
            entry.live = await load(self, entry)
            entry.unsaved = entry.live.number - entry.live.saved  # the next snapshot spares this replay

    @asynccontextmanager
    async def exclusive(self, name: str) -> AsyncIterator[tuple[DeploymentEntry, Deployment]]:
        """Use a deployment exclusively, with all its events written, until the block ends."""
        entry, _ = await self.live(name)
        async with self._busy(entry):
            self.check_not_discarded(entry)
            assert entry.live is not None
            yield entry, entry.live

    @asynccontextmanager
    async def unloaded(self, name: str) -> AsyncIterator[DeploymentEntry]:
        """Use a deployment exclusively that is not in memory, as one that cannot be folded, until the block ends."""
        entry = self.entry(name)
        while entry.busy is not None:
            await entry.busy
        self._check_owner(entry)
        if entry.live is not None:
            raise Unavailable("the deployment was loaded meanwhile; repeat the request")
        async with self._busy(entry):
            yield entry

    @asynccontextmanager
    async def _busy(self, entry: DeploymentEntry) -> AsyncIterator[None]:
        entry.busy = asyncio.get_running_loop().create_future()
        try:
            await self.commit()
            yield
        finally:
            free, entry.busy = entry.busy, None
            free.set_result(None)

    def _check_owner(self, entry: DeploymentEntry) -> None:
        if not self.owns(entry.stream):
            raise NotOwner(f"deployment {entry.initial.name} has another owner; repeat the request")

    @staticmethod
    def check_not_discarded(entry: DeploymentEntry) -> None:
        """Fail if the deployment was discarded during exclusive use."""
        if entry.live is None:
            raise Unavailable("the store failed meanwhile; repeat the request")

    def defaults(self, live: Deployment, now: int) -> list[NewEvent]:
        """Record default outcomes of decisions whose window has passed; the caller must write the events."""
        return [live.default(ref, now) for ref in live.overdue(now, self.catalogue.leaps)[:MAX_DEFAULTS]]

    def oldest_answer(self, now: int) -> int:
        """The time of the oldest answer to keep."""
        return self.catalogue.leaps.back(now, self.keep_answers_us)

    # ---- writing ----

    def write(
        self, entry: DeploymentEntry, new_events: Sequence[NewEvent], answers: Sequence[Answer] = ()
    ) -> Awaitable[bool]:
        """Pass new events of a deployment to the writer, before anything else happens to it."""
        outcomes = {event.ref: body for event, body in new_events if event.ref >= 0}
        if outcomes:
            entry.settled |= outcomes
        entry.writing += 1
        entry.unsaved += len(new_events)
        commit = self.writer.submit([event for event, _ in new_events], answers, mark=(entry, outcomes))
        if entry.live is not None and entry.unsaved >= _snapshot_every(entry.live):
            self.save(entry)
        return commit

    @staticmethod
    def _written(mark: tuple[DeploymentEntry, dict[int, Body]]) -> None:
        """A commit of a deployment is done or has failed."""
        entry, outcomes = mark
        entry.writing -= 1
        for ref in outcomes:
            entry.settled.pop(ref, None)

    async def answer(
        self, entry: DeploymentEntry, new_events: Sequence[NewEvent], key: IdempotencyKey, reply: Reply
    ) -> Reply:
        """Write the events of a request, and return its reply after the commit."""
        answers = key.answers(reply, entry.touched) if key.key else ()
        await wait_for_commit(self.write(entry, new_events, answers))
        return reply

    async def commit(
        self, events: Sequence[Event] = (), answers: Sequence[Answer] = (), snapshots: Sequence[Snapshot] = ()
    ) -> None:
        """Write after all that was submitted before, and wait for the commit."""
        await wait_for_commit(self.writer.submit(events, answers, snapshots))

    async def do_chore(self, chore: Chore) -> bool:
        """Do work on the store after all that was submitted before; returns whether there is more to do."""
        return await wait_for_commit(self.writer.submit(chore=chore))

    def save(self, entry: DeploymentEntry, *, now: bool = False) -> None:
        """Write a snapshot, if there are new events; a large one is made in a thread, unless `now`."""
        live = entry.live
        if live is None or live.provisional or not entry.unsaved or entry.busy is not None or not live.number:
            return
        entry.unsaved = 0
        if now or len(live.pending) + len(live.units) < MANY:
            self.writer.submit(snapshots=[live.snapshot()])
        else:
            self.start_task(self._save_later(live.freeze(), self.writer.era))

    async def _save_later(self, draft: Callable[[], Snapshot], era: int) -> None:
        """Make a snapshot while requests go on. If a commit fails meanwhile, the snapshot is void."""
        snapshot = await asyncio.to_thread(draft)
        if self.owns(snapshot.stream):
            self.writer.submit(snapshots=[snapshot], era=era)

    def _committed(self, error: JournalError | None) -> None:
        """A commit is done or has failed."""
        if error is None:
            self.readiness.wrote()
        else:
            self.readiness.failed(WRITTEN, error)
            self._discard_uncommitted()

    def _discard_uncommitted(self) -> None:
        """Discard the deployments with events in a commit that failed; they are folded again when needed.

        With a remote store all are discarded: it may have restarted without what it had not flushed.
        """
        for entry in self.catalogue.entries.values():
            if entry.writing or self.journal.remote:
                entry.discard("a commit failed")
                entry.settled.clear()

    def discard_after_failure(self, name: str | None) -> None:
        """Discard a deployment after an unexpected failure: the journal is right, memory may not be."""
        entry = self.catalogue.entries.get(name or "")
        if entry is not None:
            entry.discard("a request failed unexpectedly")

    # ---- idempotency ----

    async def run_once_per_key(self, key: IdempotencyKey, work: Callable[[], Awaitable[T]]) -> T | Reply:
        """Do a request, or return the stored answer of the same request."""
        if not key.key:
            return await work()
        if key.key in self._in_flight:
            raise RequestInProgress("a request with this idempotency key is in progress; repeat it later")
        self._in_flight.add(key.key)
        try:
            stored = await self._stored_answer(key.key)
            if stored is None:
                return await work()
            if stored.fingerprint != key.fingerprint:
                raise IdempotencyKeyReused("this idempotency key was used for a different request")
            self.counts["replayed", ""] += 1
            return Replayed(stored.status, stored.body)
        finally:
            self._in_flight.discard(key.key)

    async def _stored_answer(self, key: str) -> Answer | None:
        try:
            return await self.query(self.journal.answer, key)
        except DamagedError as error:
            log.error("an answer is damaged", extra={"facts": {"why": str(error)}})
            raise Damaged("the answer to this idempotency key is damaged: whether it was done is unknown") from None

    # ---- reading ----

    async def query(self, read: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Read from the journal, without a thread if that is fast. Damage is for the caller to report."""
        try:
            if self.journal.fast_reads:
                return read(*args, **options)
            return await asyncio.to_thread(read, *args, **options)
        except DamagedError:
            raise
        except JournalError as error:
            raise self.unreadable(error) from None

    async def read_in_thread(
        self, entry: DeploymentEntry, work: Callable[P, T], *args: P.args, **options: P.kwargs
    ) -> T:
        """Run work in a thread that reads the journal of a deployment."""
        try:
            return await asyncio.to_thread(work, *args, **options)
        except DamagedError as error:
            if isinstance(error.__cause__, DriftwiseError) and options.get("policy") is not None:
                raise error.__cause__ from None  # the new policy cannot replay this journal
            raise self.damaged(entry, error) from None
        except JournalError as error:
            raise self.unreadable(error) from None
        except ReplayProcessError:
            raise
        except (OSError, MemoryError) as error:
            log.exception("a deployment could not be loaded", extra={"facts": {"deployment": entry.initial.name}})
            why = f"deployment {entry.initial.name} could not be loaded ({type(error).__name__}); repeat the request"
            raise Unavailable(why) from None

    async def outcome(self, entry: DeploymentEntry, id: int) -> Body | None:
        """The outcome of a decision in the journal, or its cancellation; None where there is none."""
        try:
            event = await self.query(self.journal.outcome, entry.stream, id)
            body: Body | None = None if event is None else body_of(event)
            return body
        except DamagedError as error:
            raise self.damaged(entry, error) from None

    def unreadable(self, error: JournalError) -> Unavailable:
        """The error for a store that could not be read."""
        self.readiness.failed(READ, error)
        return Unavailable(f"the store cannot be read now ({error.reason}); repeat the request")

    def damaged(self, entry: DeploymentEntry, error: DamagedError) -> Damaged:
        """The error for a damaged journal. It is logged once."""
        if entry.damage is None:
            facts = {"deployment": entry.initial.name, "event_number": error.event, "why": str(error)}
            log.error("the journal of a deployment is damaged", extra={"facts": facts})
            entry.damage = Damage(str(error), error.event)
        return damaged_error(entry)

    @property
    def ready(self) -> bool:
        """Whether requests are served, as far as is known."""
        return self.readiness.reason is None

    @property
    def damaged_names(self) -> list[str]:
        """The deployments with a journal known to be damaged."""
        entries = self.catalogue.entries.items()
        return [name for name, entry in entries if entry.damage is not None and entry.status != RETIRED]


def _snapshot_every(live: Deployment) -> int:
    """Events between snapshots: one takes longer the more decisions are pending; a retention needs some to cut at."""
    retention = live.spec.retention
    every = SNAPSHOT_EVERY if retention is None or retention.events is None else min(SNAPSHOT_EVERY, retention.events)
    return max(every, PER_PENDING * len(live.pending))


def damaged_error(entry: DeploymentEntry) -> Damaged:
    """The error for a deployment with a damaged journal."""
    damage = entry.damage or Damage("its journal cannot be read", None)
    return Damaged(f"deployment {entry.initial.name} is damaged: {damage.why}", damage.event)


async def wait_for_commit(commit: Awaitable[bool]) -> bool:
    """Wait for a commit; returns what its chore does."""
    try:
        return await commit
    except JournalError as error:
        why = f"the store cannot be written now ({error.reason}); repeat the request with the same idempotency key"
        raise Unavailable(why) from None
