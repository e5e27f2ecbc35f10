"""What `deploy/` holds, compared with the service or run for real."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftwise.cli.serve import serve
from tests.fixtures.patience import patient
from tests.fixtures.service_process import free_port
from tests.service.test_service import SHOP, web

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
OPTIONS = {parameter.name: parameter for parameter in serve.params}
METRIC = re.compile(r"\bdriftwise_[a-z_]+")


def metrics(store: Path) -> set[str]:
    """The names of all samples of a service with a deployment and a decision."""

    async def ask() -> str:
        async with web(store) as service:
            await service("POST", "/deployments", SHOP)
            decision = (await service("POST", "/deployments/shop/decide", {})).json()
            await service("POST", "/deployments/shop/learn", {"id": decision["id"], "reward": 1.0})
            return str((await service.http.get("/metrics")).text)

    names = set(METRIC.findall(asyncio.run(ask())))
    return names | {"driftwise_api_key_expiry_seconds"}  # there is no key here


def test_rules_and_board_use_metrics_that_exist(tmp_path: Path) -> None:
    rules = yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    board = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    expressions = [rule["expr"] for rule in rules]
    expressions += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(expressions) > 18
    known = metrics(tmp_path / "store.db")
    for expression in expressions:
        used = set(METRIC.findall(expression))
        assert used and used <= known, f"{expression} uses {used - known}"


def test_every_alert_is_explained() -> None:
    rules = yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    page = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(Driftwise\w+)` \|", page, re.MULTILINE) == [rule["alert"] for rule in rules]


def test_the_file_of_options_has_the_options_and_their_defaults() -> None:
    values = tomllib.loads((DEPLOY / "driftwise.toml").read_text(encoding="utf-8"))
    for name, value in values.items():
        option = OPTIONS[name.replace("-", "_")]
        assert value == option.default or name == "store"


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "kubernetes.yaml", "driftwise.service"])
def test_environment_variables_are_options(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    for option in re.findall(r"DRIFTWISE_SERVE_([A-Z_]+)", text):
        assert option.lower() in OPTIONS


def test_probes_ask_for_what_there_is(tmp_path: Path) -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))
    (container,) = documents[1]["spec"]["template"]["spec"]["containers"]
    paths = {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}

    async def statuses() -> set[int]:
        async with web(tmp_path / "store.db") as service:
            while (await service.http.get("/readyz")).status_code != 200:
                await asyncio.sleep(0.01)
            return {(await service.http.get(path)).status_code for path in paths}

    assert paths == {"/healthz", "/readyz"} and asyncio.run(statuses()) == {200}
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert set(compose["services"]) == {"database", "driftwise"}


@pytest.mark.system
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    text = (DEPLOY / "driftwise.service").read_text(encoding="utf-8")
    assert "ExecStart=/opt/driftwise/bin/driftwise serve" in text
    unit = tmp_path / "driftwise.service"
    unit.write_text(text.replace("/opt/driftwise/bin/driftwise", sys.executable), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    about_it = [line for line in done.stderr.splitlines() if unit.name in line]
    assert about_it == [], done.stderr


@pytest.mark.deep
def test_the_steps_of_the_image_in_a_clean_environment(tmp_path: Path) -> None:
    """What the Dockerfile installs and compiles, with its variables, in folders of the test's own."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    install = re.search(r"RUN pip (install .*?) && rm", text)
    assert install is not None
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    words = [word.strip("'").replace("/src", str(ROOT)) for word in install[1].split()]
    subprocess.run([str(python), "-m", "pip", *words], check=True, capture_output=True)
    variables = dict(re.findall(r"(DRIFTWISE_\w+)=(\S+)", text))
    own = {name: value.replace("/data", str(tmp_path)) for name, value in variables.items()}
    port = free_port()
    environment: dict[str, Any] = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | own
    program = str(tmp_path / "venv" / "bin" / "driftwise")
    compiled = re.search(r"^RUN driftwise (compile .*)", text, re.MULTILINE)
    assert compiled is not None
    words = compiled[1].replace("$POLICIES", "ucb1").replace("/usr/local", str(tmp_path / "venv")).split()
    subprocess.run([program, *words], env=environment, check=True, capture_output=True)
    made = [program, "keys", "create", "--scopes", "admin"]
    key = subprocess.run(made, env=environment, check=True, capture_output=True, text=True).stdout.strip()
    command = [program, "serve", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, env=environment) as process:
        try:
            with patient(f"http://127.0.0.1:{port}", key=key) as client:
                client.create("shop", "ucb1", ["red", "blue"])
                client.learn("shop", client.decide("shop").id, reward=1.0)
            kernels = Path(own["DRIFTWISE_CACHE_DIR"])
            assert not kernels.exists() or not list(kernels.iterdir()), "something was compiled at its first use"
        finally:
            process.terminate()
