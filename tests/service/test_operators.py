"""What operators need: who did what, ids of requests, limits of keys, options in files and the environment."""

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from driftwise.service.deployments.background_tasks import run_once
from driftwise.service.deployments.catalogue import read_catalogue
from driftwise.service.http.access import Access
from driftwise.service.http.api_keys import new_key
from driftwise.service.http.endpoint import Limits
from driftwise.service.http.errors import LimitReached
from driftwise.service.http.rate_limits import RateLimiter, RateLimits
from driftwise.service.store.journal import open_journal
from tests.service.test_service import SHOP, web

DAY_S = 86_400.0


def add_key(store: Path, *scopes: str) -> tuple[str, str]:
    """A key in a store that is not in use: its text and its id."""
    journal = open_journal(f"sqlite:///{store}")
    text, body = new_key("ops", scopes)
    journal.append([read_catalogue(journal).event(body, 1)])
    journal.close()
    return text, body.id


def test_every_administrative_request_is_recorded_with_its_caller(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text, id = add_key(tmp_path / "s.db", "admin")
    bearer = {"authorization": f"Bearer {text}"}

    async def play() -> tuple[list[dict[str, object]], dict[str, object]]:
        async with web(tmp_path / "s.db", access=Access()) as ask:
            await ask("POST", "/deployments", SHOP, **bearer, x_request_id="order-17")
            await ask("POST", "/deployments/shop/decide", {}, **bearer)  # not administrative
            for path, body in (("pause", None), ("resume", None), ("arms", {"name": "green"})):
                assert (await ask("POST", f"/deployments/shop/{path}", body, **bearer)).status_code == 200
            await ask("PATCH", "/deployments/shop", {"sticky": True}, **bearer)
            await ask("GET", "/deployments/shop/log", **bearer)
            assert (await ask("POST", "/deployments/nothing/pause", **bearer)).status_code == 404  # nothing was done
            page = (await ask("GET", "/audit?limit=4", **bearer)).json()
            rest = (await ask("GET", f"/audit?after={page['next']}", **bearer)).json()
            assert rest["next"] is None
            refused = await ask("GET", "/audit", authorization=f"Bearer {add_key(tmp_path / 'other.db', 'read')[0]}")
            assert refused.status_code == 401
            return [*page["entries"], *rest["entries"]], page["entries"][0]

    with caplog.at_level(logging.INFO, "driftwise.service"):
        entries, first = asyncio.run(play())
    assert [(entry["action"], entry["target"]) for entry in entries] == [
        ("create_deployment", "shop"),
        ("pause_deployment", "shop"),
        ("resume_deployment", "shop"),
        ("add_arm", "shop/green"),
        ("update_deployment", "shop"),
        ("export_log", "shop"),
    ]
    assert (first["caller"], first["key_name"], first["request_id"]) == (id, "ops", "order-17")
    lines = [record.facts for record in caplog.records if record.getMessage() == "audit"]  # type: ignore[attr-defined]
    assert [(line["by"], line["action"]) for line in lines] == [(id, entry["action"]) for entry in entries]


def test_the_audit_survives_a_restart(tmp_path: Path) -> None:
    async def count(create: bool) -> int:
        async with web(tmp_path / "s.db") as ask:
            if create:
                await ask("POST", "/deployments", SHOP)
            return len((await ask("GET", "/audit")).json()["entries"])

    assert asyncio.run(count(create=True)) == asyncio.run(count(create=False)) == 1


def test_answers_carry_the_id_of_the_request_and_tell_repetitions(tmp_path: Path) -> None:
    async def play() -> None:
        async with web(tmp_path / "s.db") as ask:
            await ask("POST", "/deployments", SHOP)
            first = await ask("POST", "/deployments/shop/decide", {}, idempotency_key="k", x_request_id="mine")
            again = await ask("POST", "/deployments/shop/decide", {}, idempotency_key="k", x_request_id="two words")
            assert first.headers["x-request-id"] == "mine" and "idempotency-replayed" not in first.headers
            assert len(again.headers["x-request-id"]) == 16 and again.headers["idempotency-replayed"] == "true"
            assert first.content == again.content
            assert (await ask("GET", "/nothing")).headers["x-request-id"]

    asyncio.run(play())


def test_the_last_admin_key_cannot_be_revoked_and_keys_tell_their_last_use(tmp_path: Path) -> None:
    text, id = add_key(tmp_path / "s.db", "admin")
    bearer = {"authorization": f"Bearer {text}"}

    async def play() -> None:
        async with web(tmp_path / "s.db", access=Access()) as ask:
            refused = await ask("DELETE", f"/keys/{id}", **bearer)
            assert refused.status_code == 403 and "is the last API key with the scope admin" in refused.json()["detail"]
            other = (await ask("POST", "/keys", {"name": "two", "scopes": ["admin"]}, **bearer)).json()
            keys = {key["id"]: key for key in (await ask("GET", "/keys", **bearer)).json()["keys"]}
            assert keys[id]["last_used_at"] and "last_used_at" not in keys[other["id"]]
            await run_once(ask.engine)
            assert (await ask("DELETE", f"/keys/{id}", authorization=f"Bearer {other['key']}")).status_code == 200

    asyncio.run(play())
    journal = open_journal(f"sqlite:///{tmp_path / 's.db'}")
    assert id in read_catalogue(journal).key_used_at
    journal.close()


def test_a_key_that_asks_too_often_is_told_how_long_to_wait(tmp_path: Path) -> None:
    text, _ = add_key(tmp_path / "s.db", "admin")

    async def play() -> list[tuple[int, str | None]]:
        limits = Limits(rates=RateLimits(per_second=0.5))
        async with web(tmp_path / "s.db", access=Access(), limits=limits) as ask:
            answers = [await ask("GET", "/deployments", authorization=f"Bearer {text}") for _ in range(2)]
            return [(answer.status_code, answer.headers.get("retry-after")) for answer in answers]

    assert asyncio.run(play()) == [(200, None), (429, "2")]


def test_rates_and_quotas_count_each_key_for_itself() -> None:
    now = {"monotonic": 0.0, "wall": 10 * DAY_S + 100.0}
    limiter = RateLimiter(RateLimits(10.0, 25), monotonic=lambda: now["monotonic"], wall=lambda: now["wall"])

    def requests(key: str) -> int:
        done = 0
        try:
            while done < 1000:
                limiter.check(key)
                done += 1
        except LimitReached as error:
            waits.append(error.retry_after)
        return done

    waits: list[int] = []
    assert (requests("a"), requests("b"), waits) == (20, 20, [1, 1])  # two seconds at once
    now["monotonic"] += 0.3
    assert requests("a") == 3
    now["monotonic"] += 100.0
    assert requests("a") == 2 and waits[-1] == int(DAY_S) - 100  # the quota of the day
    now["wall"] += DAY_S
    assert requests("a") == 18, "a bucket that was not used up, on the next day"
    assert RateLimiter(RateLimits(0.0, 0)).check("a") is None  # type: ignore[func-returns-value]


@pytest.mark.system
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max-boddy = 3", "has 'max_boddy', which is not an option of serve"),
        ("port = [", "is not TOML: "),
        ("port = 99999999", "'--port': 99999999 is not in the range"),
    ],
)
def test_a_bad_configuration_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "service.toml"
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "driftwise.cli", "serve", "--config", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr


