"""What the API promises of every response: problem details with known codes, exact times, one handler per event."""

import asyncio
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

import driftwise as dw
from driftwise.core.family import FAMILIES
from driftwise.families.convex.problem import Box
from driftwise.service.deployments import catalogue, deployment
from driftwise.service.deployments.clock import microseconds, utc
from driftwise.service.http.access import Access
from driftwise.service.http.app import make_app
from driftwise.service.http.decode_errors import decode_error
from driftwise.service.http.endpoint import Endpoint, Service
from driftwise.service.http.errors import ERRORS, PROBLEM_JSON, HttpError, error_reply
from driftwise.service.http.openapi import document
from driftwise.service.http.routes import endpoints
from driftwise.service.http.schemas.requests import ChangeRequest, DecideRequest, DeploymentSpec
from driftwise.service.store.events import KINDS
from driftwise.service.store.journal import DamagedError
from tests.fixtures.engine import create, decide, deployment_spec, running

ROOT = Path(__file__).parents[2]
INSIDE = "`{}` belongs inside `problem`: {}"
MISPLACED = {
    "arms": (DeploymentSpec, ["a"], INSIDE.format("arms", '{"problem": {"kind": "multi-armed", "arms": ...}}')),
    "budgets": (DeploymentSpec, {"eur": 1}, INSIDE.format("budgets", '{"problem": {"kind": "knapsack", ')),
    "family": (DeploymentSpec, "slate", '`family` is the `kind` of `problem`: {"problem": {"kind": "multi-armed", '),
    "draws": (DeploymentSpec, 5, "unknown field `draws`; allowed: name, policy, problem, parameters, window, seed, "),
    "problem": (
        DeploymentSpec,
        {"kind": "slate", "budgets": {}},
        "a slate problem has no field `budgets`: it has arms",
    ),
    "horizon": (ChangeRequest, 9, INSIDE.format("horizon", '{"problem": {"horizon": ...}}')),
    "problem of a change": (ChangeRequest, {"seed": 1}, "unknown field `seed` in `problem`; a change allows: "),
    "problem with arms": (
        ChangeRequest,
        {"arms": ["a"]},
        "add one with POST /v1/deployments/NAME/arms, and retire one",
    ),
    "held": (DecideRequest, {"action": "a"}, "unknown field `held`; allowed: unit, override, "),
}


@pytest.mark.parametrize("field", MISPLACED)
def test_an_unknown_field_is_answered_with_where_it_belongs(field: str) -> None:
    kind, value, detail = MISPLACED[field]
    text = msgspec.json.encode(
        ({"name": "shop", "policy": "ucb1"} if kind is DeploymentSpec else {}) | {field.split()[0]: value}
    )
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.json.decode(text, type=kind)
    assert detail in decode_error(text, str(error.value), kind)


def test_a_body_that_goes_on_badly_after_an_unknown_field_is_still_answered() -> None:
    text = b'{"name": "shop", "policy": "ucb1", "problem": {"kind": "slate", "x": 1}, '
    assert "unknown field `x` in `problem`" in decode_error(
        text, "Object contains unknown field `x` - at `$.problem`", DeploymentSpec
    )


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


def test_a_problem_is_one_of_its_kinds() -> None:
    schemas = document(endpoints())["components"]["schemas"]
    problem = schemas["DeploymentSpec"]["properties"]["problem"]
    refs = {kind: f"#/components/schemas/{family.problem.__name__}" for kind, family in FAMILIES.items()}
    assert problem == {
        "oneOf": [{"$ref": ref} for ref in refs.values()],
        "discriminator": {"propertyName": "kind", "mapping": refs},
    }
    for kind, family in FAMILIES.items():
        schema = schemas[family.problem.__name__]
        assert schema["properties"]["kind"] == {"enum": [kind]} and "kind" in schema["required"]
        assert schema["additionalProperties"] is False and ">>>" not in schema["description"]


