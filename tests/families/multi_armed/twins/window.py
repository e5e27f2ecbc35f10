"""The rule for late rewards, as a filter over the log."""

from tests.families.multi_armed.twins.log import Entry, Twin


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

    def settle(self, t: int, now: int) -> None:
        """What had left the window by the end of round `now` was a try all the same."""
        if t >= now + 1 - self.policy.window:
            super().settle(t, now)

    def under_way(self, t: int) -> list[list[int]]:
        """Only what is in the window."""
        return [[s for s in rounds if s >= t - self.policy.window] for rounds in super().under_way(t)]

    def last_try(self, arm: int, t: int) -> int:
        """A decision was a try if its reward came while it was in the window, or was under way when it left."""
        window = self.policy.window
        rewarded = [entry.t for entry in self.log if entry.arm == arm and entry.t >= entry.arrival + 1 - window]
        return max([*rewarded, *(s for s, each in self.pending.items() if each == arm)], default=-1)

    def stale(self) -> int:
        """Rewards that came too late: at the next decision after their arrival their round had left the window."""
        return sum(entry.t < entry.arrival + 1 - self.policy.window for entry in self.log)