@pytest.mark.system
def test_options_come_from_the_command_line_the_environment_and_a_file_in_this_order(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text('port = 70000\nhost = "host.of.file"\nstore = "file://x"\n', encoding="utf-8")
    command = [sys.executable, "-m", "driftwise.cli", "serve", "--config", str(path), "--port", "1"]
    environment = os.environ | {"DRIFTWISE_SERVE_STORE": "environment://x"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2 and "store=environment://" in done.stderr, done.stderr


@pytest.mark.system
def test_a_variable_that_no_option_reads_is_told() -> None:
    command = [sys.executable, "-m", "driftwise.cli", "serve", "--store", "nowhere://x"]
    environment = os.environ | {"DRIFTWISE_SERVE_MAX_BODDY": "3", "DRIFTWISE_SERVE_HOST": "127.0.0.1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    first, second = done.stderr.splitlines()
    assert done.returncode == 2 and second.startswith("driftwise: store=nowhere://")
    hint = "did you mean DRIFTWISE_SERVE_MAX_BODY?"
    assert first == f"warning: DRIFTWISE_SERVE_MAX_BODDY is not used: serve has no such option; {hint}"


def test_metrics_to_alert_on(tmp_path: Path) -> None:
    text, id = add_key(tmp_path / "s.db", "admin")
    bearer = {"authorization": f"Bearer {text}"}

    async def play() -> str:
        async with web(tmp_path / "s.db", access=Access()) as ask:
            key = {"name": "short", "scopes": ["read"], "expires_in": 3600}
            assert (await ask("POST", "/keys", key, **bearer)).status_code == 201
            await ask("POST", "/deployments", SHOP, **bearer)
            for reward in (1.0, 0.0, None):
                decision = (await ask("POST", "/deployments/shop/decide", {}, **bearer)).json()
                if reward is not None:
                    await ask("POST", "/deployments/shop/learn", {"id": decision["id"], "reward": reward}, **bearer)
            ask.clock.wait(90.0)
            metrics = await ask.http.get("/metrics", headers=bearer)
            return str(metrics.text)

    text = asyncio.run(play())
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    shop = ("deployment", "shop")
    assert samples["driftwise_oldest_pending_seconds", shop] == 90.0
    assert samples["driftwise_reward_mean", shop] == 0.5
    assert samples["driftwise_pending", shop] == 1.0
    assert samples["driftwise_changes_detected", shop] == 0.0
    assert samples["driftwise_decisions_total", shop] == 3.0
    assert samples["driftwise_commit_events_sum",] == samples["driftwise_events_total",] > 5.0
    assert samples["driftwise_commit_seconds_count",] > 0.0 and samples["driftwise_store_free_bytes",] > 0.0
    names = {name for name, *_ in samples}
    assert {"driftwise_build_info", "driftwise_api_key_expiry_seconds", "driftwise_process_open_fds"} <= names
    assert not id.startswith("dw_") and text.count("dw_") == 0, "no key is told"
