"""Counting verdicts: by group of claims, and by the paper's own statements, each once."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from driftwise.study.claims import LITERAL
from driftwise.study.verdicts import (
    DIFFERS,
    INCONCLUSIVE,
    KNOWN,
    MATCHES,
    NOT_JUDGED,
    UNEXPLAINED,
    VERDICTS,
    Verdict,
)

BEST_FIRST = (MATCHES, INCONCLUSIVE, KNOWN, UNEXPLAINED, NOT_JUDGED, DIFFERS)  # of several readings


class VerdictCounts(NamedTuple):
    """How many claims of a group came out which way, in the order of `VERDICTS`."""

    name: str
    matches: int
    known: int
    unexplained: int
    inconclusive: int
    not_judged: int
    differs: int

    @property
    def total(self) -> int:
        return sum(self[1:])


def tally(name: str, verdicts: Iterable[str]) -> VerdictCounts:
    """Count verdicts."""
    kinds = list(verdicts)
    return VerdictCounts(name, *(kinds.count(kind) for kind in VERDICTS))


def groups(verdicts: Sequence[Verdict]) -> list[VerdictCounts]:
    """The tally by group: for cells of tables by algorithm, for the rest by the start of the id."""
    names: dict[str, list[str]] = {}
    for each in verdicts:
        names.setdefault(group_of(each.id), []).append(each.verdict)
    return [tally(name, kinds) for name, kinds in names.items()]


def group_of(claim: str) -> str:
    """`table2/K=5/N=10000/SW-TS` is counted with `table2, SW-TS`; `order/table2/...` with `order, table2`."""
    first, *rest = [part for part in claim.split("/") if "=" not in part]
    return f"{first}, {rest[0]}" if rest else first


class Headline(NamedTuple):
    """The paper's own statements, each counted once: as printed, and by the best reading of each."""

    literal: VerdictCounts
    best: VerdictCounts


def headline(verdicts: Iterable[Verdict]) -> Headline:
    """Count statements. What was fitted on a statement, and what the paper does not say, is left out."""
    readings: dict[str, list[Verdict]] = {}
    for each in verdicts:
        if each.claim.counted_as is not None:
            readings.setdefault(each.claim.counted_as, []).append(each)
    literal = [next((one for one in every if one.claim.reading == LITERAL), every[0]) for every in readings.values()]
    best = [min((one.verdict for one in every), key=BEST_FIRST.index) for every in readings.values()]
    return Headline(tally("as printed", (each.verdict for each in literal)), tally("best reading", best))


def sentence_of(counts: Headline) -> str:
    """The headline in words."""
    literal, best = counts
    if literal.total == 0:
        return "None of the statements judged here is counted."
    words = (
        (literal.known, "deviates for a known reason", "deviate for a known reason"),
        (literal.unexplained, "deviates for an unknown reason", "deviate for an unknown reason"),
        (literal.inconclusive, "is not settled", "are not settled"),
        (literal.not_judged, "cannot be judged here", "cannot be judged here"),
    )
    parts = [_match(literal.matches)]
    parts += [f"{count} {one if count == 1 else many}" for count, one, many in words if count]
    better = f" By the best reading of each, {_match(best.matches)}." if best.matches > literal.matches else ""
    differ = f"{literal.differs or 'none'} differ{'' if literal.differs > 1 else 's'}"
    statements = "statement" if literal.total == 1 else "statements"
    return f"Of {literal.total} {statements} of the paper, {', '.join(parts)}, and {differ}.{better}"


def _match(count: int) -> str:
    return f"{count} {'matches' if count == 1 else 'match'}"
