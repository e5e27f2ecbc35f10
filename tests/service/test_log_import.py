"""A deployment that begins with a log: it has learned the log's rows, at their times, once."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import driftwise as dw
from driftwise.cli.warm_up import warm_up
from driftwise.errors import DriftwiseError, ParameterError
from driftwise.service.client.client import Client
from driftwise.service.deployments.clock import now_us, utc
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.export import rows as exported
from driftwise.service.deployments.log_import import BATCH, LoggedOutcome, import_log
from driftwise.service.store.journal import open_journal
from tests.fixtures.engine import Clock as EngineClock
from tests.fixtures.engine import create, decide, deployment_spec, running
from tests.fixtures.service_process import Service

pytestmark = pytest.mark.system

DAY_US = 86_400_000_000
START = 1_750_000_000_000_000
ARMS = ["red", "blue", "green"]
CONTEXTS = {"phone": [0.0, 1.0], "desk": [1.0, 0.0]}  # the categories of the column `device`, in order


def a_month(n: int = 750) -> list[LoggedOutcome]:
    draws = np.random.default_rng(0)
    arms, luck = draws.integers(3, size=n), draws.random(n)
    return [
        LoggedOutcome(START + i * 30 * DAY_US // n, ARMS[k], 1 / 3, float(u < (0.8, 0.2, 0.1)[k]))
        for i, (k, u) in enumerate(zip(arms.tolist(), luck.tolist(), strict=True))
    ]


def test_a_deployment_has_learned_the_log_at_its_own_times(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store, month = f"sqlite:///{tmp_path}/shop.db", a_month()
    assert asyncio.run(import_log(open_journal(store), deployment_spec(), month))
    journal = open_journal(store)
    entry = Engine(journal).catalogue.entries["shop"]
    log = list(exported(journal, entry.stream, -1, 2**62))
    journal.close()
    assert len(log) == len(month) and all(row["override"] for row in log)
    assert [row["action"] for row in log] == [row.action for row in month]
    assert [row["reward"] for row in log] == [row.reward for row in month]
    assert [row["decided_at"] for row in log] == [utc(row.at) for row in month]
    assert not asyncio.run(import_log(open_journal(store), deployment_spec(), month))
    assert "ahead of the clock" not in caplog.text


def test_deployments_of_today_are_left_alone_by_an_import(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The clock of the import is that of the log: to it they would lie in the future."""

    async def other() -> None:
        async with running(tmp_path / "shop.db", EngineClock(now_us())) as engine:
            await create(engine, name="other")
            await decide(engine, "other")

    asyncio.run(other())
    caplog.clear()
    assert asyncio.run(import_log(open_journal(f"sqlite:///{tmp_path}/shop.db"), deployment_spec(), a_month()))
    assert [record.getMessage() for record in caplog.records] == []


