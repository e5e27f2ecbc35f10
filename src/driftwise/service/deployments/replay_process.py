"""A long replay in a process of its own, of low priority, so that decisions do not wait for it.

The process reads the store itself, and sends back how far it is and, at the end, the state as a snapshot. It ends when
its standard input does, that is with the service at the latest. Its kernels come from the cache that the service uses.

    python -m driftwise.service.deployments.replay_process 10        is what the service starts, with its niceness
"""

import os
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, Any

import msgspec

from driftwise.errors import DriftwiseError
from driftwise.families import POLICIES
from driftwise.service.deployments import spec
from driftwise.service.deployments.fold import EventsDroppedError, fold
from driftwise.service.deployments.replay_progress import OnReplayed
from driftwise.service.store.journal import DamagedError, Journal, JournalError, Snapshot
from driftwise.service.store.reader import open_reader

LENGTH = struct.Struct(">Q")
NO_PROCESS = "the process that replays its journal"


class ReplayJob(msgspec.Struct):
    """What to replay: the arguments of `fold`."""

    url: str
    stream: int
    initial: bytes
    upto: int | None
    cached: bool
    policy: dict[str, Any] | None


class ReplayedEvents(msgspec.Struct, tag=True):
    """So many events were replayed."""

    done: int


class ReplayedState(msgspec.Struct, tag=True):
    """The replay is done: a snapshot of its state."""

    number: int
    body: bytes


class ReplayFailure(msgspec.Struct, tag=True):
    """The replay failed; `kind` is one of `FAILURES`, or empty where the process itself is to blame."""

    kind: str
    why: str
    event: int | None = None


class ReplayProcessError(OSError):
    """The process ended without a result."""


FAILURES: dict[str, type[DriftwiseError]] = {
    "damaged": DamagedError,
    "dropped": EventsDroppedError,
    "journal": JournalError,
    "invalid": DriftwiseError,
}
_JOB = msgspec.msgpack.Decoder(ReplayJob)
_MESSAGES = msgspec.msgpack.Decoder(ReplayedEvents | ReplayedState | ReplayFailure)


# ---- in the service ----


class ReplayProcess:
    """The process that replays; there is at most one at a time, which `end` ends."""

    niceness = 10  # at most a tenth of a core that is in demand; the lowest priority would get nothing of it

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @staticmethod
    def is_possible(journal: Journal) -> bool:
        """Whether another process can do it: it must find the store, and the same policies."""
        return journal.url is not None and all(kind.__module__.startswith("driftwise.") for kind in POLICIES.values())

    def run(self, job: ReplayJob, progress: OnReplayed, *, urgent: bool) -> Snapshot:
        """Do a replay, and wait for it; called in a thread. One that requests wait for is `urgent`."""
        niceness = 0 if urgent else self.niceness
        command = [sys.executable, "-P", "-m", "driftwise.service.deployments.replay_process", str(niceness)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, process_group=0, **pipes) as process:  # Ctrl-C is for the service
            self._process = process
            if self._closed:
                process.kill()
            assert process.stdin is not None and process.stdout is not None
            try:
                send(process.stdin, job)
                while (content := receive(process.stdout)) is not None:
                    message = _MESSAGES.decode(content)
                    if isinstance(message, ReplayedState):
                        return Snapshot(job.stream, message.number, message.body)
                    if isinstance(message, ReplayFailure):
                        raise error_of(message)
                    progress(message.done)
            except BrokenPipeError:
                pass  # it ended before it had read what to do
            finally:
                self._process = None
                process.kill()
                with suppress(BrokenPipeError):
                    process.stdin.close()
        raise ReplayProcessError(f"{NO_PROCESS} ended with the code {process.returncode}")

    def end(self) -> None:
        """End the process, if there is one; what it did is lost, and nothing else."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()


def error_of(failure: ReplayFailure) -> Exception:
    """The error that `fold` would have raised here."""
    if failure.kind not in FAILURES:
        return ReplayProcessError(f"{NO_PROCESS} failed ({failure.why})")
    if failure.kind == "damaged":
        return DamagedError(failure.why, failure.event)
    return FAILURES[failure.kind](failure.why)


# ---- in the process ----


def failure_of(error: Exception, job: ReplayJob) -> ReplayFailure:
    """An error as a message."""
    if isinstance(error, DamagedError):
        if isinstance(error.__cause__, DriftwiseError) and job.policy is not None:
            return ReplayFailure("invalid", str(error.__cause__))  # the new policy cannot replay this journal
        return ReplayFailure("damaged", str(error), error.event)
    kind = next((name for name, each in FAILURES.items() if isinstance(error, each)), "")
    return ReplayFailure(kind, str(error) if kind else f"{type(error).__name__}: {error}")


def do_job(job: ReplayJob, output: IO[bytes]) -> None:
    """Replay, and send the state."""
    try:
        live = fold(
            open_reader(job.url),
            job.stream,
            spec.decode(job.initial),
            upto=job.upto,
            cached=job.cached,
            policy=job.policy,
            progress=lambda n_events: send(output, ReplayedEvents(n_events)),
        )
        snapshot = live.snapshot()
        send(output, ReplayedState(snapshot.number, snapshot.body))
    except Exception as error:
        send(output, failure_of(error, job))


def send(pipe: IO[bytes], message: msgspec.Struct) -> None:
    """Send a message with its length before it."""
    content = msgspec.msgpack.encode(message)
    pipe.write(LENGTH.pack(len(content)) + content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """The content of the next message; None at the end."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    content = pipe.read(size)
    return content if len(content) == size else None


def _end_with_the_service() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def main() -> None:
    """Do the one job that comes on standard input."""
    os.nice(int(sys.argv[1]))
    content = receive(sys.stdin.buffer)
    if content is None:
        return
    threading.Thread(target=_end_with_the_service, daemon=True).start()
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # what is printed is no message
    do_job(_JOB.decode(content), output)
    os._exit(0)  # without closing the store: the last to close it would clean it up


if __name__ == "__main__":
    main()
