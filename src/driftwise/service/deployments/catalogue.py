"""The catalogue: deployments, API keys and settings of the clock. It is the fold of stream 0."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from driftwise.service.deployments import spec
from driftwise.service.deployments.clock import Leaps
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.replay_progress import ReplayProgress
from driftwise.service.deployments.shadows import Shadows
from driftwise.service.http.schemas.requests import DeploymentSpec, RetentionSpec
from driftwise.service.http.schemas.responses import SummaryResponse
from driftwise.service.store import events
from driftwise.service.store.events import (
    ApiKeyCreated,
    ApiKeyRevoked,
    ApiKeyUsed,
    Audited,
    Body,
    ClockSet,
    Created,
    Deleted,
    PolicyChanged,
    RetentionChanged,
    Status,
)
from driftwise.service.store.journal import CATALOGUE, DamagedError, Event, Journal, JournalError

RUNNING, PAUSED, RETIRED = "running", "paused", "retired"
DAMAGED = "damaged"  # the status of a deployment that cannot be folded
log = logging.getLogger("driftwise.service")


class Damage(NamedTuple):
    """Why the journal of a deployment is damaged, and at which event, if that is known."""

    why: str
    event: int | None


class DeploymentEntry:
    """A deployment in the catalogue. It is folded when it is first needed: `live` is None until then."""

    def __init__(self, stream: int, initial: DeploymentSpec, at: int) -> None:
        self.stream, self.initial, self.at, self.status = stream, initial, at, RUNNING
        self.policy = initial.policy  # in force, as text
        self.retention = initial.retention  # in force
        self.live: Deployment | None = None
        self.busy: Any = None  # during exclusive use: a future that is done at its end
        self.history = asyncio.Lock()  # for long replays, and for those that drop or erase events
        self.writing = 0  # requests that wait for their commit
        self.unsaved = 0  # events since the last snapshot
        self.touched = 0
        self.settled: dict[int, Body] = {}  # outcomes that wait for their commit
        self.damage: Damage | None = None  # of its journal, as far as is known
        self.summary: SummaryResponse | None = None  # the latest, see `queries`
        self.shadows: Shadows | None = None  # as far as they are loaded
        self.replay: ReplayProgress | None = None  # of its journal, while it lasts
        self.settling: asyncio.Task[None] | None = None  # ends when it no longer decides provisionally
        self.lost = False  # whether it cannot be folded for that reason: a snapshot may be newer than the damage

    def discard(self, reason: str) -> None:
        """Drop what is in memory; the deployment is folded from the journal when it is next needed."""
        if self.live is not None:
            log.debug("a deployment is discarded from memory", extra={"facts": {"stream": self.stream, "why": reason}})
        self.live = self.shadows = None

    @property
    def keeps(self) -> RetentionSpec | None:
        """The retention in force, also before the first fold."""
        return self.retention if self.live is None else self.live.spec.retention


class Catalogue:
    """Deployments by name, keys by id."""

    def __init__(self) -> None:
        self.number = 0
        self.entries: dict[str, DeploymentEntry] = {}
        self.keys: dict[str, ApiKeyCreated] = {}
        self.key_created_at: dict[str, int] = {}
        self.key_used_at: dict[str, int] = {}  # as recorded, to the day
        self.key_uses: dict[str, int] = {}  # since the start
        self.key_names: dict[str, str] = {}  # revoked ones too
        self.leaps = Leaps()
        self.deleted: set[int] = set()  # streams of deployments that were deleted
        self._by_stream: dict[int, DeploymentEntry] = {}

    @property
    def next_stream(self) -> int:
        """The stream of the next deployment."""
        return CATALOGUE + 1 + len(self._by_stream)

    def event(self, body: Body, at: int) -> Event:
        """The next event, to `apply` after it is written."""
        return Event(CATALOGUE, self.number, at, events.NAMES[type(body)], events.encode(body))

    def apply(self, event: Event) -> None:
        """Handle an event."""
        body = events.body_of(event)
        HANDLERS[type(body)](self, body, event.at)
        self.number = event.number + 1

    def _on_created(self, body: Created, at: int) -> None:
        initial = spec.decode(body.spec)
        self.entries[initial.name] = self._by_stream[body.stream] = DeploymentEntry(body.stream, initial, at)

    def _on_status(self, body: Status, at: int) -> None:
        self._by_stream[body.stream].status = body.status

    def _on_deleted(self, body: Deleted, at: int) -> None:
        entry = self._by_stream[body.stream]
        self.deleted.add(body.stream)
        del self.entries[entry.initial.name]

    def _on_policy_changed(self, body: PolicyChanged, at: int) -> None:
        self._by_stream[body.stream].policy = body.policy

    def _on_retention_changed(self, body: RetentionChanged, at: int) -> None:
        self._by_stream[body.stream].retention = msgspec.json.decode(body.retention, type=RetentionSpec | None)

    def _on_key_created(self, body: ApiKeyCreated, at: int) -> None:
        self.keys[body.id] = body
        self.key_created_at[body.id] = at
        self.key_names[body.id] = body.name

    def _on_key_revoked(self, body: ApiKeyRevoked, at: int) -> None:
        self.keys.pop(body.id, None)

    def _on_key_used(self, body: ApiKeyUsed, at: int) -> None:
        self.key_used_at[body.id] = at

    def _on_audited(self, body: Audited, at: int) -> None:
        """Only readers of the audit look at it."""

    def _on_clock_set(self, body: ClockSet, at: int) -> None:
        self.leaps.add(body.before, body.after)


HANDLERS: dict[type[Body], Callable[[Catalogue, Any, int], None]] = {
    Created: Catalogue._on_created,
    Status: Catalogue._on_status,
    Deleted: Catalogue._on_deleted,
    PolicyChanged: Catalogue._on_policy_changed,
    RetentionChanged: Catalogue._on_retention_changed,
    ApiKeyCreated: Catalogue._on_key_created,
    ApiKeyRevoked: Catalogue._on_key_revoked,
    ApiKeyUsed: Catalogue._on_key_used,
    Audited: Catalogue._on_audited,
    ClockSet: Catalogue._on_clock_set,
}


def read_catalogue(journal: Journal) -> Catalogue:
    """Read the catalogue of a store. A damaged catalogue is an error: without it there is nothing to serve."""
    catalogue = Catalogue()
    try:
        for event in journal.read(CATALOGUE):
            try:
                catalogue.apply(event)
            except JournalError:
                raise
            except Exception as error:
                why = f"event {event.number}: {type(error).__name__} {error}"
                raise DamagedError(why, event.number) from error
    except DamagedError as error:
        raise DamagedError(f"the catalogue is damaged ({error}): restore a backup", error.event) from error
    return catalogue
