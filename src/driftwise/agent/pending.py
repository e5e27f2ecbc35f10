"""The table of pending decisions of an agent: one record per decision that waits for its outcome.

A decision has an id. In a program that is its round. A journal numbers decisions itself: rounds depend on the policy
(a window in seconds counts others than a window in decisions), and the id must survive a replay into another one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

# The round, the lasting key of the action, the propensity, the row of features, and the note of the caller.
Pending = tuple[int, Any, float, Any, object]


class PendingNotes(Mapping[int, object]):
    """The notes that callers attached to pending decisions, by id, oldest first: a live view of the table."""

    def __init__(self, table: dict[int, Pending]) -> None:
        self._table = table

    def __getitem__(self, id: int) -> object:
        return self._table[id][4]

    def __contains__(self, id: object) -> bool:
        return id in self._table

    def __iter__(self) -> Iterator[int]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)
