"""Whether the service can do its work, and what keeps it from that: for `/readyz`, and once for the log.

The store can fail in two ways, when it is written and when it is read. The log is told when either begins and when it
is over, not at every request between.
"""

import logging
import random
import time

import msgspec

from driftwise.service.store.journal import JournalError, Snapshot

IDLE_S = 5.0  # where nothing was written for so long, the store is tried before it is said to work
ANSWER_S = 2.0  # how long whoever asks is let wait for that
TRIAL = -1  # a stream of no deployment: what is written there and read back shows whether that can be done
SMALL, LARGE = 1 << 12, 1 << 20  # bytes of a trial; after a failure there must be room for more than a commit needs
WRITTEN, READ = "written", "read"
log = logging.getLogger("driftwise.service")


class Ready(msgspec.Struct, omit_defaults=True):
    """Whether requests are served, if not why, and which deployments have a damaged journal, as far as is known."""

    ready: bool
    reason: str | None = None
    damaged: list[str] = []


class Readiness:
    """What is known of kernels and store."""

    def __init__(self) -> None:
        self.warm = False
        self.problems: dict[str, str] = {}
        self._wrote = time.monotonic()

    @property
    def reason(self) -> str | None:
        """Why the service is not ready, for anybody; None when it is."""
        if not self.warm:
            return "the kernels of policies are being loaded"
        for what, why in self.problems.items():
            return f"the store cannot be {what}: {why}"
        return None

    @property
    def idle(self) -> bool:
        """Whether nothing was written of late, so that nobody knows whether it could be."""
        return time.monotonic() - self._wrote > IDLE_S

    def trial(self) -> Snapshot:
        """What to write to see whether the store works."""
        size = LARGE if self.problems else SMALL
        return Snapshot(TRIAL, 0, random.Random(size).randbytes(size))  # no database can make that smaller

    def failed(self, what: str, error: JournalError) -> None:
        """The store could not be written, or read; only the log is told all of it."""
        if what not in self.problems:
            log.error(f"the store cannot be {what}", extra={"facts": {"why": str(error)}})
        self.problems[what] = error.reason

    def wrote(self) -> None:
        """Something was written. That alone does not end a failure: a small commit may fit where most do not."""
        self._wrote = time.monotonic()

    def worked(self, what: str) -> None:
        """A trial was written, or read back."""
        if self.problems.pop(what, None) is not None:
            log.info(f"the store can be {what} again")
