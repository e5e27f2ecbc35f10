"""Several processes over one store: any of them answers for all, and one that dies or sleeps loses nothing."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from driftwise.service.client.client import Client
from tests.fixtures.patience import patient, until
from tests.fixtures.postgres import Server
from tests.fixtures.service_process import Service

NAMES = [f"shop-{number}" for number in range(4)]


@pytest.fixture
def pair(postgres_server: Server, tmp_path: Path) -> Iterator[list[Service]]:
    """Two processes over one store."""
    store = postgres_server.store()
    with ExitStack() as stack:
        first = stack.enter_context(Service(store, log=tmp_path / "first.log"))
        with patient(first.url) as client:
            for name in NAMES:
                client.create(name, "sliding-thompson:window=50", 3)
        second = stack.enter_context(Service(store, log=tmp_path / "second.log"))
        yield [first, second]


def members(service: Service) -> list[dict[str, Any]]:
    with patient(service.url) as client:
        return list(client.members())


def owned(service: Service) -> dict[str, list[str]]:
    """The deployments that each address owns, as a process says."""
    return {each.address: each.deployments for each in members(service)}


def shared(services: list[Service]) -> bool:
    """Whether all processes say the same, and own as many deployments."""
    views = [owned(service) for service in services]
    fair = all(len(each) == len(NAMES) // len(services) for each in views[0].values())
    return fair and len(views[0]) == len(services) and all(view == views[0] for view in views)


def test_any_process_answers_for_all(pair: list[Service]) -> None:
    until(lambda: shared(pair), "a fair share")
    clients = [patient(service.url) for service in pair]
    for turn in range(6):
        for name in NAMES:
            decision = clients[turn % 2].decide(name)
            assert clients[1 - turn % 2].learn(name, decision.id, 1.0).status == "learned"
    for client in clients:
        listed = {each.name: each for each in client.list()}
        assert sorted(listed) == NAMES
        assert {each.n_events for each in listed.values()} == {12}
        assert all(client.verify(name).identical for name in NAMES)
        client.close()
