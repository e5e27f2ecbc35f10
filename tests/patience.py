"""Waiting for things to happen, as long as a busy machine takes: a slow test is not a red one.

What is waited for is a condition, never a time. `HANG_S` only tells a test that hangs from one that is slow.
"""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

import httpx

from driftwise.service.client.client import Client

HANG_S = 900.0
PATIENT: dict[str, Any] = {"timeout": HANG_S, "patience": HANG_S}  # of a client


def until(condition: Callable[[], Any], what: str, pause: float = 0.02) -> Any:
    """Wait until a condition holds; what it was."""
    end = time.monotonic() + HANG_S
    while not (found := condition()):
        assert time.monotonic() < end, f"in {HANG_S:g} seconds {what} did not come"
        time.sleep(pause)
    return found


async def until_so(condition: Callable[[], Any], what: str, pause: float = 0.02) -> Any:
    """The same in an event loop, also for a condition that is awaited."""
    end = time.monotonic() + HANG_S
    while not (found := await _awaited(condition())):
        assert time.monotonic() < end, f"in {HANG_S:g} seconds {what} did not come"
        await asyncio.sleep(pause)
    return found


async def until_more(count: Callable[[], int], more: int, what: str) -> None:
    """Wait until a number has grown by so much."""
    enough = count() + more
    await until_so(lambda: count() >= enough, what)


async def _awaited(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


def get(url: str, **options: Any) -> httpx.Response:
    """Ask for a page."""
    return httpx.get(url, timeout=HANG_S, **options)


def post(url: str, **options: Any) -> httpx.Response:
    """Send something."""
    return httpx.post(url, timeout=HANG_S, **options)


def patient(url: str, **options: Any) -> Client:
    """A client that waits."""
    return Client(url, **PATIENT, **options)
