"""What every journal promises, whatever it is kept in."""

import threading
from collections.abc import Callable
from typing import Any

from driftwise.checks.contract import ContractError, require
from driftwise.service.deployments.readiness import TRIAL, WRITTEN, Readiness
from driftwise.service.store.journal import Answer, DamagedError, Event, InUseError, JournalError, Origin, Snapshot

Open = Callable[[], Any]


def _event(stream: int, number: int, ref: int = -1) -> Event:
    return Event(stream, number, 1_000 + number, "decided", bytes([number % 256, 0, 255]), ref)


def starts_empty(open_it: Open) -> None:
    """A new store holds nothing."""
    journal = open_it()
    try:
        content = [*journal.read(0), journal.latest(0), journal.answer("key"), journal.outcome(0, 0)]
        require(content == [None, None, None], f"a new journal holds {content}")
    finally:
        journal.close()


def keeps_order(open_it: Open) -> None:
    """Events come back as they were, stream by stream and in order, now and after it was opened again."""
    journal = open_it()
    first = [_event(stream, number) for number in range(40) for stream in (1, 2)]
    journal.append(first[:50])
    journal.append(first[50:])
    for _ in range(2):
        for stream in (1, 2):
            expected = [event for event in first if event.stream == stream]
            require([*journal.read(stream)] == expected, f"stream {stream} came back otherwise than it was written")
            part = [*journal.read(stream, after=9, upto=20)]
            require(part == expected[10:21], "read(after=9, upto=20) is not the events 10 to 20")
        journal.close()
        journal = open_it()
    journal.close()


def reads_one_kind(open_it: Open) -> None:
    """The events of one kind are those that a read of all gives, between the same numbers, also after an origin."""
    journal = open_it()
    rare = {0, 7, 1_200, 1_201, 2_499}
    events = [_event(16, n)._replace(kind="rare" if n in rare else "decided") for n in range(2_500)]
    journal.append([_event(17, 0), *events])
    for kind in ("rare", "decided", "none"):
        for after, upto in ((-1, None), (7, 1_200), (6, 2_498), (2_499, None), (-1, 0)):
            expected = [event for event in journal.read(16, after, upto) if event.kind == kind]
            found = [*journal.read_kind(16, kind, after, upto)]
            require(found == expected, f"of the kind {kind} after {after} up to {upto} there came {len(found)} events")
    journal.rebase(Origin(16, 100, 101, journal.link_at(16, 100), journal.link_at(16, 100), b"state"))
    for _ in range(2):
        found = [event.number for event in journal.read_kind(16, "rare")]
        require(found == [1_200, 1_201, 2_499], f"of a kind the events {found} are there after an origin")
        journal.trim(16)
    journal.close()


def reads_long_streams(open_it: Open) -> None:
    """A stream longer than a page comes back whole."""
    journal = open_it()
    events = [_event(3, number) for number in range(2_500)]
    journal.append(events)
    require([*journal.read(3)] == events, "2,500 events did not come back as they were")
    journal.close()


def reads_while_it_is_written(open_it: Open) -> None:
    """What is appended while a stream is read, also the catalogue, is no damage; a later read has it."""
    journal = open_it()
    try:
        journal.append([_event(0, number) for number in range(3)])
        events = journal.read(0)
        first = next(events)
        journal.append([_event(0, 3)])
        early = [first, *events]
        expected = [_event(0, number) for number in range(4)]
        require(early in (expected[:3], expected), f"a read beside a write gave {early}")
        require([*journal.read(0)] == expected, "what was appended while a stream was read has gone")
    finally:
        journal.close()


