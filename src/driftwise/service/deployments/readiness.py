"""Readiness: whether requests are served, and if not why, for `/readyz` and the log.

The store can fail when it is written and when it is read. The log has a line when either begins and when it ends, not
one for every request between.
"""

import asyncio
import logging
import random
import time

import msgspec

from driftwise.service.store.journal import JournalError, Snapshot

IDLE_S = 5.0  # without a write for so long, the store is tried before the service reports to be ready
ANSWER_S = 2.0  # how long a request for /readyz waits for that
TRIAL = -1  # a stream of no deployment, for trial writes and reads
SMALL, LARGE = 1 << 12, 1 << 20  # bytes of a trial; after a failure there must be room for more than a commit needs
WRITTEN, READ = "written", "read"
log = logging.getLogger("driftwise.service")


class Ready(msgspec.Struct, omit_defaults=True):
    """Whether requests are served, if not why, and which deployments have a damaged journal, as far as is known."""

    ready: bool
    reason: str | None = None
    damaged: list[str] = []


class Readiness:
    """The state of kernels and store."""

    def __init__(self) -> None:
        self.warm = False
        self.sampled = False  # whether a sample of the store has been checked
        self.problems: dict[str, str] = {}
        self.trying: asyncio.Task[None] | None = None  # a trial of the store
        self._wrote = time.monotonic()

    @property
    def reason(self) -> str | None:
        """Why the service is not ready, without secrets; None when it is."""
        if not self.warm:
            return "the kernels of policies are being loaded"
        for what in (WRITTEN, READ):
            if what in self.problems:
                return f"the store cannot be {what}: {self.problems[what]}"
        return None

    @property
    def idle(self) -> bool:
        """Whether there was no recent write, so that it is not known whether the store works."""
        return time.monotonic() - self._wrote > IDLE_S

    def trial(self) -> Snapshot:
        """A trial write."""
        size = LARGE if self.problems else SMALL
        return Snapshot(TRIAL, 0, random.Random(size).randbytes(size))  # no database can compress that

    def failed(self, what: str, error: JournalError) -> None:
        """The store could not be written or read; only the log has the full reason."""
        if what not in self.problems:
            log.error(f"the store cannot be {what}", extra={"facts": {"why": str(error)}})
        self.problems[what] = error.reason

    def wrote(self) -> None:
        """There was a write. That alone does not end a failure: a small commit may fit where most do not."""
        self._wrote = time.monotonic()

    def worked(self, what: str) -> None:
        """A trial was written, or read back."""
        if self.problems.pop(what, None) is not None:
            log.info(f"the store can be {what} again")
