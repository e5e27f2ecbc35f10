"""Limits of connections: in all, per client address, and a few more for health checks.

At a limit, a connection that waits for its client is closed for a new one: of the address with the most connections,
the one that has waited longest. So idle connections cannot keep others out. Where none waits, all are busy; then only
health checks are answered on the new connection, and there are few such connections.
"""

import logging
from collections.abc import Iterable
from typing import Any

LOG_S = 60.0  # between two lines in the log about a limit
log = logging.getLogger("driftwise.service")


class ConnectionLimiter:
    """The connections of a server. `limits` are those of the service."""

    def __init__(self, limits: Any) -> None:
        self.limits = limits
        self._all: set[Any] = set()
        self._by_address: dict[str, set[Any]] = {}
        self._log_at = 0.0

    def enter(self, new: Any) -> bool:
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

    def free(self, connection: Any) -> None:
        """Unregister a connection."""
        self._all.discard(connection)
        own = self._by_address.get(connection.address, set())
        own.discard(connection)
        if not own:
            self._by_address.pop(connection.address, None)

    def _make_room(self, crowd: Iterable[Any]) -> None:
        """Close a connection that waits for its client, if there is one."""
        waiting = [each for each in crowd if each.waiting]
        if waiting:
            victim = max(waiting, key=lambda each: (len(self._by_address[each.address]), -each.since))
            self.free(victim)
            victim.leave()

    def _log(self, new: Any, limit: int) -> None:
        if new.since >= self._log_at:
            self._log_at = new.since + LOG_S
            log.warning("the limit of connections is reached", extra={"facts": {"client": new.address, "limit": limit}})