def all_or_nothing(open_it: Open) -> None:
    """An append that cannot be whole leaves nothing behind, and the next one works."""
    journal = open_it()
    journal.append([_event(4, 0)], [Answer("taken", b"", 0, 200, b"")])
    before = [*journal.read(4)]
    broken: list[tuple[list[Event], list[Answer]]] = [
        ([_event(4, 1), _event(4, 0)], []),  # a number that is taken
        ([_event(4, 1)], [Answer("taken", b"", 0, 200, b"")]),  # a key that is taken
        ([_event(4, 1, ref=0), _event(4, 2, ref=0)], []),  # two outcomes of one decision
    ]
    for events, answers in broken:
        try:
            journal.append(events, answers)
        except JournalError:
            require([*journal.read(4)] == before, "part of an append that failed was kept")
        else:
            raise ContractError(f"an append that contradicts what is there was taken: {events} {answers}")
    journal.append([_event(4, 1, ref=0)])
    require(len([*journal.read(4)]) == 2, "after a failure the journal takes nothing more")
    journal.close()


def finds_outcomes_and_answers(open_it: Open) -> None:
    """The outcome of a decision and the answer to a key can be looked up; old answers can be dropped."""
    journal = open_it()
    outcome, answer = _event(5, 1, ref=0), Answer("who/key", b"print", 77, 201, b'{"id": 0}')
    journal.append([_event(5, 0), outcome], [answer])
    require(journal.outcome(5, 0) == outcome, "outcome() did not find what came of a decision")
    require(journal.outcome(5, 1) is None and journal.outcome(6, 0) is None, "outcome() found what is not there")
    require(journal.answer("who/key") == answer, "answer() did not find what was answered")
    journal.forget_answers(77)
    require(journal.answer("who/key") == answer, "an answer was dropped too early")
    journal.forget_answers(78)
    require(journal.answer("who/key") is None, "an old answer was not dropped")
    journal.append(answers=[Answer(f"{n}", b"", n, 200, b"") for n in range(12_000)])
    calls = 1
    while journal.forget_answers(11_999):
        calls += 1
    require(calls > 1, "very many answers were dropped in one go, while others had to wait")
    remaining = [n for n in (0, 11_998, 11_999) if journal.answer(f"{n}") is not None]
    require(remaining == [11_999], f"of the answers 0, 11998 and 11999 these are left: {remaining}")
    journal.close()


def keeps_snapshots(open_it: Open) -> None:
    """The newest snapshot is kept, and of the older ones enough to be near any moment; never very many."""
    journal = open_it()
    journal.append([_event(7, number) for number in range(6_400)])
    for number in range(0, 6_400, 100):
        journal.save(Snapshot(7, number, f"at {number}".encode()))
    newest = journal.latest(7)
    require(newest == Snapshot(7, 6_300, b"at 6300"), f"the newest snapshot is {newest}")
    snapshots = {journal.latest(7, upto=upto) for upto in range(6_400)} - {None}
    require(4 <= len(snapshots) <= 20, f"{len(snapshots)} snapshots are kept of 64")
    require(journal.latest(8) is None, "a stream without a snapshot has one")
    journal.save(Snapshot(7, 6_300, b"again"))
    require(journal.latest(7) == Snapshot(7, 6_300, b"again"), "a snapshot was not replaced")
    journal.close()


def passes_over_snapshots_ahead(open_it: Open) -> None:
    """A snapshot with more events than its stream is no fold of it: an older one is found, or none."""
    journal = open_it()
    journal.save(Snapshot(15, 3, b"before any event"))
    require(journal.latest(15) is None, "a snapshot of event 3 was found in a stream without events")
    journal.append([_event(15, number) for number in range(3)], snapshots=[Snapshot(15, 2, b"of event 2")])
    snapshot = journal.latest(15)
    require(snapshot == Snapshot(15, 2, b"of event 2"), f"after event 2 the newest snapshot is {snapshot}")
    journal.append([_event(15, number) for number in range(3, 6)])
    snapshot = journal.latest(15)
    require(snapshot == Snapshot(15, 2, b"of event 2"), f"a snapshot from before its event was believed: {snapshot}")
    journal.save(Snapshot(15, 3, b"of event 3"))
    require(journal.latest(15) == Snapshot(15, 3, b"of event 3"), "a sound snapshot in its place was not found")
    journal.close()


