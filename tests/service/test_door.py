"""Who gets in, before and after the first API key; and what reading does not do."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from driftwise.service.client.client import RequestError
from driftwise.service.deployments import decisions, queries
from driftwise.service.http.access import Access, is_local, is_loopback
from driftwise.service.http.token import drop_token, ensure_token, load_token, token_file
from tests.fixtures.command_line import driftwise
from tests.fixtures.patience import HANG_S, patient
from tests.fixtures.service_process import Service as Process
from tests.fixtures.service_process import admin_key
from tests.service.test_service import OPEN, SHOP, over_http, serve, web

TOKEN = "dwt_" + "t" * 43
BEARER = {"authorization": f"Bearer {TOKEN}"}
CREATE = {"name": "me", "scopes": ["admin"]}


# ---- the token ----


def test_a_token_is_the_owners_alone_and_stays_the_same(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    assert load_token(store) is None
    token, error = ensure_token(store)
    file = tmp_path / "store.db.token"
    assert error is None and token_file(store) == file and file.stat().st_mode & 0o777 == 0o600
    assert ensure_token(store) == (token, None) and [*tmp_path.iterdir()] == [file]
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    assert load_token(f"{tmp_path}/link.db") == token
    file.chmod(0o640)  # others may have read it
    other, _ = ensure_token(store)
    assert other != token and file.stat().st_mode & 0o777 == 0o600
    file.write_text("half a tok")
    assert load_token(store) is None and ensure_token(store)[0] not in (token, other)
    target = file.rename(tmp_path / "elsewhere")
    file.symlink_to(target)  # somebody else's file is not believed, and not written to
    before = target.read_text()
    assert load_token(store) is None and ensure_token(store)[1] is None and target.read_text() == before
    drop_token(store)
    drop_token(store)
    assert not file.exists()


def test_a_store_elsewhere_has_its_token_in_the_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = "postgresql://me:secret@server/db?schema=shop"
    token, error = ensure_token(store)
    assert error is None and load_token("postgresql://server/db?schema=shop") == token
    assert load_token("postgresql://server/db?schema=other") is None
    assert "secret" not in str(token_file(store)) and token_file(store).parent.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert ensure_token(store)[1] is not None  # it cannot be stored, and still there is one


@over_http
async def test_the_token_does_everything_but_create_keys(store: Path) -> None:
    async with web(store, access=Access(TOKEN)) as ask:
        for text in ("", "Bearer", f"Basic {TOKEN}"):
            refused = await ask("GET", "/deployments", authorization=text)
            assert refused.status_code == 401 and "`driftwise keys token` prints it" in refused.json()["detail"]
        for wrong in (TOKEN[:-1], TOKEN + "t", TOKEN.upper(), "\xe9", "dw_1_2"):
            shown = {b"authorization": f"Bearer {wrong}".encode("latin-1")}
            refused = await ask.http.get("/v1/deployments", headers=shown)
            assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
        assert (await ask("GET", f"/deployments?token={TOKEN}")).status_code == 401
        assert (await ask("POST", "/deployments", SHOP, **BEARER)).status_code == 201
        assert (await ask("POST", "/deployments/shop/decide", {}, **BEARER)).status_code == 200
        assert (await ask("GET", "/keys", **BEARER)).json() == {"keys": []}
        refused = await ask("POST", "/keys", CREATE, **BEARER)
        assert refused.status_code == 403 and "driftwise keys create --scopes admin" in refused.json()["detail"]
        assert ask.engine.catalogue.keys == {}
    key = f"Bearer {admin_key(store)}"
    async with web(store, access=Access(TOKEN)) as ask:
        assert (await ask("GET", "/deployments", **BEARER)).status_code == 401
        assert (await ask("GET", "/deployments", authorization=key)).status_code == 200
        assert (await ask("POST", "/keys", CREATE, authorization=key)).status_code == 201


LOCAL: tuple[tuple[dict[str, str], bool], ...] = (
    ({}, True),
    ({"host": "localhost:8000"}, True),
    ({"host": "LOCALHOST"}, True),
    ({"host": "127.0.0.2:8000"}, True),
    ({"host": "[::1]:8000"}, True),
    ({"host": ""}, False),
    ({"host": "evil.example"}, False),
    ({"host": "localhost.evil.example"}, False),
    ({"host": "x@127.0.0.1"}, False),
    ({"host": "127.0.0.1#.evil"}, False),
    ({"host": "127.0.0.1:8000.evil"}, False),
    ({"host": "[::1"}, False),
    ({"host": "192.168.0.1"}, False),
    ({"host": "localhost:8000", "origin": "http://localhost:8000"}, True),
    ({"host": "localhost:8000", "origin": "http://localhost:24180"}, False),  # another port
    ({"host": "localhost:8000", "origin": "https://localhost:8000"}, False),  # another scheme
    ({"host": "localhost:8000", "origin": "http://127.0.0.1:8000"}, False),  # another name
    ({"host": "localhost:8000", "origin": "null"}, False),
    ({"sec_fetch_site": "same-origin"}, True),
    ({"sec_fetch_site": "none"}, True),
    ({"sec_fetch_site": "same-site"}, False),
    ({"sec_fetch_site": "cross-site"}, False),
    ({"x_forwarded_for": "1.2.3.4"}, False),
    ({"x_forwarded_proto": "https"}, False),
    ({"forwarded": "for=1.2.3.4"}, False),
    ({"x_real_ip": "1.2.3.4"}, False),
    ({"via": "1.1 proxy"}, False),
)


@over_http
async def test_without_keys_only_this_machine_is_served(store: Path) -> None:
    for access in (OPEN, Access(TOKEN)):
        async with web(store, access=access) as ask:
            for headers, welcome in LOCAL:
                answer = await ask("GET", "/deployments", **BEARER | headers)
                assert answer.status_code == (200 if welcome else 403), (access, headers, answer.text)
                assert welcome or answer.json()["detail"].startswith("no API keys exist, so ")
                assert (await ask.http.get("/healthz", headers=headers)).status_code == 200
    key = f"Bearer {admin_key(store)}"
    async with web(store) as ask:  # a key is enough: browsers do not send it for other pages
        for headers, _ in LOCAL:
            assert (await ask("GET", "/deployments", **headers)).status_code == 401
            assert (await ask("GET", "/deployments", **headers | {"authorization": key})).status_code == 200


def test_loopback() -> None:
    for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost"):
        assert is_loopback(host)
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org", "127.1", ""):
        assert not is_loopback(host) and not is_local(host)


@pytest.mark.system
def test_from_the_token_to_the_first_key_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    driftwise("keys", "token", "--store", store, code=2)
    with Process(tmp_path / "store.db", auth=True) as service:
        token = service.token
        assert f"{service.url}/?token={token}\n" in service.terminal.read_text()
        assert token not in service.log.read_text()
        assert driftwise("keys", "token", "--store", store).stdout.strip() == token
        with patient(service.url) as client, pytest.raises(RequestError, match="the token of the service is needed"):
            client.list()
        with patient(service.url, key=token) as client:
            client.create("shop", "uniform", 2)
        monkeypatch.setenv("DRIFTWISE_TOKEN", token)
        with patient(service.url) as client:
            assert client.decide("shop").id == 0
        told = driftwise("keys", "create", "--scopes", "admin", "--url", service.url, code=2).stderr
        assert "the first API key is created on the command line: stop the service" in told
        told = driftwise("keys", "create", "--scopes", "admin", "--store", store, code=2).stderr
        assert "in use by process" in told and "stop the service" in told
        assert service.stop() == 0
        service.start()
        service.wait()
        assert service.token == token
        assert service.stop() == 0
        for words in (["--scopes", "decide"], ["--scopes", "admin", "--deployment", "shop"]):
            assert "the first API key" in driftwise("keys", "create", *words, "--store", store, code=2).stderr
        assert "no-auth" in serve("--no-auth", "--host", "0.0.0.0", "--store", store, code=2).stderr
        key = driftwise("keys", "create", "--scopes", "admin", "--store", store).stdout.strip()
        assert not token_file(store).exists()
        assert "API keys" in serve("--no-auth", "--store", store, code=2).stderr
        service.start()
        service.wait()
        assert token not in service.terminal.read_text()
        with patient(service.url) as client, pytest.raises(RequestError, match="unknown, expired or revoked"):
            client.list()
        with patient(service.url, key=key) as client:
            assert client.decide("shop").id == 1
        monkeypatch.setenv("DRIFTWISE_KEY", key)
        driftwise("keys", "create", "--url", service.url)


@pytest.mark.system
def test_without_auth_there_are_warnings_and_any_loopback_address_serves(tmp_path: Path) -> None:
    with Process(tmp_path / "store.db", host="127.0.0.2") as service:
        assert httpx.get(f"{service.url}/v1/deployments", timeout=HANG_S).status_code == 200
        assert "auth is off" in service.log.read_text() and "auth is off" in service.terminal.read_text()
        assert not token_file(service.store).exists()


# ---- what reading does ----


@over_http
async def test_reading_never_throws_the_live_state_away(store: Path) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("nobody thought of this")

    async with web(store) as ask:
        await ask("POST", "/deployments", SHOP)
        live = ask.engine.entry("shop").live
        for id in (1, 2**53 - 1, 2**53, 2**63, "9" * 5000):
            refused = await ask("GET", f"/deployments/shop/decisions/{id}")
            assert refused.status_code == 404 and "there is no decision" in refused.json()["detail"]
            assert ask.engine.entry("shop").live is live
        with pytest.MonkeyPatch.context() as patch:
            for module, verb in (
                (queries, "get_decision"),
                (queries, "statistics"),
                (queries, "verify"),
                (decisions, "decide"),
            ):
                patch.setattr(module, verb, broken)
            for method, path in (("GET", "decisions/0"), ("GET", "statistics"), ("POST", "verify")):
                assert (await ask(method, f"/deployments/shop/{path}")).status_code == 500
                assert ask.engine.entry("shop").live is live
            assert (await ask("POST", "/deployments/shop/decide", {})).status_code == 500
            assert ask.engine.entry("shop").live is None


@over_http
async def test_names_that_are_folders_in_a_url_are_refused(store: Path) -> None:
    async with web(store) as ask:
        for name in (".", ".."):
            refused = await ask("POST", "/deployments", SHOP | {"name": name})
            assert refused.status_code == 422
            assert refused.json()["detail"] == f"name={name} is not allowed: in a URL it means a folder"
        for name in ("...", ".a", "-", "_", "decide", "batch", "a" * 64):
            assert (await ask("POST", "/deployments", SHOP | {"name": name})).status_code == 201
            assert (await ask("GET", f"/deployments/{name}/statistics")).json()["name"] == name
