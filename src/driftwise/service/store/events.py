"""Types of events in the journal, as small msgpack arrays.

In the stream of a deployment: decisions, outcomes (sent, or by default), cancellations, arms added and retired, changes
of its specification; decisions of which personal data were erased, and gaps that a repair has left. In the catalogue:
deployments created, paused, resumed, retired and deleted; API keys created and revoked; the clock set; and who did it.
"""

from typing import Any, TypeVar

import msgspec

from driftwise.service.store.journal import DamagedError, Event

E = TypeVar("E")


class Body(msgspec.Struct, array_like=True):
    """The content of an event, without time and number."""


class Decided(Body):
    """An action was chosen. `request` is what it was decided on: context, rows of features, states.

    `sticky`: the unit kept the arm of its earlier decision, with the propensity of that. `override`: the action was
    chosen outside, with the propensity that the caller gave, if any. `provisional`: the state that chose was made by
    other code, while an exact one was being folded.
    """

    action: Any
    propensity: float | None
    request: dict[str, Any]
    unit: str | None = None
    sticky: bool = False
    override: bool = False
    provisional: bool = False


class Erased(Body):
    """A decision without the personal data it had: `body` is a `Decided` with another unit and no request.

    `original` is the digest of the event as it was, so that the chain of hashes still holds; `check` is its own.
    """

    original: int
    check: int
    body: bytes

    @property
    def decided(self) -> Decided:
        """What is left of the decision."""
        return _DECIDED.decode(self.body)


class JournalGap(Body):
    """Events up to and including `upto` were damaged, and a repair has set them aside: the next has another number."""

    upto: int


class Learned(Body):
    """An outcome came, or was `defaulted` after the reward window. The handler sets `status`: whether it counts."""

    outcome: dict[str, Any]
    status: str = ""
    defaulted: bool = False


class Cancelled(Body):
    """A decision was cancelled."""


class ArmAdded(Body):
    """An arm was added, with what it brings: its features, or its type and its activation cost."""

    name: str | int | float
    options: dict[str, Any] = {}


class ArmRetired(Body):
    """An arm was retired."""

    name: str | int | float


class Changed(Body):
    """Fields of the specification were changed; `policy` says whether the journal was replayed into another policy.

    `partial`: a new policy or shadow was fed only the events after the origin, for those before were dropped.
    """

    changes: dict[str, Any]
    policy: bool = False
    partial: bool = False


class Created(Body):
    """A deployment was created, with its specification as JSON."""

    stream: int
    spec: bytes


class Status(Body):
    """The status of a deployment was set."""

    stream: int
    status: str


class Deleted(Body):
    """A deployment was deleted, with all its events."""

    stream: int


class PolicyChanged(Body):
    """The journal of a deployment was replayed into another policy: `policy`, with all its parameters."""

    stream: int
    policy: str


class RetentionChanged(Body):
    """The retention of a deployment was changed, to this one as JSON: it is looked after before its first request."""

    stream: int
    retention: bytes


class ApiKeyCreated(Body):
    """An API key was created: its scopes, and the hash of its text."""

    id: str
    name: str
    hash: bytes
    scopes: list[str]
    expires: int | None = None
    deployments: list[str] | None = None


class ClockSet(Body):
    """A lasting leap of the clock was accepted: time went from one moment to another at once."""

    before: int
    after: int


class ApiKeyRevoked(Body):
    """An API key was revoked."""

    id: str


class ApiKeyUsed(Body):
    """An API key was used; written at most once a day for each."""

    id: str


class Audited(Body):
    """An administrative request was done: who asked (the id of a key), what, to what, and the id of the request."""

    caller: str
    action: str
    target: str
    request: str


KINDS: dict[str, type[Body]] = {
    "decided": Decided,
    "erased": Erased,
    "gap": JournalGap,
    "learned": Learned,
    "cancelled": Cancelled,
    "arm added": ArmAdded,
    "arm retired": ArmRetired,
    "changed": Changed,
    "created": Created,
    "status": Status,
    "deleted": Deleted,
    "policy changed": PolicyChanged,
    "retention changed": RetentionChanged,
    "key created": ApiKeyCreated,
    "key revoked": ApiKeyRevoked,
    "key used": ApiKeyUsed,
    "clock set": ClockSet,
    "audited": Audited,
}
NAMES = {kind: name for name, kind in KINDS.items()}
AUDITED, CHANGED = NAMES[Audited], NAMES[Changed]
_DECODERS = {name: msgspec.msgpack.Decoder(kind) for name, kind in KINDS.items()}
_DECIDED = msgspec.msgpack.Decoder(Decided)
_ENCODER = msgspec.msgpack.Encoder()


def encode(body: Body) -> bytes:
    """Serialize a body."""
    return _ENCODER.encode(body)


def body_of(event: Event) -> Any:
    """Deserialize the body of an event."""
    try:
        return _DECODERS[event.kind].decode(event.body)
    except Exception as error:
        why = f"event {event.number} cannot be read ({type(error).__name__}: {error})"
        raise DamagedError(why, event.number) from error


def next_number(event: Event) -> int:
    """The number of the event after this one."""
    return event.number + 1 if event.kind != "gap" else int(body_of(event).upto) + 1
