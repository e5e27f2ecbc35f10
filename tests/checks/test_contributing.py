"""The example in CONTRIBUTING.md is a policy that keeps every contract."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from driftwise.agent import Agent
from driftwise.checks import check_policy
from driftwise.core.spec import catalogue, parse

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A package with the page's file and the page's line, as a reader would write them."""
    page = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (line,) = re.findall(r"`(from driftwise\.families\.multi_armed\.policies\.recency import .*?)`", page)
    package = tmp_path_factory.mktemp("site") / "shop"
    package.mkdir()
    (package / "recency.py").write_text(code, encoding="utf-8")
    (package / "__init__.py").write_text(
        line.replace("driftwise.families.multi_armed.policies", "shop"), encoding="utf-8"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(package.parent)
        yield importlib.import_module("shop")


def test_the_example_keeps_every_contract(shop: ModuleType) -> None:
    check_policy(shop.Recency())


def test_the_line_puts_it_in_the_table(shop: ModuleType) -> None:
    table = catalogue(shop)
    assert parse("recency:step=0.2", table, "policy") == shop.Recency(step=0.2)


def test_it_learns(shop: ModuleType) -> None:
    agent = Agent(shop.Recency(), ["worse", "better"], seed=3)
    for _ in range(200):
        decision = agent.decide()
        agent.learn(decision, reward=0.9 if decision.action == "better" else 0.1)
    choices = [agent.decide().action for _ in range(100)]
    assert choices.count("better") > 80
