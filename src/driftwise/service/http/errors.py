"""What a request can be refused with. Each has a code for programs, a sentence for people, and a status for HTTP."""

from driftwise.errors import DriftwiseError


class Refusal(DriftwiseError):
    """A request that was not done, and changed nothing."""

    status, code = 400, "refused"


class Malformed(Refusal):
    """What was sent is not what is expected."""

    status, code = 400, "malformed"


class Unauthorised(Refusal):
    """No key, or one that is not known, has expired or was revoked."""

    status, code = 401, "unauthorised"


class Forbidden(Refusal):
    """The key does not allow this."""

    status, code = 403, "forbidden"


class Unknown(Refusal):
    """There is no such thing."""

    status, code = 404, "unknown"


class Conflict(Refusal):
    """It contradicts what is there."""

    status, code = 409, "conflict"


class Paused(Refusal):
    """The deployment is paused or retired."""

    status, code = 409, "paused"


class KeyReused(Refusal):
    """The idempotency key was used for another request."""

    status, code = 422, "key-reused"


class Busy(Refusal):
    """A request with this idempotency key is under way."""

    status, code = 409, "in-flight"


class TooLarge(Refusal):
    """More than a request may bring."""

    status, code = 413, "too-large"


class Full(Refusal):
    """A limit is reached; it will be lower when outcomes have come."""

    status, code = 429, "full"


class Damaged(Refusal):
    """The journal of the deployment is damaged; `event` is the number of the event, where it is known."""

    status, code = 503, "damaged"

    def __init__(self, message: str, event: int | None = None) -> None:
        super().__init__(message)
        self.event = event


class Unavailable(Refusal):
    """The store cannot be written just now. Whether it was done is unknown; the same key makes it safe to ask again."""

    status, code = 503, "unavailable"
