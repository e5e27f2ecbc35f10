"""What became of an outcome: one list of words for agents, the journal, HTTP and docs."""

from enum import StrEnum


class OutcomeStatus(StrEnum):
    """What became of the outcome of a decision.

    LEARNED    the policy learned from it
    STALE      it came too late to count: its round had left the window, or its batch had ended
    IGNORED    nothing can be learned from it any more: its arm was retired, or an item of its slate was
    """

    LEARNED = "learned"
    STALE = "stale"
    IGNORED = "ignored"

    def __repr__(self) -> str:
        return repr(self.value)
