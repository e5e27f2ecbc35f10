"""`driftwise store check` finds damage, and `repair` lets deployments go on from their last good point."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from click.testing import CliRunner, Result

from driftwise.cli import main
from driftwise.service.deployments import admin, queries
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import IdempotencyKey
from driftwise.service.http.errors import Damaged
from driftwise.service.http.schemas.requests import ChangeRequest
from driftwise.service.store.journal import open_journal
from tests.fixtures.engine import create, decide, learn, running

ROUNDS = 10  # decisions are the even events, outcomes the odd ones
N = 2 * ROUNDS
DAMAGED = 6


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["store", *words])


def execute(store: str, statement: str) -> None:
    """Change a store behind its back."""
    if store.startswith("sqlite"):
        connection = apsw.Connection(store.removeprefix("sqlite:///"))
        connection.execute(statement)
        connection.close()
        return
    url, _, schema = store.partition("&schema=")
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(f"SET search_path = {schema}")
        session.execute(statement)


async def fill(store: str) -> None:
    async with running(store) as engine:
        for name in ("shop", "sound"):
            await create(engine, name=name)
            for n in range(ROUNDS):
                await learn(engine, (await decide(engine, name))["id"], name, reward=float(n % 2))


async def play(engine: Engine, name: str, n_rounds: int = 5) -> list[Any]:
    actions = []
    for _ in range(n_rounds):
        decision = await decide(engine, name)
        actions.append((decision["id"], decision["action"]))
        await learn(engine, decision["id"], name)
    return actions


def go_on(store: str, name: str = "shop") -> list[Any]:
    """The next decisions; a full replay must give the same state."""

    async def work() -> list[Any]:
        async with running(store) as engine:
            actions = await play(engine, name)
            assert (await queries.verify(engine, name)).identical
            return actions

    return asyncio.run(work())


@pytest.fixture
def twin(tmp_path: Path) -> list[Any]:
    """How a store that was never damaged goes on."""
    asyncio.run(fill(f"sqlite:///{tmp_path}/twin.db"))
    return go_on(f"sqlite:///{tmp_path}/twin.db")


BODY = f"UPDATE events SET at = at + 1 WHERE stream = 1 AND number = {DAMAGED}"
LOST = f"DELETE FROM events WHERE stream = 1 AND number = {DAMAGED}"
TAIL = f"DELETE FROM events WHERE stream = 1 AND number >= {N - 3}"
NO_SNAPSHOTS = "DELETE FROM snapshots WHERE stream = 1"


def test_a_policy_newer_than_the_snapshot_begins_there(store: str) -> None:
    async def change() -> None:
        async with running(store) as engine:
            await admin.change(engine, "shop", ChangeRequest(policy="thompson"))
            await play(engine, "shop")

    asyncio.run(fill(store))
    asyncio.run(change())
    execute(store, f"DELETE FROM snapshots WHERE stream = 1 AND number >= {N}")
    execute(store, LOST)
    repaired = run("repair", store)
    assert f"its origin; the policy since event {N} begins anew there" in repaired.output, repaired.output
    assert run("check", store).exit_code == 0


def test_a_snapshot_ahead_of_the_events_is_reported_and_removed(store: str, twin: list[Any]) -> None:
    asyncio.run(fill(store))
    journal = open_journal(store)
    sound = journal.latest(1)
    assert sound is not None
    journal.save(sound._replace(number=N + 40))
    journal.close()
    found = run("check", store)
    assert f"the snapshot of event {N + 40} is ahead of the last event, {N - 1}" in found.output
    assert found.exit_code == 1
    assert go_on(store) == twin  # it is not used
    assert "1 snapshot dropped" in run("repair", store).output
    assert run("check", store).exit_code == 0


@pytest.mark.parametrize("damage", [BODY, LOST, TAIL], ids=["changed", "lost", "tail lost"])
def test_after_a_newer_snapshot_nothing_is_lost_to_the_policy(store: str, damage: str, twin: list[Any]) -> None:
    asyncio.run(fill(store))
    assert run("check", store).exit_code == 0
    assert run("repair", store).output == "nothing is damaged\n"
    execute(store, damage)
    first = N - 3 if damage is TAIL else DAMAGED
    found = run("check", store)
    assert found.exit_code == 1 and f"event {first}" in found.output and f"sound: {N} events: sound" in found.output
    rehearsal = run("repair", "--dry-run", store)
    assert rehearsal.exit_code == 0 and "would be its origin" in rehearsal.output, rehearsal.output
    assert run("check", store).output == found.output
    repaired = run("repair", store)
    assert "nothing is lost to the policy" in repaired.output and "sound:" not in repaired.output, repaired.output
    assert run("check", store).exit_code == 0, run("check", store).output
    assert go_on(store) == twin

    async def log() -> list[int]:
        async with running(store) as engine:
            chunks = [chunk async for chunk in await queries.export_log(engine, "shop", "jsonl", -1, 2**53)]
            return [int(line.split(b",")[0].split(b":")[1]) for line in b"".join(chunks).splitlines()]

    assert asyncio.run(log()) == [*range(0, first, 2), *range(N, N + 10, 2)]  # history, and what came after


@pytest.mark.parametrize("damage", [BODY, LOST], ids=["changed", "lost"])
def test_without_a_snapshot_it_goes_on_before_the_damage(store: str, damage: str) -> None:
    asyncio.run(fill(store))
    execute(store, damage)
    execute(store, NO_SNAPSHOTS)

    async def quarantined() -> None:
        async with running(store) as engine:
            with pytest.raises(Damaged, match=f"deployment shop is damaged: .*event {DAMAGED}"):
                await decide(engine)
            assert (await decide(engine, "sound"))["id"] == N

    asyncio.run(quarantined())
    repaired = run("repair", store)
    sentence = f"events {DAMAGED} to {N - 1} set aside; it goes on from event {DAMAGED - 1}"
    assert repaired.exit_code == 0 and sentence in repaired.output, repaired.output
    found = run("check", store)
    aside = N - DAMAGED - (damage is LOST)
    assert found.exit_code == 0 and f"shop: {DAMAGED + 1} events, {aside} set aside: sound" in found.output
    assert go_on(store)[0][0] == N  # no id is given out twice


def test_a_backup_restores_all_of_it(tmp_path: Path, twin: list[Any]) -> None:
    store, backup = f"sqlite:///{tmp_path}/store.db", f"sqlite:///{tmp_path}/backup.db"

    async def copy() -> None:
        async with running(store) as engine:
            await create(engine)
            await create(engine, name="sound")
            for n in range(ROUNDS):
                await learn(engine, (await decide(engine))["id"], reward=float(n % 2))
                if n == ROUNDS // 2:
                    await engine.commit()
                    engine.journal.backup(str(tmp_path / "backup.db"))

    asyncio.run(copy())
    for statement in (BODY, NO_SNAPSHOTS):
        execute(store, statement)
    shutil.copy(tmp_path / "store.db", tmp_path / "other.db")
    other = f"sqlite:///{tmp_path}/other.db"
    execute(other, "UPDATE events SET at = at + 1 WHERE stream = 0 AND number = 1")
    execute(backup, BODY)
    assert "goes on from event" in run("repair", "--dry-run", "--from", backup, store).output  # it has the same damage
    execute(backup, BODY.replace("+", "-"))
    repaired = run("repair", "--from", backup, store)
    assert f"events {DAMAGED} to {ROUNDS + 1} restored from the backup" in repaired.output, repaired.output
    assert run("check", store).exit_code == 0 and go_on(store) == twin
    refused = run("repair", other)
    assert refused.exit_code == 2 and "repair it with --from BACKUP" in refused.output
    assert "the catalogue: event 1" in run("repair", "--from", backup, other).output
    assert run("check", other).exit_code == 0 and go_on(other) == twin


def test_records_of_the_end_and_snapshots_are_mended(store: str, twin: list[Any]) -> None:
    asyncio.run(fill(store))
    execute(store, "UPDATE heads SET number = number + 1 WHERE stream = 1")
    execute(store, "UPDATE snapshots SET digest = digest + 1 WHERE stream = 1")
    assert run("check", store).exit_code == 1
    assert run("repair", store).exit_code == 0
    assert run("check", store).exit_code == 0
    assert go_on(store) == twin


def test_a_damaged_answer_is_never_given(store: str) -> None:
    """Nor is the request done again: whether it was done is on record, what it answered is not."""
    key = IdempotencyKey("me", "once", b"")

    async def ask() -> Any:
        async with running(store) as engine:
            if not engine.catalogue.entries:
                await create(engine)
            return await decide(engine, key=key)

    asyncio.run(ask())
    execute(store, "UPDATE answers SET status = 201")
    assert "1 answer to repeated requests is damaged" in run("check", store).output
    assert "1 damaged answers are kept" in run("repair", store).output
    with pytest.raises(Damaged, match="the answer to this idempotency key is damaged"):
        asyncio.run(ask())


def test_broken_indexes_are_made_anew(tmp_path: Path, twin: list[Any]) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    asyncio.run(fill(store))
    connection = apsw.Connection(str(tmp_path / "store.db"))
    ((page,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'by_decision'")
    connection.close()
    content = bytearray((tmp_path / "store.db").read_bytes())
    end = page * 4096
    content[end - 3] ^= 4
    (tmp_path / "store.db").write_bytes(content)
    found = run("check", store)
    assert found.exit_code == 1 and "the database reports" in found.output, found.output
    assert "its indexes were made anew" in run("repair", store).output
    assert run("check", store).exit_code == 0 and go_on(store) == twin


def test_of_a_malformed_file_all_rows_that_can_be_read_are_salvaged(tmp_path: Path, twin: list[Any]) -> None:
    """A page of events is lost: others go on as if nothing had happened, with a backup all do."""
    store, backup = tmp_path / "store.db", tmp_path / "backup.db"

    async def long() -> None:
        await fill(f"sqlite:///{store}")
        async with running(store) as engine:
            await create(engine, name="long")
            await asyncio.gather(*(decide(engine, "long") for _ in range(500)))

    asyncio.run(long())
    shutil.copy(store, backup)
    content = bytearray(store.read_bytes())
    pages = [
        n for n in range(0, len(content), 4096) if content[n] == 13 and content[n : n + 4096].count(b"decided") > 40
    ]
    content[pages[2] : pages[2] + 200] = bytes(200)
    store.write_bytes(content)
    shutil.copy(store, tmp_path / "other.db")
    assert run("check", f"{store}").exit_code == 1
    repaired = run("repair", f"{store}")
    assert repaired.exit_code == 0 and "could be read and are in a new file" in repaired.output, repaired.output
    assert "long: it has lost event" in repaired.output and "nothing is lost to the policy" in repaired.output
    assert Path(f"{store}.malformed").exists() and run("check", f"{store}").exit_code == 0
    assert go_on(f"sqlite:///{store}") == twin
    assert go_on(f"sqlite:///{store}", "long")[0][0] == 500
    restored = run("repair", "--from", f"{backup}", f"{tmp_path}/other.db")
    assert "restored from the backup" in restored.output, restored.output
    assert run("check", f"{tmp_path}/other.db").output == run("check", f"{backup}").output.replace(
        "long: 500 events", f"long: 500 events{aside(tmp_path / 'other.db')}"
    )
    again = run("repair", f"{store}")
    assert again.output == "nothing is damaged\n"


def aside(path: Path) -> str:
    journal = open_journal(f"sqlite:///{path}")
    count = journal.n_quarantined(3)
    journal.close()
    return f", {count} set aside" if count else ""


def test_a_store_that_is_none_or_in_use_is_refused(tmp_path: Path) -> None:
    refused = run("check", f"{tmp_path}/none.db")
    assert refused.exit_code == 2 and "there is no store at" in refused.output
    journal = open_journal(f"sqlite:///{tmp_path}/used.db")
    refused = run("check", f"{tmp_path}/used.db")
    assert refused.exit_code == 2 and "is in use by" in refused.output
    journal.close()
