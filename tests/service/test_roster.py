"""The roster of a store: who is a member, who owns what; and that a member that was expelled writes nothing more."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from driftwise.checks import JOURNAL_CHECKS
from driftwise.service.members.balance import plan_moves
from driftwise.service.members.postgres_roster import PostgresRoster
from driftwise.service.members.roster import NOBODY, SLOTS, Member, Roster, RosterView
from driftwise.service.members.store_server import StoreServer
from driftwise.service.members.worker_journal import WorkerJournal, WorkerRoster
from driftwise.service.store import postgres_session as sessions
from driftwise.service.store.journal import (
    Event,
    ExpelledError,
    InUseError,
    JournalError,
    SharedJournal,
    open_journal,
)
from driftwise.service.store.postgres import EVENTS, PostgresJournal
from driftwise.service.store.sqlite import SQLiteJournal
from tests.fixtures.patience import until
from tests.fixtures.postgres import Server

EMPTY: Counter[int] = Counter()
Membered = tuple[Any, Roster]  # a journal that several write to, and its roster


@pytest.fixture(params=[pytest.param("postgresql", marks=pytest.mark.system), "sqlite"])
def members(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Membered]]:
    """Two members of one store, in one process."""
    with ExitStack() as stack:
        server = None
        if request.param == "sqlite":
            journal = SQLiteJournal(tmp_path / "store.db")
            stack.callback(journal.close)
            server = StoreServer(journal, tmp_path / "server")
            stack.callback(server.close)
            members = [_worker(tmp_path) for _ in range(2)]
        else:
            store = request.getfixturevalue("postgres_server").store()
            journals = [PostgresJournal(store, shared=True) for _ in range(2)]
            members = [(each, PostgresRoster(each)) for each in journals]
        for number, (journal, roster) in enumerate(members):
            stack.callback(journal.close)
            stack.callback(roster.close)
            roster.join(Member(journal.member, f"host:{number}", "secret", ready=True))
        yield members


def _worker(folder: Path) -> "Membered":
    return WorkerJournal(folder / "store.db", folder / "server"), WorkerRoster(folder / "server")


def view_of(*members: int, owners: list[int] | None = None, ready: bool = True) -> RosterView:
    found = {id: Member(id, "", "", ready) for id in members}
    return RosterView(found, owners or [NOBODY] * (SLOTS + 1), -1)


def after(view: RosterView, plan: dict[int, int]) -> RosterView:
    return view._replace(owners=[plan.get(slot, owner) for slot, owner in enumerate(view.owners)])


def test_the_plan_levels_loads_and_then_rests() -> None:
    sizes = Counter(dict.fromkeys(range(1, 7), 1) | {40: 5})
    view = view_of(7)
    view = after(view, plan_moves(view, sizes))
    assert set(view.owners[1:]) == {7} and not plan_moves(view, sizes)
    for newcomer in (8, 9):
        view = RosterView({**view.members, newcomer: Member(newcomer, "", "", ready=True)}, view.owners, -1)
        view = after(view, plan_moves(view, sizes))
        assert not plan_moves(view, sizes)
        loads = [sum(sizes[slot] for slot in sizes if view.owners[slot] == id) for id in view.members]
        assert max(loads) - min(loads) <= 2
        empty = Counter(owner for slot, owner in enumerate(view.owners) if slot and not sizes[slot])
        assert max(empty.values()) - min(empty.values()) <= 1
    gone = RosterView({id: each for id, each in view.members.items() if id != 8}, view.owners, -1)
    plan = plan_moves(gone, sizes)
    assert {slot for slot, owner in enumerate(view.owners) if owner == 8} <= set(plan)


def test_new_deployments_alternate_between_two_members() -> None:
    view = view_of(1, 2, owners=[NOBODY, *[1] * SLOTS])
    owners = after(view, plan_moves(view, EMPTY)).owners
    assert all(owners[slot] != owners[slot + 1] for slot in range(1, SLOTS))


def test_nothing_is_planned_for_members_that_are_not_ready_unless_there_are_no_others() -> None:
    view = view_of(1, 2, ready=False)
    assert set(plan_moves(view, EMPTY).values()) == {1, 2}
    view.members[1] = view.members[1]._replace(ready=True)
    assert set(plan_moves(view, EMPTY).values()) == {1}
    assert plan_moves(view, EMPTY, leaving=1) == {}


def test_members_see_each_other_and_move_slots(members: list[Membered]) -> None:
    (one, first), (two, second) = members
    view = first.renew(one.member, ready=True)
    assert {each.address for each in view.members.values()} == {"host:0", "host:1"}
    assert view.owners == [NOBODY] * (SLOTS + 1) and view.catalogue == -1
    assert sorted(first.move([1, 2, 3], NOBODY, one.member)) == [1, 2, 3]
    assert second.move([3, 4], NOBODY, two.member) == [4]  # what has an owner is not taken
    assert first.move([3], one.member, two.member) == [3]
    owners = second.renew(two.member, ready=True).owners
    assert owners[1:5] == [one.member, one.member, two.member, two.member]
    first.leave(one.member)
    assert list(second.renew(two.member, ready=True).members) == [two.member]
    with pytest.raises(ExpelledError):
        first.renew(one.member, ready=True)


def test_two_that_claim_at_once_share(members: list[Membered]) -> None:
    (one, _), (two, _) = members
    taken: dict[int, list[int]] = {}

    def claim(journal: SharedJournal, roster: Roster) -> None:
        taken[journal.member] = [slot for slot in range(SLOTS + 1) if roster.move([slot], NOBODY, journal.member)]

    threads = [threading.Thread(target=claim, args=each) for each in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken[one.member] + taken[two.member]) == list(range(SLOTS + 1))


def test_a_member_that_was_expelled_writes_nothing_more(members: list[Membered]) -> None:
    (one, first), (two, second) = members
    one.append([Event(1, 0, 0, "decided", b"")])
    assert not second.expel(one.member)  # its lease is valid
    if isinstance(one, PostgresJournal):  # it falls asleep in the midst of a commit
        one.recover().execute("BEGIN")
        one._copy(EVENTS, [(*Event(1, 1, 0, "decided", b""), 0)])
    until(lambda: second.expel(one.member), "the end of a lease", 0.1)
    two.forget(1)
    two.append([Event(1, 1, 0, "decided", b"two")])
    for _ in range(3):
        with pytest.raises(JournalError, match=r"could not be written|took this one for dead"):
            one.append([Event(1, 1, 0, "decided", b"one")])
    with pytest.raises(ExpelledError):
        one.append([Event(1, 2, 0, "decided", b"one")])
    with pytest.raises(ExpelledError):
        first.renew(one.member, ready=True)
    assert [each.body for each in two.read(1)] == [b"", b"two"]
    one.enter()
    with pytest.raises(ExpelledError):
        one.append([Event(2, 0, 0, "decided", b"")])  # it has not joined
    first.join(Member(one.member, "host:0", "secret"))
    assert len(second.renew(two.member, ready=True).members) == 2
    one.append([Event(2, 0, 0, "decided", b"")])


def test_who_comes_after_a_crash_need_not_wait_for_the_lease(postgres_server: Server) -> None:
    store = postgres_server.store()
    journal = PostgresJournal(store, shared=True)
    before = PostgresRoster(journal)
    before.join(Member(journal.member, "gone", "secret"))
    before.close()
    journal.close()  # as the server does for a process that has died
    after = PostgresJournal(store, shared=True)
    roster = PostgresRoster(after)
    roster.join(Member(after.member, "here", "secret"))
    assert list(roster.renew(after.member, ready=True).members) == [after.member]
    roster.close()
    after.close()


def test_offline_work_is_refused_while_there_are_members(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = postgres_server.store()
    journal = PostgresJournal(store, shared=True)
    with monkeypatch.context() as patch, pytest.raises(InUseError, match="is in use by driftwise writer, process"):
        patch.setitem(sessions.SESSION_SETTINGS, "lock_timeout", "200ms")
        open_journal(store)
    journal.close()
    open_journal(store).close()


@pytest.mark.parametrize("check", JOURNAL_CHECKS, ids=lambda check: check.__name__)
def test_the_journal_of_a_worker_keeps_every_promise(check: Any, tmp_path: Path) -> None:
    class OnlyWorker(WorkerJournal):
        """The one worker of a parent in the same process."""

        def __init__(self) -> None:
            self.parents = SQLiteJournal(tmp_path / "store.db")
            self.servers = StoreServer(self.parents, tmp_path / "server")
            super().__init__(tmp_path / "store.db", tmp_path / "server")
            self.servers.roster.join(Member(self.member, "", ""))

        def close(self) -> None:
            super().close()
            self.servers.close()
            self.parents.close()

    check(OnlyWorker)
