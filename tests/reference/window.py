"""The rule for late rewards, as a filter over the log."""

from tests.reference.log import Entry, Twin


class WindowedTwin(Twin):
    """A twin that forgets: at decision t only the decisions of rounds t - w .. t - 1 count.

    A reward enters by the round of its decision, once it has arrived: one that arrives after its round has left the
    window is never counted, and of one that arrives twice the first counts.
    """

    def known(self, t: int) -> list[Entry]:
        """One entry for each answered round of the window."""
        answered: dict[int, Entry] = {}
        for entry in self.log:
            in_window = t - self.policy.window <= entry.t <= t - 1
            if in_window and entry.arrival < t and entry.t not in answered:
                answered[entry.t] = entry
        return list(answered.values())

    def stale(self) -> int:
        """Rewards that came too late: at the next decision after their arrival their round had left the window."""
        return sum(entry.t < entry.arrival + 1 - self.policy.window for entry in self.log)
