"""What the API promises of every response: problem details with known codes, exact times, one handler per event."""

import ast
import asyncio
import random
import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import msgspec
import pytest

from driftwise.service.deployments import catalogue, deployment
from driftwise.service.deployments.clock import microseconds, utc
from driftwise.service.http.app import make_app
from driftwise.service.http.endpoint import Endpoint, Service
from driftwise.service.http.errors import ERRORS, PROBLEM_JSON, HttpError, error_reply
from driftwise.service.http.routes import endpoints
from driftwise.service.store.events import KINDS
from driftwise.service.store.journal import DamagedError
from tests.serving import create, decide, running

ROOT = Path(__file__).parents[1]


def test_every_event_has_one_handler() -> None:
    ours, theirs = set(deployment.HANDLERS), set(catalogue.HANDLERS)
    assert not ours & theirs
    assert ours | theirs == set(KINDS.values())


def test_every_error_has_a_code_a_status_and_a_description() -> None:
    kinds = [each for each in HttpError.__subclasses__() if each.__module__ == HttpError.__module__]
    assert sorted(kinds, key=str) == sorted(ERRORS.values(), key=str)
    for code, kind in ERRORS.items():
        status, body, media = error_reply(kind("why"))
        problem = msgspec.json.decode(body)
        assert media == b"application/problem+json" and status == kind.status == problem["status"] >= 400
        assert (problem["code"], problem["detail"]) == (code, "why") and problem["title"]
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code) and kind.__doc__


def test_the_docs_list_every_code() -> None:
    page = (ROOT / "docs/service.md").read_text()
    listed = re.findall(r"^\| (\d{3}) \| `([a-z-]+)` \|", page, re.MULTILINE)
    assert listed == [(str(kind.status), code) for code, kind in ERRORS.items()]


def test_the_document_describes_every_code_and_type_points_there(tmp_path: Path) -> None:
    async def responses() -> tuple[dict[str, object], list[httpx.Response]]:
        async with running(tmp_path / "store.db") as engine:
            app = make_app(Service(engine))
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                document = (await http.get("/openapi.json")).json()
                paths = ["/nothing", "/v1/deployments", "/v1/deployments/shop", "/metrics", "/v1/backup"]
                return document, [await http.get(path) for path in paths] + [
                    await http.put("/"),
                    await http.put("/v1/keys"),
                ]

    document, answers = asyncio.run(responses())
    components: dict[str, dict[str, dict[str, object]]] = document["components"]  # type: ignore[assignment]
    assert set(components["responses"]) == set(ERRORS)
    assert components["schemas"]["ErrorBody"]["properties"]["code"]["enum"] == [*ERRORS]  # type: ignore[index]
    for answer in answers:
        problem = answer.json()
        assert answer.headers["content-type"] == PROBLEM_JSON.decode() and answer.status_code == problem["status"]
        path, _, pointer = problem["type"].partition("#")
        found: object = document
        for part in pointer.strip("/").split("/"):
            found = found[part]  # type: ignore[index]
        assert path == "/openapi.json" and f"`{problem['code']}`" in found["description"]  # type: ignore[index]


def test_operations_have_names_of_their_own() -> None:
    names = [each.handler.__name__ for each in endpoints()]
    assert len(set(names)) == len(names)
    assert not {"log", "agent", "list", "create", "save"} & set(names)


@pytest.mark.parametrize("seed", range(3))
def test_times_in_json_are_exact(seed: int) -> None:
    luck = random.Random(seed)
    for at in [0, 1, 999_999, 1_000_000, *(luck.randrange(4 * 10**15) for _ in range(2000))]:
        text = msgspec.json.decode(msgspec.json.encode(utc(at)))
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", text)
        assert microseconds(msgspec.json.decode(msgspec.json.encode(text), type=datetime)) == at
        assert microseconds(datetime.fromisoformat(text).astimezone(UTC)) == at


def test_a_time_beyond_the_calendar_is_damage() -> None:
    with pytest.raises(DamagedError, match="outside the years"):
        utc(2**62)


def test_the_time_of_a_decision_is_that_of_its_event(tmp_path: Path) -> None:
    async def decided() -> tuple[int, int]:
        async with running(tmp_path / "store.db") as engine:
            await create(engine)
            engine.clock.wait(0.123457)  # type: ignore[attr-defined]
            answer = await decide(engine)
            await engine.commit()
            (event,) = engine.journal.read(1)
            return microseconds(datetime.fromisoformat(answer["decided_at"])), event.at

    answer, event = asyncio.run(decided())
    assert answer == event


def test_no_class_of_the_service_shares_its_name() -> None:
    names: dict[str, list[str]] = {}
    for path in (ROOT / "src/driftwise").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                names.setdefault(node.name, []).append(str(path.relative_to(ROOT / "src/driftwise")))
    twice = {name: paths for name, paths in names.items() if len(paths) > 1}
    assert not {name: paths for name, paths in twice.items() if any("service" in path for path in paths)}


def test_endpoints_say_what_they_take_and_give() -> None:
    assert all(
        isinstance(each, Endpoint) and each.handler.__doc__ and each.response is not None for each in endpoints()
    )
