"""`driftwise evaluate`: a table for people, one JSON document for programs, and deployments of the service."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from driftwise.cli import main
from tests.fixtures.engine import create, decide, learn, running

HEADER = "time,variant,click,pscore\n"


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    """A month of three variants; `red` is the best until the middle, then `blue` is."""
    rng = np.random.default_rng(0)
    n = 3000
    actions = rng.integers(0, 3, n)
    means = np.where(np.arange(n)[:, None] < n // 2, [0.4, 0.2, 0.1], [0.1, 0.2, 0.4])
    rewards = rng.random(n) < means[np.arange(n), actions]
    times = np.datetime64("2026-03-01T00:00:00") + np.arange(n) * np.timedelta64(800, "s")
    names = np.array(["red", "green", "blue"])[actions]
    lines = [f"{t},{name},{int(r)},0.3333333333" for t, name, r in zip(times, names, rewards, strict=True)]
    path = tmp_path / "clicks.csv"
    path.write_text(HEADER + "\n".join(lines) + "\n")
    return path


def driftwise(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done


def test_json_is_one_document(clicks: Path) -> None:
    policies = ["--policy", "fixed:red", "--policy", "sliding-thompson:window=500"]
    document = json.loads(driftwise("evaluate", str(clicks), *policies, "--json", "--periods", "2").stdout)
    assert document["rows"] == 3000 and document["arms"] == ["blue", "green", "red"]
    assert list(document["policies"]) == ["fixed:red", "sliding-thompson:window=500"]
    red = document["policies"]["fixed:red"]
    assert red["method"] == "dr" and red["effective_sample_size"] == pytest.approx(1000, rel=0.1)
    low, high = red["value"]["ci95"]
    assert low < red["value"]["mean"] < high
    first, second = red["periods"]
    assert first["value"]["mean"] == pytest.approx(0.4, abs=0.08) and second["value"]["mean"] < 0.2
    assert first["start_at"] == "2026-03-01T00:00:00+00:00" and first["rows"] == 1500
    assert {each["against"] for each in document["comparisons"]} == {"logged", "fixed:red"}
    assert document["logged"]["value"]["mean"] == pytest.approx(0.233, abs=0.03)


def test_a_table_for_people(clicks: Path) -> None:
    done = driftwise("evaluate", str(clicks), "--policy", "fixed:red", "--policy", "uniform")
    assert "3,000 rows, 3 arms" in done.stdout and "fixed:red" in done.stdout
    assert "earns" in done.stdout and "note: columns guessed" in done.stderr


@pytest.mark.parametrize(
    ("columns", "missing"),
    [
        (120, ""),
        (90, ""),
        (80, "by period"),
        (70, "by period, effective rows"),
        (50, "by period, effective rows, against the log"),
    ],
)
def test_names_stay_whole_in_a_narrow_terminal(
    clicks: Path, monkeypatch: pytest.MonkeyPatch, columns: int, missing: str
) -> None:
    """They break after `:` and `,` only; columns that have no room are left out, and named below the table."""
    monkeypatch.setenv("COLUMNS", str(columns))
    policies = ["--policy", "sliding-gaussian-thompson:window=1024", "--policy", "fixed:red"]
    table = driftwise("evaluate", str(clicks), *policies).stdout
    table = table[: table.index(" earns ")].rsplit("\n", 1)[0]
    assert all(len(line) <= columns for line in table.splitlines())
    first, second = "sliding-gaussian-thompson:", "window=1024"
    assert (f"{first}{second} " in table) != (f" {first} " in table and f" {second} " in table)
    assert " fixed:red " in table
    body, _, left_out = " ".join(table.split()).partition(" no room for: ")
    assert left_out == missing
    for column, title in (("by period", "by period"), ("effective rows", "effective"), ("against the log", "against")):
        assert (title in body) == (column not in missing)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["LOG"], "no policy to evaluate: give --policy"),
        (["--policy", "uniform"], "give a file LOG, or --deployment NAME"),
        (["LOG", "--policy", "fixed:pink"], "there is no arm in this log called 'pink'"),
        (["LOG", "--policy", "uniform", "--action", "colour"], "action='colour' is not a column"),
        (["LOG", "--policy", "uniform", "--reward-range", "1"], "reward-range=1 is not two numbers"),
        (["LOG", "--policy", "uniform", "--store", "x.db"], "--store and --url need --deployment NAME"),
        (["--deployment", "shop", "--policy", "uniform"], "--deployment needs either --store or --url"),
        (["--deployment", "shop", "--store", "missing.db", "--policy", "uniform"], "there is no store at "),
        (["--deployment", "shop", "--url", "ftp://x", "--policy", "uniform"], "url=ftp://x is not http"),
        (["--deployment", "shop", "--url", "http://127.0.0.1:9", "--policy", "uniform"], "no answer from"),
        (["--deployment", "shop", "--store", "x", "--time", "t", "--policy", "uniform"], "--time is for files"),
    ],
)
def test_one_sentence_and_exit_code_2(clicks: Path, words: list[str], why: str) -> None:
    done = driftwise("evaluate", *[str(clicks) if word == "LOG" else word for word in words], code=2)
    assert why in done.stderr and done.stderr.count("\n") == 1


def test_a_deployment_from_its_store(tmp_path: Path) -> None:
    """The log of a deployment that explores with known propensities is evaluated like any other."""
    store = tmp_path / "store.db"

    async def serve() -> None:
        async with running(store) as engine:
            await create(engine, policy="uniform")
            for i in range(300):
                decision = await decide(engine)
                await learn(engine, decision["id"], reward=float(decision["action"] == "blue" or i % 5 == 0))

    asyncio.run(serve())
    words = ["evaluate", "--store", f"sqlite:///{store}", "--deployment", "shop", "--policy", "fixed:blue", "--json"]
    words += ["--method", "snips"]
    document = json.loads(driftwise(*words).stdout)
    assert document["rows"] == 300
    assert document["policies"]["fixed:blue"]["value"]["mean"] == pytest.approx(1.0)
    assert "read as the export of a deployment" in document["notes"]
    done = driftwise(*["ship" if word == "shop" else word for word in words], code=2)
    assert "there is no deployment 'ship' in this store: there are shop" in done.stderr
