"""Commands that read or change a store, on a store that does not exist: they say so, and create none."""

import re
from pathlib import Path

import psycopg
import pytest

from tests.fixtures.command_line import driftwise
from tests.fixtures.postgres import Server

COMMANDS = [
    "keys list --store STORE",
    "keys revoke 1f3a --store STORE",
    "keys token --store STORE",
    "keys create --store STORE",  # with scopes that will not do for a first key
    "store check STORE",
    "store verify STORE",
    "store repair STORE",
    "store repair --begin-anew shop STORE",
    "store compact STORE",
    "store archive STORE",
    "store upgrade STORE",
    "diagnose --deployment shop --store STORE",
    "evaluate --deployment shop --policy uniform --store STORE",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("there", [False, True], ids=["missing", "empty"])
def test_a_command_on_a_store_that_is_none_creates_none(command: str, there: bool, tmp_path: Path) -> None:
    path = tmp_path / "typo.db"
    if there:
        path.touch()
    for store in (f"sqlite:///{path}", str(path)):
        said = driftwise(*command.replace("STORE", store).split(), code=2).stderr
        assert said.count("\n") == 1 and said.startswith("driftwise: ")
        assert [each.name for each in tmp_path.iterdir()] == ["typo.db"] * there
        if "token" not in command and "create" not in command:
            found = f"{path} is an empty file, not a store" if there else f"there is no store at {path}"
            assert said == f"driftwise: {found}: name the one that `driftwise serve` uses\n"
    assert not there or path.read_bytes() == b""


@pytest.mark.parametrize("command", ["keys list --store STORE", "keys create --store STORE", "store check STORE"])
def test_a_command_on_an_empty_database_makes_no_tables_in_it(command: str, postgres_server: Server) -> None:
    store = postgres_server.store()
    driftwise(*command.replace("STORE", store).split(), code=2)
    address, schema = re.fullmatch(r"(.*)[?&]schema=(\w+)", store).groups()  # type: ignore[union-attr]
    with psycopg.connect(address) as connection:
        tables = "select count(*) from pg_tables where schemaname = %s"
        assert connection.execute(tables, [schema]).fetchone() == (0,)


def test_keys_of_a_store_without_keys(tmp_path: Path) -> None:
    store = f"{tmp_path}/store.db"
    key = driftwise("keys", "create", "--store", store, "--scopes", "admin").stdout
    assert driftwise("keys", "list", "--store", store).stdout.startswith(key.split("_")[1])
    driftwise("keys", "revoke", key.split("_")[1], "--store", store)
    done = driftwise("keys", "list", "--store", store)
    assert done.stdout == ""
    assert done.stderr == "no API keys: create the first one with `driftwise keys create --scopes admin`\n"
