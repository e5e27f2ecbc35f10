"""Which deployments there are, which keys, and where the clock was set: the fold of stream 0."""

import logging
from typing import Any, NamedTuple

from driftwise.service.deployments import spec as papers
from driftwise.service.deployments.clock import Leaps
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.http.schemas.requests import Settings
from driftwise.service.store import events as kinds
from driftwise.service.store.events import Body, ClockSet, Created, KeyMade, KeyRevoked, PolicyChanged, Status
from driftwise.service.store.journal import CATALOGUE, DamagedError, Event, Journal, JournalError

RUNNING, PAUSED, RETIRED = "running", "paused", "retired"
DAMAGED = "damaged"  # told of one that cannot be folded
log = logging.getLogger("driftwise.service")


class Damage(NamedTuple):
    """What is wrong with the journal of a deployment, and with which event, if that is known."""

    why: str
    event: int | None


class Entry:
    """A deployment in the catalogue. It is folded when it is first needed: `live` is None until then."""

    def __init__(self, stream: int, made: Settings, at: int) -> None:
        self.stream, self.made, self.at, self.status = stream, made, at, RUNNING
        self.policy = made.policy  # in force, as text
        self.live: Deployment | None = None
        self.busy: Any = None  # a future that is done when nobody works on it any more
        self.writing = 0  # requests whose commit is under way
        self.unsaved = 0  # events since the last snapshot
        self.touched = 0
        self.settled: dict[int, Body] = {}  # outcomes whose commit is under way
        self.damage: Damage | None = None  # of its journal, as far as is known
        self.lost = False  # whether it cannot be folded for that: a snapshot may be newer than the damage

    def discard(self, reason: str) -> None:
        """Drop what is in memory; the deployment is folded from the journal when it is next needed."""
        if self.live is not None:
            log.debug("a deployment is discarded from memory", extra={"facts": {"stream": self.stream, "why": reason}})
        self.live = None

    @property
    def settings(self) -> Settings:
        """The settings in force, as far as they are known without a fold."""
        return self.made if self.live is None else self.live.settings


class Catalogue:
    """Deployments by name, keys by id."""

    def __init__(self) -> None:
        self.number = 0
        self.entries: dict[str, Entry] = {}
        self.keys: dict[str, KeyMade] = {}
        self.made_at: dict[str, int] = {}
        self.leaps = Leaps()
        self._by_stream: dict[int, Entry] = {}

    @property
    def next_stream(self) -> int:
        """The number of the deployment to come."""
        return CATALOGUE + 1 + len(self._by_stream)

    def event(self, body: Body, at: int) -> Event:
        """The event to come, which `apply` takes when it is written."""
        return Event(CATALOGUE, self.number, at, kinds.NAMES[type(body)], kinds.encode(body))

    def apply(self, event: Event) -> None:
        """Take note of an event."""
        self.number = event.number + 1
        body = kinds.body_of(event)
        if isinstance(body, Created):
            made = papers.from_paper(body.settings)
            entry = Entry(body.stream, made, event.at)
            self.entries[made.name] = self._by_stream[body.stream] = entry
        elif isinstance(body, Status):
            self._by_stream[body.stream].status = body.status
        elif isinstance(body, PolicyChanged):
            self._by_stream[body.stream].policy = body.policy
        elif isinstance(body, KeyMade):
            self.keys[body.id] = body
            self.made_at[body.id] = event.at
        elif isinstance(body, KeyRevoked):
            self.keys.pop(body.id, None)
        elif isinstance(body, ClockSet):
            self.leaps.add(body.before, body.after)


def read_catalogue(journal: Journal) -> Catalogue:
    """The catalogue of a store. Without it nothing can be served: where it is damaged, no deployment is found."""
    catalogue = Catalogue()
    for event in journal.read(CATALOGUE):
        if event.number != catalogue.number:
            raise DamagedError(f"the catalogue has lost event {catalogue.number}: restore a backup", catalogue.number)
        try:
            catalogue.apply(event)
        except Exception as error:
            why = error if isinstance(error, JournalError) else f"event {event.number}: {type(error).__name__} {error}"
            raise DamagedError(f"the catalogue is damaged, {why}: restore a backup", event.number) from error
    return catalogue
