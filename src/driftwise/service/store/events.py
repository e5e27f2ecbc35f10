"""What can happen, as it stands in the journal: small msgpack arrays, by kind.

In the stream of a deployment: a decision, its outcome (told, or by default), its end without one, arms that come and
go, changes of settings. In the catalogue: deployments that come, pause, go on and retire; keys that are made and
revoked; a clock that was set.
"""

from typing import Any, TypeVar

import msgspec

from driftwise.service.store.journal import DamagedError, Event

E = TypeVar("E")


class Body(msgspec.Struct, array_like=True):
    """What an event says beside its time and number."""


class Decided(Body):
    """An action was chosen. `asked` is what was shown.

    `sticky`: the unit kept the arm it had before, with the propensity of its first decision. `override`: the action was
    chosen outside, with the propensity that the caller gave, if any.
    """

    action: Any
    propensity: float | None
    asked: dict[str, Any]
    unit: str | None = None
    sticky: bool = False
    override: bool = False


class Learned(Body):
    """An outcome came, or `defaulted` after the reward window. `status` says what became of it, once that is known."""

    told: dict[str, Any]
    status: str = ""
    defaulted: bool = False


class Cancelled(Body):
    """A decision never happened."""


class ArmAdded(Body):
    """A new arm."""

    name: str | int
    features: list[float] | None = None
    arm_class: str | None = None
    activation_cost: float | None = None


class ArmRetired(Body):
    """An arm that will not be chosen again."""

    name: str | int


class Changed(Body):
    """Other settings from here on, as JSON; `policy` says whether the journal was replayed into another policy."""

    changes: dict[str, Any]
    policy: bool = False


class Created(Body):
    """A deployment, with its settings as JSON."""

    stream: int
    settings: bytes


class Status(Body):
    """A deployment runs, pauses or is retired from here on."""

    stream: int
    status: str


class PolicyChanged(Body):
    """The journal of a deployment was replayed into another policy: `policy`, with all its parameters."""

    stream: int
    policy: str


class KeyMade(Body):
    """An API key: what it may do, and the hash it is known by."""

    id: str
    name: str
    hash: bytes
    scopes: list[str]
    expires: int | None = None
    deployments: list[str] | None = None


class ClockSet(Body):
    """The clock had leapt and stayed there, and was believed: time went from one moment to another at once."""

    before: int
    after: int


class KeyRevoked(Body):
    """A key that opens nothing any more."""

    id: str


KINDS: dict[str, type[Body]] = {
    "decided": Decided,
    "learned": Learned,
    "cancelled": Cancelled,
    "arm added": ArmAdded,
    "arm retired": ArmRetired,
    "changed": Changed,
    "created": Created,
    "status": Status,
    "policy changed": PolicyChanged,
    "key made": KeyMade,
    "key revoked": KeyRevoked,
    "clock set": ClockSet,
}
NAMES = {kind: name for name, kind in KINDS.items()}
_DECODERS = {name: msgspec.msgpack.Decoder(kind) for name, kind in KINDS.items()}
_ENCODER = msgspec.msgpack.Encoder()


def encode(body: Body) -> bytes:
    """The bytes of a body."""
    return _ENCODER.encode(body)


def body_of(event: Event) -> Any:
    """The body of an event, as its kind has it."""
    try:
        return _DECODERS[event.kind].decode(event.body)
    except Exception as error:
        why = f"event {event.number} cannot be read ({type(error).__name__}: {error})"
        raise DamagedError(why, event.number) from error
