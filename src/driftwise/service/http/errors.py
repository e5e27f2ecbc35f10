"""Errors that requests are answered with: RFC 9457 problem details, one class per code.

`ERRORS` is the list of codes. The OpenAPI document describes each by the docstring of its class; `type` points there.
The `detail` of a response says what was wrong with this request.
"""

import logging

import msgspec

from driftwise.errors import DriftwiseError
from driftwise.service.http.schemas.responses import ErrorBody
from driftwise.service.store.journal import JournalError

PROBLEM_JSON = b"application/problem+json"
TYPE = "/openapi.json#/components/responses/"  # where the code is described
MAX_RETRY_S = 60
log = logging.getLogger("driftwise.service")


class HttpError(DriftwiseError):
    """A request that failed and changed nothing."""

    status, code, title = 500, "internal-error", "Internal Server Error"

    @property
    def body(self) -> ErrorBody:
        """The problem details."""
        return ErrorBody(f"{TYPE}{self.code}", self.title, self.status, str(self), self.code)


class BadRequest(HttpError):
    """The request is not valid HTTP or JSON, or a field has the wrong type."""

    status, code, title = 400, "bad-request", "Bad Request"


class Unauthorized(HttpError):
    """There is no API key or token, or it is unknown, expired or revoked."""

    status, code, title = 401, "unauthorized", "Unauthorized"


class Forbidden(HttpError):
    """The API key lacks a scope, or the request did not come straight from this machine before any API key exists."""

    status, code, title = 403, "forbidden", "Forbidden"


class NotFound(HttpError):
    """There is no such path, deployment, decision or key."""

    status, code, title = 404, "not-found", "Not Found"


class MethodNotAllowed(HttpError):
    """The path has no such method; the header `allow` lists those it has."""

    status, code, title = 405, "method-not-allowed", "Method Not Allowed"


class Conflict(HttpError):
    """The request contradicts what is recorded: another outcome, or a name that is taken."""

    status, code, title = 409, "conflict", "Conflict"


class EventsDropped(HttpError):
    """Events that a new policy or shadow would be fed were dropped: `allow_partial_replay` feeds it the others."""

    status, code, title = 409, "events-dropped", "Events Dropped"


class NotRunning(HttpError):
    """The deployment is paused or retired."""

    status, code, title = 409, "not-running", "Deployment Not Running"


class RequestInProgress(HttpError):
    """A request with the same idempotency key is in progress: repeat the request."""

    status, code, title = 409, "request-in-progress", "Request In Progress"


class ContentTooLarge(HttpError):
    """The body is larger than the limit."""

    status, code, title = 413, "content-too-large", "Content Too Large"


class Invalid(HttpError):
    """The values in the request are not valid for this deployment."""

    status, code, title = 422, "invalid", "Unprocessable Content"


class IdempotencyKeyReused(HttpError):
    """The idempotency key was used for a different request."""

    status, code, title = 422, "idempotency-key-reused", "Idempotency Key Reused"


class LimitReached(HttpError):
    """There are as many pending decisions, deployments or keys as the limit allows."""

    status, code, title = 429, "limit-reached", "Limit Reached"

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds


class HeadersTooLarge(HttpError):
    """Request line and headers are larger than the limit."""

    status, code, title = 431, "headers-too-large", "Request Header Fields Too Large"


class InternalError(HttpError):
    """The service failed unexpectedly; its log has the details."""


class Damaged(HttpError):
    """The journal of the deployment is damaged; repeating the request does not help."""

    status, code, title = 503, "damaged", "Deployment Damaged"

    def __init__(self, message: str, event: int | None = None) -> None:
        super().__init__(message)
        self.event = event  # the number of the event, where it is known


class Unavailable(HttpError):
    """The store or the service is unavailable. Repeat the request with the same idempotency key."""

    status, code, title = 503, "unavailable", "Service Unavailable"


class Replaying(HttpError):
    """The journal of the deployment is being replayed, which takes long. Repeat the request after `retry-after`."""

    status, code, title = 503, "replaying", "Deployment Is Being Replayed"

    def __init__(self, message: str, seconds_left: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = max(1, min(MAX_RETRY_S, round(seconds_left or 1.0)))  # seconds


class NotOwner(Unavailable):
    """Another process owns the deployment. The request was not begun, and is passed on to the owner."""


ERRORS: dict[str, type[HttpError]] = {
    each.code: each
    for each in (
        BadRequest,
        Unauthorized,
        Forbidden,
        NotFound,
        MethodNotAllowed,
        Conflict,
        EventsDropped,
        NotRunning,
        RequestInProgress,
        ContentTooLarge,
        Invalid,
        IdempotencyKeyReused,
        LimitReached,
        HeadersTooLarge,
        InternalError,
        Damaged,
        Replaying,
        Unavailable,
    )
}


def error_reply(error: DriftwiseError) -> tuple[int, bytes, bytes]:
    """Status, body and media type for an error. Errors of driftwise itself are about the values in a request."""
    if isinstance(error, JournalError):
        log.error("the store failed a request", extra={"facts": {"why": str(error)}})
        error = Unavailable(f"the store cannot be read now ({error.reason}); repeat the request")
    if not isinstance(error, HttpError):
        error = Invalid(str(error))
    return error.status, msgspec.json.encode(error.body), PROBLEM_JSON
