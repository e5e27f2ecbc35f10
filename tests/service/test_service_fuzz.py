"""What nobody thought of: requests made up from the OpenAPI document, and a model that the service must agree with."""

import asyncio
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from driftwise.errors import DriftwiseError
from driftwise.families import Knapsack, Restless
from driftwise.service.deployments import admin, queries
from driftwise.service.deployments.background_tasks import run_once
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import IdempotencyKey
from driftwise.service.http.errors import Conflict, IdempotencyKeyReused, LimitReached, NotFound, NotRunning
from driftwise.service.http.schemas.requests import ChangeRequest
from driftwise.service.store.journal import open_journal
from tests.fixtures.engine import Clock, create, decide, learn
from tests.fixtures.patience import HANG_S, patient
from tests.fixtures.service_process import Service, admin_key

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def fuzz(store: Path, examples: int) -> None:
    """Let schemathesis ask whatever the document allows, and much that it does not."""
    key = admin_key(store)
    with Service(store, auth=True) as service:
        with patient(service.url, key=key) as client:
            client.create("shop", "sliding-ucb:window=50", 3)
            client.create("calls", "wiql", Restless(3, n_active=1, states=2, state_rewards=[0, 1]))
            client.create("ads", "ucb-bwk", Knapsack(3, {"euros": 10.0}, horizon=100))
        schemathesis = Path(sys.executable).with_name("schemathesis")
        words = ["run", f"{service.url}/openapi.json", "--checks", CHECKS, "--max-examples", str(examples)]
        words += ["--seed", "1", "--request-timeout", f"{HANG_S:.0f}", "--no-color"]
        words += ["-H", f"Authorization: Bearer {key}"]
        words += ["--exclude-path-regex", "/v1/keys/.*"]  # it would revoke its own key
        done = subprocess.run(
            [str(schemathesis), *words, "--phases", "coverage,fuzzing"],
            capture_output=True,
            text=True,
            check=False,
            cwd=store.parent,
        )
        assert done.returncode == 0, done.stdout[-5000:]
        with patient(service.url, key=key) as client:
            for each in client.list(limit=1000).deployments:
                assert client.verify(each.name).identical
    assert '"status": 5' not in service.log.read_text()


@pytest.mark.system
def test_requests_that_the_document_allows(tmp_path: Path) -> None:
    fuzz(tmp_path / "store.db", 4)


@pytest.mark.deep
def test_many_requests_that_the_document_allows(tmp_path: Path) -> None:
    fuzz(tmp_path / "store.db", 100)


class Model(RuleBasedStateMachine):
    """A deployment, and what it should be like: decisions, outcomes, keys, a clock, restarts and failures."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.clock = Clock()
        self.actions: dict[int, Any] = {}
        self.key_created_at: dict[int, int] = {}
        self.outcomes: dict[int, float] = {}
        self.defaulted: set[int] = set()
        self.keys: dict[str, Any] = {}
        self.paused = False
        self.fresh = itertools.count()
        self.open()
        self.run(create(self.engine, reward_window=100, max_pending=12))

    def open(self) -> None:
        self.engine = Engine(open_journal(f"sqlite:///{self.folder.name}/store.db"), clock=self.clock)
        self.run(self.engine.start())

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def pass_time(self) -> None:
        """What should default does."""
        for id, at in self.key_created_at.items():
            if id not in self.outcomes and at + 100_000_000 <= self.clock.now:
                self.defaulted.add(id)

    @property
    def waiting(self) -> list[int]:
        return [id for id in self.actions if id not in self.outcomes and id not in self.defaulted]

    @rule(idempotent=strategies.booleans())
    def decide(self, idempotent: bool) -> None:
        self.pass_time()
        key = f"k{next(self.fresh)}" if idempotent else None
        try:
            decision = self.run(decide(self.engine, key=IdempotencyKey("", key, b"decide")))
        except NotRunning:
            assert self.paused
            return
        except LimitReached:
            assert len(self.waiting) == 12
            return
        assert not self.paused and len(self.waiting) < 12
        assert decision["id"] not in self.actions
        self.actions[decision["id"]] = decision["action"]
        self.key_created_at[decision["id"]] = self.clock.now
        if key:
            self.keys[key] = decision

    @precondition(lambda self: self.keys)
    @rule(data=strategies.data(), same=strategies.booleans())
    def repeat(self, data: Any, same: bool) -> None:
        key = data.draw(strategies.sampled_from(sorted(self.keys)))
        try:
            again = self.run(decide(self.engine, key=IdempotencyKey("", key, b"decide" if same else b"other")))
            assert same and again == self.keys[key]
        except IdempotencyKeyReused:
            assert not same

    @rule(data=strategies.data(), reward=strategies.sampled_from([0.0, 1.0, 7.0]))
    def learn(self, data: Any, reward: float) -> None:
        id = data.draw(strategies.sampled_from([*self.actions, 10_000]))
        self.pass_time()
        try:
            status = self.run(learn(self.engine, id, reward=reward))
        except NotFound:
            assert id not in self.actions
            return
        except Conflict:
            assert id in self.outcomes and self.outcomes[id] != reward
            return
        except DriftwiseError:
            assert reward == 7.0 and id in self.waiting
            return
        if id in self.defaulted:
            assert status == "late"
        elif id in self.outcomes:
            assert status == "duplicate" and self.outcomes[id] == reward
        else:
            assert status == "learned"
            self.outcomes[id] = reward

    @rule(seconds=strategies.sampled_from([1, 30, 101]))
    def wait(self, seconds: int) -> None:
        self.clock.wait(seconds)

    @rule(years=strategies.sampled_from([1, -1]))
    def leap_for_a_moment(self, years: int) -> None:
        """The clock leaps and comes back: nothing is given up meanwhile."""
        self.clock.leap(years * 365 * 86_400)
        self.run(run_once(self.engine))
        self.clock.wait(1)
        self.clock.leap(-years * 365 * 86_400)

    @rule()
    def pause_or_resume(self) -> None:
        self.paused = not self.paused
        self.run(admin.set_status(self.engine, "shop", "paused" if self.paused else "running"))

    @rule(window=strategies.sampled_from([100, 200]))
    def change(self, window: int) -> None:
        self.run(admin.change(self.engine, "shop", ChangeRequest(parameters={"window": float(window)})))

    @rule()
    def restart(self) -> None:
        self.run(self.engine.close())
        self.open()

    @rule()
    def crash(self) -> None:
        """All that was answered is on disk: whatever is in memory may go."""
        for task in self.engine._tasks:
            task.cancel()
        self.run(asyncio.sleep(0))
        self.run(self.engine.writer.close())
        self.engine.journal.close()
        self.open()

    @invariant()
    def the_log_is_the_model(self) -> None:
        rows = {}
        for event in self.engine.journal.read(1):
            if event.kind == "decided":
                rows[event.number] = self.run(queries.get_decision(self.engine, "shop", event.number))
        assert {id: row.action for id, row in rows.items()} == self.actions
        told = {id: row.outcome["reward"] for id, row in rows.items() if row.status == "learned" and row.outcome}
        assert told == self.outcomes
        assert {id for id, row in rows.items() if row.status == "defaulted"} <= self.defaulted | set(self.waiting)

    def teardown(self) -> None:
        assert self.run(queries.verify(self.engine, "shop")).identical
        self.run(self.engine.close())
        self.loop.close()
        self.folder.cleanup()


Model.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestModel = Model.TestCase
