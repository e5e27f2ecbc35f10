"""A process as a member: it renews its lease, knows who owns what, and takes slots over or hands them over.

What this process owns is decided by the store alone. The view is read at each renewal; between two renewals a slot can
only be lost by handing it over, or by being expelled, which takes longer than the lease. So a slot is owned while the
view says so, it is not being handed over, and the lease is valid by the steady clock of this process.
"""

import asyncio
import logging
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

from driftwise.service.deployments.background_tasks import log_failure
from driftwise.service.deployments.catalogue import RETIRED, DeploymentEntry
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.readiness import READ
from driftwise.service.http.errors import Unavailable
from driftwise.service.members.balance import Plan, plan_moves
from driftwise.service.members.catalogue_lock import CatalogueLock
from driftwise.service.members.roster import (
    CATALOGUE_SLOT,
    LEASE_S,
    NOBODY,
    RENEW_S,
    SLOTS,
    Member,
    Roster,
    RosterView,
    slot_of,
)
from driftwise.service.store.journal import ExpelledError, JournalError, SharedJournal

MAX_USED = 16  # slots with deployments that are handed over at a time
log = logging.getLogger("driftwise.service")


class Membership:
    """The part of this process in the roster of its store."""

    def __init__(self, engine: Engine, journal: SharedJournal, roster: Roster, address: str) -> None:
        self.engine, self.journal, self.roster, self.address = engine, journal, roster, address
        self.secret = secrets.token_urlsafe(32)
        self.view = RosterView({}, [NOBODY] * (SLOTS + 1), -1)
        self.problem: JournalError | None = None  # of the last renewal
        self.lock = CatalogueLock(self)
        self.draining = False
        self.takeovers = 0  # members that this one has expelled
        self.on_gone: Callable[[int], None] = lambda _: None  # called with the id of a member that is gone
        self._mine: set[int] = set()
        self._leaving: set[int] = set()
        self._moves = 0  # counts what was handed over, so that an older view is told from a newer
        self._valid_until = self._renewed = -1.0
        self._steady = False  # whether the renewal before the last was recent
        self._joined = False
        self._changed = asyncio.Event()
        self._level: object = None  # the view that needs no more moves
        self._sizes: tuple[int, Counter[int]] = (-1, Counter())
        self._tasks: set[asyncio.Task[None]] = set()
        self._one_renewal = asyncio.Lock()
        self._renewing: asyncio.Task[bool] | None = None
        self._handing_over: asyncio.Task[None] | None = None

    @property
    def id(self) -> int:
        """The id of this member."""
        return self.journal.member

    # ---- beginning and end ----

    async def join(self) -> None:
        """Join, and own what has no owner, before the engine starts."""
        self.engine.owns = self.owns
        await self._join()
        await self._renew()

    def start(self) -> None:
        """Start to renew the lease; the engine has started."""
        self.engine.catalogue_lock = self.lock
        self._start_task(self._run())

    async def drain(self) -> bool:
        """Hand everything over, as long as there is another member to own it; returns whether all is handed over."""
        self.draining = True
        while await self._renew_once():
            plan = plan_moves(self.view, self._n_deployments(), leaving=self.id)
            if not self._mine or not plan:
                break
            await self._hand_over(plan)
        return not self._mine and any(each.ready and id != self.id for id, each in self.view.members.items())

    async def close(self) -> None:
        """Leave; the engine has written everything and is closed."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await asyncio.to_thread(self.roster.leave, self.id)
        except JournalError as error:
            log.warning("the roster was not left", extra={"facts": {"why": str(error)}})
        self.roster.close()

    def _start_task(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(log_failure)
        return task

    # ---- who owns what ----

    def owns(self, stream: int) -> bool:
        """Whether this process owns a stream now."""
        slot = slot_of(stream)
        return slot in self._mine and slot not in self._leaving and time.monotonic() < self._valid_until

    @property
    def valid(self) -> bool:
        """Whether the lease is valid, by the steady clock of this process."""
        return time.monotonic() < self._valid_until

    def owner(self, stream: int) -> Member | None:
        """The member that owns a stream, as far as is known; None while there is none, or it is handed over."""
        slot = slot_of(stream)
        if slot in self._leaving or not self.valid:
            return None
        member = self.view.members.get(self.view.owners[slot])
        return None if member is None or member.expired else member

    @property
    def n_slots(self) -> int:
        """How many slots this process owns."""
        return len(self._mine)

    async def wait_for_change(self, seconds: float) -> None:
        """Wait until the view has changed, or for so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # ---- renewals ----

    async def _run(self) -> None:
        while True:
            start = time.monotonic()
            try:
                await self._renew()
            except Exception:
                log.exception("a renewal failed")
            await asyncio.sleep(max(0.05, RENEW_S - (time.monotonic() - start)))

    async def _renew(self) -> None:
        """Renew the lease; then see to members that are gone, to slots without an owner, and to the balance."""
        if not await self._renew_once():
            return
        if await self._expel() | await self._claim():
            await self._renew_once()
        if not self.draining and (self._handing_over is None or self._handing_over.done()):
            plan = self._plan()
            if any(self.view.owners[slot] == self.id for slot in plan):
                self._handing_over = self._start_task(self._hand_over(plan))
        await self.lock.tend()

    async def renew_now(self) -> None:
        """Renew, to learn who owns what; requests that come at the same time share one renewal."""
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.ensure_future(self._renew_once())
        await asyncio.shield(self._renewing)

    async def _renew_once(self) -> bool:
        """Renew, and apply the view; returns whether it worked."""
        async with self._one_renewal:
            return await self._renew_and_apply()

    async def _renew_and_apply(self) -> bool:
        start, moves = time.monotonic(), self._moves
        try:
            if not self._joined:
                await self._rejoin()
            view = await asyncio.to_thread(self.roster.renew, self.id, ready=self._ready)
        except ExpelledError:
            log.warning("this process was expelled: its deployments have another owner")
            self._lose_all()
            self._joined = False
            return False
        except (JournalError, Unavailable) as error:
            self.problem = error if isinstance(error, JournalError) else JournalError(str(error))
            self.engine.readiness.failed(READ, self.problem)
            self._wake()
            return False
        self.problem = None
        self._steady = start - self._renewed < LEASE_S
        self._renewed, self._valid_until = start, start + LEASE_S
        if moves == self._moves:
            self._apply(view)
        if view.catalogue >= self.engine.catalogue.number:
            await self.lock.follow()
        self._wake()
        return True

    @property
    def _ready(self) -> bool:
        return self.engine.readiness.warm and not self.draining

    async def _rejoin(self) -> None:
        await self.engine.do_chore(self.journal.enter)
        await self._join()

    async def _join(self) -> None:
        member = Member(self.id, self.address, self.secret, self._ready)
        await asyncio.to_thread(self.roster.join, member)
        self._joined = True
        log.info("joined", extra={"facts": {"member": f"{self.id:016x}", "address": self.address}})

    def _apply(self, view: RosterView) -> None:
        """Follow the view: forget what was lost, and be prepared for what was gained."""
        mine = {slot for slot, owner in enumerate(view.owners) if owner == self.id and slot != CATALOGUE_SLOT}
        if mine != self._mine:
            gained, lost = mine - self._mine, self._mine - mine
            for entry in self.engine.catalogue.entries.values():
                slot = slot_of(entry.stream)
                if slot in gained or slot in lost:
                    self._forget(entry)
            self._mine = mine
            self._start_task(self._load(gained))
        gone = self.view.members.keys() - view.members.keys()
        self.view = view
        for id in gone:
            self.on_gone(id)

    def _forget(self, entry: DeploymentEntry) -> None:
        """Another process may have written, or will: what is known of a deployment is in the journal only."""
        self.journal.forget(entry.stream)
        entry.discard("it has another owner")
        entry.settled.clear()
        entry.damage, entry.lost, entry.summary, entry.unsaved = None, False, None, 0

    async def _load(self, gained: set[int]) -> None:
        """Fold deployments with reward windows that may have passed; others are folded when they are needed."""
        for name, entry in list(self.engine.catalogue.entries.items()):
            if slot_of(entry.stream) in gained and entry.initial.reward_window is not None and entry.status != RETIRED:
                try:
                    await self.engine.live(name)
                except Exception as error:
                    log.debug("a deployment was not loaded", extra={"facts": {"deployment": name, "why": str(error)}})

    def _lose_all(self) -> None:
        for entry in self.engine.catalogue.entries.values():
            self._forget(entry)
        self._mine, self._valid_until = set(), -1.0
        self.lock.lose()
        self._wake()

    # ---- other members, and moves ----

    async def _expel(self) -> bool:
        """Expel members whose lease has expired, unless this process has itself slept: they may have, too."""
        gone = False
        for id, member in self.view.members.items():
            if member.expired and self._steady and id != self.id and await self._try(self.roster.expel, id):
                log.warning(
                    "a member was expelled: its lease has expired", extra={"facts": {"address": member.address}}
                )
                self.takeovers += 1
                self.on_gone(id)
                gone = True
        if gone:
            await self._renew_once()
        return gone

    async def _claim(self) -> bool:
        """Give owners to slots that have none."""
        view = self.view
        groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for slot, new in self._plan().items():
            if view.owners[slot] not in view.members:
                groups[view.owners[slot], new].append(slot)
        for (old, new), slots in groups.items():
            await self._try(self.roster.move, slots, old, new)
        return bool(groups)

    def _plan(self) -> Plan:
        """The plan for the present view; nothing, if it was empty for the same view before."""
        ready = [id for id, member in sorted(self.view.members.items()) if member.ready and not member.expired]
        view = ready, list(self.view.members), self.view.owners, self.engine.catalogue.number
        if view == self._level:
            return {}
        plan = plan_moves(self.view, self._n_deployments(), leaving=self.id if self.draining else None)
        if not plan:
            self._level = view
        return plan

    def _n_deployments(self) -> Counter[int]:
        """How many deployments are in each slot."""
        catalogue = self.engine.catalogue
        if self._sizes[0] != catalogue.number:
            entries = catalogue.entries.values()
            self._sizes = (
                catalogue.number,
                Counter(slot_of(entry.stream) for entry in entries if entry.status != RETIRED),
            )
        return self._sizes[1]

    async def _hand_over(self, plan: Plan) -> None:
        """Hand slots over: finish what is begun, save, write everything, and let others own them."""
        sizes, mine = self._n_deployments(), {slot for slot in plan if slot in self._mine}
        used = [slot for slot in sorted(mine) if sizes[slot]]
        slots = mine - set(used[MAX_USED:])
        self._leaving |= slots
        try:
            for entry in list(self.engine.catalogue.entries.values()):
                if slot_of(entry.stream) in slots:
                    await self._let_go(entry)
            await self.engine.commit()
            for new in {plan[slot] for slot in slots}:
                group = [slot for slot in slots if plan[slot] == new]
                self._note(await asyncio.to_thread(self.roster.move, group, self.id, new), new)
        except (JournalError, Unavailable) as error:  # the next view says who owns them
            log.warning("slots were not handed over", extra={"facts": {"why": str(error)}})
        finally:
            self._moves += 1
            self._mine -= slots
            self._leaving -= slots
            self._wake()

    def _note(self, slots: Iterable[int], new: int) -> None:
        for slot in slots:
            self.view.owners[slot] = new

    async def _let_go(self, entry: DeploymentEntry) -> None:
        while entry.busy is not None:
            await entry.busy
        self.engine.save(entry, now=True)
        self._forget(entry)
        await asyncio.sleep(0)

    async def _try(self, work: Callable[..., object], *args: object) -> bool:
        try:
            return bool(await asyncio.to_thread(work, *args))
        except JournalError as error:
            log.warning("the roster could not be changed", extra={"facts": {"why": str(error)}})
            return False
