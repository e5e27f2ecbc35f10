"""Limits of connections: in all, per client address, and a few more for health checks.

At a limit, a connection that waits for its client is closed for a new one: of the address with the most connections,
the one that has waited longest. So idle connections cannot keep others out. Where none waits, all are busy; then only
health checks are answered on the new connection, and there are few such connections.
"""

import logging
from collections.abc import Iterable
from typing import Protocol

from driftwise.service.http.endpoint import Limits

LOG_S = 60.0  # between two lines in the log about a limit
log = logging.getLogger("driftwise.service")


class LimitedConnection(Protocol):
    """A connection: the address of its client, since when it waits or works, and whether it waits for the client."""

    address: str
    since: float
    surplus: bool  # beyond the limits: only health checks are answered

    @property
    def waiting(self) -> bool:
        """Whether the service waits for the client."""

    def leave(self) -> None:
        """Close, without waiting for the client."""


class ConnectionLimiter:
    """The connections of a server. `limits` are those of the service."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._all: set[LimitedConnection] = set()
        self._by_address: dict[str, set[LimitedConnection]] = {}
        self._log_at = 0.0

    def enter(self, new: LimitedConnection) -> bool:
        """Register a connection, or make it `surplus`; False if there are too many even for that."""
        own = self._by_address.get(new.address, set())
        for crowd, limit in ((own, self.limits.max_per_client), (self._all, self.limits.max_connections)):
            if len(crowd) >= limit:
                self._log(new, limit)
                self._make_room(crowd)
            if len(crowd) >= limit + self.limits.max_health:
                return False
            new.surplus |= len(crowd) >= limit
        self._by_address.setdefault(new.address, set()).add(new)
        self._all.add(new)
        return True

    def free(self, connection: LimitedConnection) -> None:
        """Unregister a connection."""
        self._all.discard(connection)
        own = self._by_address.get(connection.address, set())
        own.discard(connection)
        if not own:
            self._by_address.pop(connection.address, None)

    def _make_room(self, crowd: Iterable[LimitedConnection]) -> None:
        """Close a connection that waits for its client, if there is one."""
        waiting = [each for each in crowd if each.waiting]
        if waiting:
            victim = max(waiting, key=lambda each: (len(self._by_address[each.address]), -each.since))
            self.free(victim)
            victim.leave()

    def _log(self, new: LimitedConnection, limit: int) -> None:
        if new.since >= self._log_at:
            self._log_at = new.since + LOG_S
            log.warning("the limit of connections is reached", extra={"facts": {"client": new.address, "limit": limit}})