@pytest.mark.parametrize("kind", FAMILIES)
def test_fields_of_another_family_are_refused(kind: str, tmp_path: Path) -> None:
    """In a problem, in a change of it, in a request, in an outcome and in an arm that is added: in one sentence."""

    async def details() -> list[tuple[int, str]]:
        async with running(tmp_path / "store.db") as engine:
            app = make_app(Service(engine, access=Access(auth=False)))
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                made = msgspec.to_builtins(deployment_spec(**DEPLOYMENTS[kind]))
                assert (await http.post("/v1/deployments", json=made)).status_code == 201
                answers = [
                    await http.post("/v1/deployments", json=made | {"problem": made["problem"] | {field: 1}})
                    for field in others(kind, lambda family: family.problem)
                ]
                url = "/v1/deployments/shop"
                answers += [
                    await http.patch(url, json={"problem": {field: VALUES[field]}})
                    for field in others(kind, lambda family: family.service.changes)
                ]
                decided = await http.post(f"{url}/decide", json=REQUESTS.get(kind, {}))
                assert decided.status_code == 200
                answers += [
                    await http.post(f"{url}/decide", json=REQUESTS.get(kind, {}) | {field: VALUES[field]})
                    for field in others(kind, lambda family: family.service.request)
                ]
                answers += [
                    await http.post(f"{url}/learn", json={"id": 0, field: VALUES[field]})
                    for field in others(kind, lambda family: family.service.outcome)
                ]
                answers += [
                    await http.post(f"{url}/arms", json={"name": "new", field: VALUES[field]})
                    for field in others(kind, lambda family: family.service.arm)
                ]
                assert (await http.get(url)).json()["n_events"] == 1
                return [(answer.status_code, answer.json()["detail"]) for answer in answers]

    found = asyncio.run(details())
    assert len(found) > 10
    for status, detail in found:
        assert status in (400, 422) and detail and len(detail.splitlines()) == 1, detail


DEPLOYMENTS: dict[str, dict[str, Any]] = {
    "multi-armed": {"policy": "ucb1", "problem": dw.MultiArmed(3)},
    "contextual": {"policy": "lin-ucb", "problem": dw.Contextual(3, context_dim=2)},
    "convex": {"policy": "virtual-queue", "problem": dw.Convex([Box([0.0], [1.0])])},
    "knapsack": {"policy": "ucb-bwk", "problem": dw.Knapsack(3, {"euros": 5.0}, horizon=100)},
    "restless": {"policy": "wiql", "problem": dw.Restless(3, n_active=1, states=2, state_rewards=[0, 1])},
    "contextual-knapsack": {
        "policy": "lin-pacing",
        "problem": dw.ContextualKnapsack(3, context_dim=2, budgets={"euros": 5.0}, horizon=100),
    },
    "slate": {"policy": "sliding-slate-ucb", "problem": dw.Slate(3, slate_size=2)},
}
REQUESTS: dict[str, dict[str, Any]] = {
    "contextual": {"context": [1.0, 0.0]},
    "contextual-knapsack": {"context": [1.0, 0.0]},
    "restless": {"states": [0, 1, 0]},
}
VALUES: dict[str, Any] = {
    "budgets": {"euros": 9.0},
    "n_active": 1,
    "actions": [[1.0]],
    "context": [1.0],
    "states": [0, 1, 0],
    "reward": 1.0,
    "rewards": [1.0],
    "costs": {"euros": 1.0},
    "gradient": [1.0],
    "values": [1.0],
    "jacobian": [[1.0]],
    "loss": 1.0,
    "features": [1.0],
    "arm_type": "old",
    "activation_cost": 1.0,
}


def others(kind: str, fields: Callable[[Any], Any]) -> list[str]:
    """The fields that only other families have."""
    own = {*fields(FAMILIES[kind]).__struct_fields__}
    every = dict.fromkeys(field for family in FAMILIES.values() for field in fields(family).__struct_fields__)
    return [field for field in every if field not in own]


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
        for name in re.findall(r"^ *class (\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            names.setdefault(name, []).append(str(path.relative_to(ROOT / "src/driftwise")))
    twice = {name: paths for name, paths in names.items() if len(paths) > 1}
    assert not {name: paths for name, paths in twice.items() if any("service" in path for path in paths)}


def test_endpoints_say_what_they_take_and_give() -> None:
    assert all(
        isinstance(each, Endpoint) and each.handler.__doc__ and each.response is not None for each in endpoints()
    )