def has_one_writer(open_it: Open) -> None:
    """A second writer is refused, in words; when the first is gone it is let in."""
    journal = open_it()
    try:
        open_it().close()
    except InUseError as error:
        require("in use" in str(error), f"the refusal does not say why: {error}")
    else:
        raise ContractError("two can write to one journal")
    finally:
        journal.close()
    open_it().close()


def closes_while_it_is_read(open_it: Open) -> None:
    """Whoever reads when a journal is closed is refused; nothing else goes wrong, and it can be opened again."""
    journal = open_it()
    events = [_event(9, number) for number in range(3_000)]
    journal.append(events)
    began, errors = threading.Barrier(4), []

    def read() -> None:
        began.wait()
        try:
            while True:
                require([*journal.read(9)] == events, "a read came back otherwise while the journal was closed")
        except Exception as error:
            errors.append(error)

    readers = [threading.Thread(target=read, daemon=True) for _ in range(3)]
    for reader in readers:
        reader.start()
    began.wait()
    journal.close()
    for reader in readers:
        reader.join()
    require(all(isinstance(error, JournalError) for error in errors), f"readers met {errors}")
    open_it().close()


def says_why(open_it: Open) -> None:
    """An error has a message for the log, and a reason for anybody that names neither file nor host."""
    journal = open_it()
    journal.append([_event(10, 0)])
    try:
        journal.append([_event(10, 0)])
    except JournalError as error:
        require(bool(str(error)) and bool(error.reason), "an error does not say why")
        require(str(journal.path) not in error.reason, f"the reason names the store: {error.reason}")
    else:
        raise ContractError("an event was taken twice")
    finally:
        journal.close()


def can_be_tried(open_it: Open) -> None:
    """What belongs to no deployment can be written and read back, again and again, and is found nowhere else."""
    journal = open_it()
    readiness = Readiness()
    for problems in ({}, {WRITTEN: "it did not work"}, {}):
        readiness.problems = dict(problems)
        trial = readiness.trial()
        journal.append(snapshots=[trial])
        require(journal.latest(TRIAL) == trial, "a trial did not come back as it was written")
    require(not [*journal.read(TRIAL)] and journal.latest(0) is None, "a trial was found among what is kept")
    journal.close()


def numbers_follow(open_it: Open) -> None:
    """Events of a stream are numbered without gaps: one that does not follow is refused, and nothing is written."""
    journal = open_it()
    journal.append([_event(11, 0)])
    for wrong in (2, 0):
        try:
            journal.append([_event(11, wrong)])
        except JournalError:
            require([*journal.read(11)] == [_event(11, 0)], "an event that was refused was written")
        else:
            raise ContractError(f"event {wrong} was taken after event 0")
    journal.append([_event(11, 1)])
    require(journal.last(11) == 1 and journal.last(12) == -1, "last() is not the number of the last event")
    journal.close()