def test_rewards_come_when_the_log_says(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/shop.db"
    month = [row._replace(rewarded_at=row.at + (i % 4) * DAY_US) for i, row in enumerate(a_month())]
    asyncio.run(import_log(open_journal(store), deployment_spec(), month))
    journal = open_journal(store)
    log = list(exported(journal, Engine(journal).catalogue.entries["shop"].stream, -1, 2**62))
    journal.close()
    assert [(row["decided_at"], row["outcome_at"]) for row in log] == [
        (utc(row.at), utc(row.rewarded_at or row.at)) for row in month
    ]
    assert [row["reward"] for row in log] == [row.reward for row in month]


def test_where_too_many_rewards_would_wait_the_first_is_learned_early_and_time_does_not_leap(tmp_path: Path) -> None:
    second = 1_000_000
    rows = [LoggedOutcome(START + i * second, "red", 0.5, 1.0, {}, START + (3600 + i) * second) for i in range(8)]
    journal = open_journal(f"sqlite:///{tmp_path}/shop.db")
    asyncio.run(import_log(journal, deployment_spec(max_pending=3), rows))
    journal = open_journal(f"sqlite:///{tmp_path}/shop.db")
    times = [(event.kind, (event.at - START) // second) for event in journal.read(1)]
    journal.close()
    assert [at for kind, at in times if kind == "decided"] == [*range(8)]
    assert [at for kind, at in times if kind == "learned"] == [3, 4, 5, 6, 7, 3605, 3606, 3607]


def test_an_interrupted_import_is_noticed(tmp_path: Path) -> None:
    store, month = f"sqlite:///{tmp_path}/shop.db", a_month()
    asyncio.run(import_log(open_journal(store), deployment_spec(), month[:300]))
    with pytest.raises(ParameterError, match="made 300 decisions, fewer than the 750 rows"):
        asyncio.run(import_log(open_journal(store), deployment_spec(), month))


class Ended(list[LoggedOutcome]):
    """Rows during which the process is asked to end."""

    def __iter__(self) -> Iterator[LoggedOutcome]:
        for i, row in enumerate(super().__iter__()):
            if i == 700:
                raise SystemExit(0)  # what SIGTERM does
            yield row


def test_what_an_import_that_ends_early_did_not_write_is_in_no_snapshot(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/shop.db"
    with pytest.raises(SystemExit):
        asyncio.run(import_log(open_journal(store), deployment_spec(), Ended(a_month())))

    async def go_on() -> None:
        async with running(store) as engine:
            last, snapshot = engine.journal.last(1), engine.journal.latest(1)
            assert last == BATCH - 1 and (snapshot is None or snapshot.number <= last)
            assert engine.journal.snapshot_numbers(1) in ([], [last])
            assert (await decide(engine))["id"] == last + 1

    asyncio.run(go_on())


def test_serve_warms_a_deployment_up(tmp_path: Path) -> None:
    lines = [f"{row.at / 1e6},{row.action},{row.reward:g},{row.propensity}" for row in a_month()]
    path = tmp_path / "clicks.csv"
    path.write_text("\n".join(["time,variant,click,propensity", *lines]) + "\n")
    words = ["--deployment", "shop", "--policy", "sliding-thompson:window=600", "--log", str(path)]
    words += ["--action", "variant", "--reward", "click"]
    for _ in range(2):  # started again, it goes on
        with Service(tmp_path / "shop.db", *words) as service, Client(service.url) as client:
            chosen = [client.decide("shop").action for _ in range(20)]
        assert chosen.count("red") >= 18


def test_bad_words_are_refused_in_a_sentence(tmp_path: Path) -> None:
    for words, sentence in (
        (["--log", "clicks.csv"], "--deployment NAME and --log FILE belong together"),
        (["--deployment", "shop", "--log", str(tmp_path / "none.csv")], "none.csv"),
    ):
        command = [sys.executable, "-m", "driftwise.cli", "serve", "--store", f"sqlite:///{tmp_path}/x.db", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    """A log of rewards from 2 to 40."""
    path = tmp_path / "sales.csv"
    lines = [f"{START / 1e6 + 60 * i},{ARMS[i % 3]},{2 + i % 39},{1 / 3}" for i in range(117)]
    path.write_text("\n".join(["time,action,reward,propensity", *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("policy", "options", "reward_range"),
    [
        ("thompson", [], [2.0, 40.0]),
        ("thompson", ["--reward-range", "0,50"], [0.0, 50.0]),
        ("sliding-ucb:window=100", [], [2.0, 40.0]),
        ("sliding-ucb:window=100", ["--noise", "12"], None),
    ],
)
def test_a_policy_that_needs_a_range_is_given_that_of_the_option_or_of_the_log(
    tmp_path: Path, sales: Path, policy: str, options: list[str], reward_range: list[float] | None
) -> None:
    words = ["--deployment", "shop", "--policy", policy, "--log", str(sales), *options]
    with Service(tmp_path / "shop.db", *words) as service, Client(service.url) as client:
        problem = client.describe("shop").spec["problem"]
        assert client.decide("shop").id == 2 * 117  # after the decisions and rewards of the log
    assert problem["reward_range"] == reward_range
    assert problem.get("noise") == (12.0 if "--noise" in options else None)


def test_serve_says_which_range_it_took(tmp_path: Path, sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warm_up(f"sqlite:///{tmp_path}/shop.db", "normal", "shop", "thompson", str(sales), {})
    said = capsys.readouterr().err
    assert "thompson needs a range of rewards: it is that of the log, [2, 40]" in said
    assert "give another with --reward-range LOW,HIGH" in said


def test_serve_refuses_a_range_without_all_rewards_and_a_name_with_spaces(tmp_path: Path, sales: Path) -> None:
    columns: dict[str, str | None] = {}
    store = f"sqlite:///{tmp_path}/shop.db"
    with pytest.raises(DriftwiseError, match=r"rewards from 2 to 40 are outside reward_range=\(0, 10\): give one"):
        warm_up(store, "normal", "shop", "thompson", str(sales), columns, "0,10")
    with pytest.raises(ParameterError, match="reward-range=10 is not two numbers, LOW,HIGH"):
        warm_up(store, "normal", "shop", "thompson", str(sales), columns, "10")
    with pytest.raises(ParameterError, match="deployment 'my shop': a name consists of 1 to 64 letters, digits, `_`"):
        warm_up(store, "normal", "my shop", "thompson", str(sales), columns)


def test_serve_warms_up_a_deployment_that_decides_by_features_and_its_log_comes_back(tmp_path: Path) -> None:
    draws, n = np.random.default_rng(0), 400
    device, arms, luck = draws.integers(2, size=n), draws.integers(3, size=n), draws.random(n)
    lines = [
        f"{START / 1e6 + 60 * i},{ARMS[k]},{int(u < (0.9 if k == d else 0.1))},{1 / 3},{('phone', 'desk')[d]}"
        for i, (k, d, u) in enumerate(zip(arms.tolist(), device.tolist(), luck.tolist(), strict=True))
    ]
    path = tmp_path / "clicks.csv"
    path.write_text("\n".join(["time,variant,click,propensity,device", *lines]) + "\n")
    words = ["--deployment", "shop", "--log", str(path), "--context", "device"]
    with Service(tmp_path / "shop.db", *words) as service:
        with Client(service.url) as client:
            chosen = {
                name: [client.decide("shop", context=x).action for _ in range(10)] for name, x in CONTEXTS.items()
            }
        log = dw.Log.from_service(service.url, "shop")
        with pytest.raises(DriftwiseError, match="the service answered 404 for deployment 'none'"):
            dw.Log.from_service(service.url, "none")
    assert chosen["phone"].count("red") >= 8 and chosen["desk"].count("blue") >= 8
    assert len(log) == n + 20 and log.context is not None and log.context.shape[1] == 2
    assert np.nansum(log.rewards) == sum(int(line.split(",")[2]) for line in lines)
