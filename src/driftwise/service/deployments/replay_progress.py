"""How far a replay is: for who waits for it, for the view of its deployment, for metrics and for the log."""

import logging
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from driftwise.service.deployments.catalogue import DeploymentEntry

LOG_EVERY_S = 5.0
log = logging.getLogger("driftwise.service")
OnReplayed = Callable[[int], None]  # takes how many events were replayed


class ReplayView(msgspec.Struct):
    """A replay of the journal that is under way: why, events replayed and to replay, and how long it may still take."""

    why: str
    done: int
    total: int
    seconds_left: float | None = None


class ReplayProgress:
    """A replay of a deployment; calling it reports how many events were replayed. Any thread may do so."""

    def __init__(self, name: str, why: str, total: int, now: Callable[[], float] = time.monotonic) -> None:
        self.name, self.why, self.total, self.done = name, why, total, 0
        self._now, self._started, self._logged = now, now(), now()

    def __call__(self, done: int) -> None:
        self.done = done
        self.total = max(self.total, done)  # events that came meanwhile
        if self._now() - self._logged >= LOG_EVERY_S:
            self._logged = self._now()
            log.info("a journal is being replayed", extra={"facts": {"deployment": self.name, **self._facts()}})

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the speed so far; None before there is any."""
        if not self.done:
            return None
        return (self._now() - self._started) * (self.total - self.done) / self.done

    @property
    def view(self) -> ReplayView:
        """For the answer to a request."""
        left = self.seconds_left
        return ReplayView(self.why, self.done, self.total, None if left is None else round(left, 1))

    @property
    def sentence(self) -> str:
        """For who waits for it."""
        left = self.seconds_left
        rest = "" if left is None else f", about {max(1, round(left))} seconds left"
        return f"deployment {self.name} is being replayed ({self.why}): {self.done} of {self.total} events{rest}"

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = msgspec.structs.asdict(self.view)
        return facts


@contextmanager
def show_progress(entry: "DeploymentEntry", why: str, total: int) -> "Iterator[ReplayProgress]":
    """The progress of a replay, shown with its deployment until the block ends."""
    entry.replay = progress = ReplayProgress(entry.initial.name, why, total)
    try:
        yield progress
    finally:
        if entry.replay is progress:
            entry.replay = None