def begins_at_an_origin(open_it: Open) -> None:
    """After an origin, events before the first that it keeps are gone, and writing goes on, also when opened again."""
    journal = open_it()
    events = [_event(13, number) for number in range(20)]
    journal.append(events, snapshots=[Snapshot(13, 19, b"state")])
    require(journal.origin(13) is None, "a new stream has an origin")
    before, link = journal.link_at(13, 4), journal.link_at(13, 9)
    origin = Origin(13, 9, 5, before, link, b"the state after event 9")
    journal.rebase(origin)
    journal.append([_event(13, 20)])
    for _ in range(2):
        require(journal.origin(13) == origin, f"the origin is {journal.origin(13)}")
        require([*journal.read(13)] == [*events[5:], _event(13, 20)], "history before the origin was not read")
        require([*journal.read(13, 9)] == [*events[10:], _event(13, 20)], "events after the origin were not read")
        require(journal.latest(13) == Snapshot(13, 19, b"state"), "a snapshot after the origin is gone")
        require(not journal.trim(13), "few events were not dropped in one go")
        journal.close()
        journal = open_it()
    journal.rebase(Origin(13, 20, 21, journal.link_at(13, 20), journal.link_at(13, 20), b"all"))
    while journal.trim(13):
        pass
    journal.append([_event(13, 21)], snapshots=[Snapshot(13, 20, b"at the origin")])
    require([*journal.read(13)] == [_event(13, 21)], "events before the origin were not dropped")
    require(journal.latest(13) == Snapshot(13, 20, b"at the origin"), "a snapshot of the origin is not found")
    _appends_an_origin(journal)
    while journal.drop(13):
        pass
    require(journal.last(13) == -1 and journal.origin(13) is None and journal.latest(13) is None, "drop() left some")
    while journal.release():
        pass
    journal.compact()
    journal.append([_event(13, 0)])
    require([*journal.read(13)] == [_event(13, 0)], "after drop() a stream does not begin anew")
    journal.close()


def outcomes_may_be_dropped_while_they_are_read(open_it: Open) -> None:
    """An outcome that is found and then dropped, with the event before it, is no damage: the read must be repeated."""
    journal = open_it()
    journal.append([_event(15, number)._replace(ref=number - 1 if number % 2 else -1) for number in range(20)])
    link = journal.link_at(15, 9)
    journal.rebase(Origin(15, 9, 10, link, link, b"the state after event 9"))  # events before it wait to be dropped
    for ref in range(0, 20, 2):
        try:
            outcome = journal.outcome(15, ref)
        except DamagedError:
            raise ContractError(f"the outcome of decision {ref}, before the origin, was reported as damaged") from None
        except JournalError:
            require(ref < 10, f"the outcome of decision {ref}, after the origin, was not read")
        else:
            require(ref >= 10 and outcome is not None, f"the outcome of decision {ref} is {outcome}")
    journal.close()


def _appends_an_origin(journal: Any) -> None:
    """Events and the origin after them are written together or not at all; without an origin it stays a snapshot."""
    before, state = journal.origin(13), Snapshot(13, 22, b"the state after event 22")
    try:
        journal.append_origin([_event(13, 22), _event(13, 22)], [], state)
    except JournalError:
        journal.recover()
    else:
        raise ContractError("append_origin() took event 22 twice")
    require(journal.origin(13) == before and journal.last(13) == 21, "an append_origin() that failed left something")
    journal.append_origin([_event(13, 22)], [Answer("origin", b"", 0, 200, b"")], state)
    origin, answer = journal.origin(13), journal.answer("origin")
    require(origin is not None and origin[:3] == (13, 22, before.first), f"append_origin() has set the origin {origin}")
    require(origin.body == state.body and answer is not None, "append_origin() has lost the state or an answer")
    require([*journal.read(13)] == [_event(13, 21), _event(13, 22)], "history before an appended origin was not read")
    journal.append_origin([_event(14, 0)], [], Snapshot(14, 0, b"after event 0"))
    require(journal.origin(14) is None, "append_origin() has set an origin where no events were dropped")
    require(journal.latest(14) == Snapshot(14, 0, b"after event 0"), "append_origin() has lost a snapshot")


JOURNAL_CHECKS: tuple[Callable[[Open], None], ...] = (
    starts_empty,
    keeps_order,
    reads_one_kind,
    reads_long_streams,
    reads_while_it_is_written,
    all_or_nothing,
    finds_outcomes_and_answers,
    keeps_snapshots,
    passes_over_snapshots_ahead,
    has_one_writer,
    closes_while_it_is_read,
    says_why,
    can_be_tried,
    numbers_follow,
    begins_at_an_origin,
    outcomes_may_be_dropped_while_they_are_read,
)
