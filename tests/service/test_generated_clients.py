"""Clients that other people's programs generate from the OpenAPI document, used against a real service."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from driftwise.service.http.openapi import EXAMPLES
from driftwise.service.http.schemas import requests, responses
from tests.fixtures.patience import get
from tests.fixtures.service_process import Service

pytestmark = pytest.mark.system

PROGRAM = """
import createClient from "openapi-fetch";
import type { paths } from "./driftwise.js";

const client = createClient<paths>({ baseUrl: process.argv[2] });
const path = { params: { path: { name: "ts" } } };
const problem = { kind: "multi-armed" as const, arms: ["red", "green"] };
const made = await client.POST("/v1/deployments", { body: { name: "ts", policy: "sliding-ucb", problem } });
const decided = await client.POST("/v1/deployments/{name}/decide", { ...path, body: {} });
const outcome = { id: decided.data!.id, reward: 1 };
const learned = await client.POST("/v1/deployments/{name}/learn", { ...path, body: outcome });
const lost = await client.GET("/v1/deployments/{name}", { params: { path: { name: "nothing" } } });
const action: string | number | (string | number)[] | null = decided.data!.action;
console.log(JSON.stringify([made.data!.status, action, learned.data!.status, lost.error!.code]));
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("clients") / "store.db") as running:
        yield running


@pytest.fixture(scope="module")
def document(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("document") / "openapi.json"
    path.write_bytes(get(f"{service.url}/openapi.json").content)
    return path


def test_every_example_is_what_it_is_an_example_of() -> None:
    for name, example in EXAMPLES.items():
        kind = getattr(requests, name, None) or getattr(responses, name)
        msgspec.convert(example, kind)


def test_the_document_has_no_tuples_and_no_defaults(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert '"prefixItems"' not in text and '"items":false' not in text
    schemas = json.loads(text)["components"]["schemas"]
    with_default = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, each in schema.get("properties", {}).items()
        if "default" in each
    ]
    assert with_default == []


def test_every_operation_has_a_tag_and_its_errors(document: Path) -> None:
    paths = json.loads(document.read_text(encoding="utf-8"))["paths"]
    operations = [operation for path in paths.values() for operation in path.values()]
    assert len({each["operationId"] for each in operations}) == len(operations) > 25
    assert all(len(each["tags"]) == 1 and re.fullmatch(r"[a-z_]+", each["operationId"]) for each in operations)
    assert {"/healthz", "/readyz", "/metrics"} <= set(paths)
    assert {"200", "400", "401", "403", "404", "409", "413", "422", "429", "503", "default"} == set(
        paths["/v1/deployments/{name}/decide"]["post"]["responses"]
    )


def test_a_python_client_is_generated_and_works(
    service: Service, document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["generate", "--path", str(document), "--output-path", str(tmp_path / "generated"), "--meta", "none"]
    command = [sys.executable, "-m", "openapi_python_client", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "WARNING" not in done.stdout, done.stdout
    monkeypatch.syspath_prepend(tmp_path)
    models = importlib.import_module("generated.models")
    api = {
        name: importlib.import_module(f"generated.api.{tag}.{name}")
        for tag, name in (("deployments", "create_deployment"), ("decisions", "decide"), ("decisions", "learn"))
    }
    with importlib.import_module("generated").Client(base_url=service.url) as client:
        problem = {"kind": "multi-armed", "arms": ["red", "green"]}
        spec = models.DeploymentSpec.from_dict({"name": "py", "policy": "sliding-ucb", "problem": problem})
        assert api["create_deployment"].sync(client=client, body=spec).status == "running"
        decided = api["decide"].sync("py", client=client, body=models.DecideRequest())
        assert decided.action in ("red", "green")
        outcome = models.LearnRequest(id=decided.id, reward=1.0)
        assert api["learn"].sync("py", client=client, body=outcome).status == "learned"
        assert api["learn"].sync("py", client=client, body=models.LearnRequest(id=999, reward=1.0)).code == "not-found"


def test_a_typescript_client_is_generated_and_works(service: Service, document: Path, tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    packages = ["openapi-typescript@7", "openapi-fetch@0", "typescript@5", "@types/node@22"]
    install = [npm, "install", "--no-audit", "--no-fund", "--prefer-offline", *packages]
    if subprocess.run(install, cwd=tmp_path, capture_output=True, check=False).returncode != 0:
        pytest.skip("npm cannot install openapi-typescript")
    (tmp_path / "program.mts").write_text(PROGRAM, encoding="utf-8")
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck"]
    for command in (
        ["node_modules/.bin/openapi-typescript", str(document), "-o", "driftwise.d.ts"],
        ["node_modules/.bin/tsc", *options, "program.mts"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        ["node", "program.mjs", service.url], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    running, action, status, code = json.loads(done.stdout)
    assert (running, status, code) == ("running", "learned", "not-found") and action in ("red", "green")
