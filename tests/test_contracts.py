"""Everything registered keeps every promise in `driftwise.checks`. A new policy or world is found by its table."""

from collections.abc import Callable
from typing import Any

import pytest

from driftwise.checks import POLICY_CHECKS, WORLD_CHECKS
from driftwise.worlds.delayed import Delayed
from tests.families import ARMED, ARMED_WORLDS

WRAPPED: dict[str, Callable[[Any], Any]] = {
    "fixed delay": lambda world: Delayed(world=world, delay=20),
    "geometric delay and losses": lambda world: Delayed(world=world, delay=5.0, kind="geometric", lost=0.2),
}
EVERY_WORLD: dict[str, Any] = {
    **{name: kind() for name, kind in ARMED_WORLDS.items()},
    **{f"{name}, gaussian": kind(rewards="gaussian") for name, kind in ARMED_WORLDS.items()},
    **{f"{name}, {how}": wrap(kind()) for name, kind in ARMED_WORLDS.items() for how, wrap in WRAPPED.items()},
}


@pytest.mark.parametrize("name", ARMED)
@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_policy(name: str, check: Any) -> None:
    check(ARMED[name]())


@pytest.mark.parametrize("name", [name for name, kind in ARMED.items() if "window" in kind._fields])
@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_policy_with_a_short_window(name: str, check: Any) -> None:
    check(ARMED[name](window=60))


@pytest.mark.parametrize("name", EVERY_WORLD)
@pytest.mark.parametrize("check", WORLD_CHECKS, ids=lambda check: check.__name__)
def test_world(name: str, check: Any) -> None:
    check(EVERY_WORLD[name])
