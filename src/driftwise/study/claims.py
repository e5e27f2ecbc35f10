"""Claims: what a paper says, and which of our numbers would agree with it.

A claim fixes the values that agree (`agrees`) before anything is played; `measure` reads the evidence and says what
came out, with its standard error, and never sees which answer is wanted. The verdict is in `study/verdicts.py`. A claim
names the studies it rests on, so that asking for one plays no more than it needs.

One printed number may have several readings (the text as printed, a repair, a constant that had to be guessed). Claims
of one statement share its name in `statement`, so that the paper's own statements are counted once each; what the paper
does not say (`statement=None`) is not counted at all.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.measure.summary import Estimate, estimate
from driftwise.study.results import Results
from driftwise.study.study import Study

LITERAL = "literal"


class Range(NamedTuple):
    """Numbers from `low` to `high`, both included."""

    low: float
    high: float

    def contains(self, other: "Range") -> bool:
        """Whether all of `other` lies in here."""
        return self.low <= other.low and other.high <= self.high

    def meets(self, other: "Range") -> bool:
        """Whether the two have a number in common."""
        return self.low <= other.high and other.low <= self.high


ANYTHING = Range(-math.inf, math.inf)


def around(value: float, share: float = 0.05) -> Range:
    """Within a share of a printed value.

    >>> around(200.0)
    Range(low=190.0, high=210.0)
    """
    half = share * abs(value)
    return Range(value - half, value + half)


def between(low: float, high: float) -> Range:
    """From `low` to `high`."""
    if not low <= high:
        raise ParameterError(f"between {low} and {high} there is nothing: low is at most high")
    return Range(low, high)


def at_most(value: float) -> Range:
    """No more than a value."""
    return Range(-math.inf, value)


def below(value: float) -> Range:
    """Less than a value."""
    return Range(-math.inf, math.nextafter(value, -math.inf))


def at_least(value: float) -> Range:
    """No less than a value."""
    return Range(value, math.inf)


class Finding(NamedTuple):
    """What came out.

    `error` is the standard error of `ours` over `runs` runs, 0 for an exact computation; `why` is a sentence with the
    numbers behind it. `not_judged` says why nothing can be said, where that is so.
    """

    ours: float
    error: float = 0.0
    why: str = ""
    runs: int = 0
    not_judged: str = ""
    at_end: float | None = None


class Claim(NamedTuple):
    """One thing a paper says.

    Parameters
    ----------
    id, says : str
        Where it stands, as a path, and its words.
    studies : tuple of str
        What must be played for it.
    measure : function of the evidence
        What came out.
    agrees : Range
        The values of `ours` that agree with the paper, fixed in advance.
    paper, paper_ci95 : float, optional
        The printed value and the half-width printed with it.
    paper_error : float
        The standard error of the printed value, where it says how often it was measured.
    possible : Range
        The values `ours` can take at all. Where all of them agree, the statement says nothing.
    statement : str or None
        The paper's statement it is a reading of; "" for its own id, None for what the paper does not say.
    reading : str
        `literal`, or the name of another reading.
    fitted : str
        Which constants were fitted, and on what. Such a claim is not counted.
    about : str
        The policy it speaks of: with uniform play in its place the claim must not match.
    """

    id: str
    says: str
    studies: tuple[str, ...]
    measure: Callable[["Evidence"], Finding]
    agrees: Range
    paper: float | None = None
    paper_ci95: float | None = None
    paper_error: float = 0.0
    possible: Range = ANYTHING
    statement: str | None = ""
    reading: str = LITERAL
    fitted: str = ""
    about: str = ""

    @property
    def counted_as(self) -> str | None:
        """The statement it counts for, or None."""
        return None if self.fitted else self.id if self.statement == "" else self.statement


class Evidence:
    """The results of named studies, each with a single world."""

    def __init__(self, studies: Mapping[str, Study], results: Results) -> None:
        self.studies = studies
        self.results = results

    def regrets(self, study: str, policy: str, t: int | None = None) -> Floats:
        """The regret of every run after `t` rounds, or at the end."""
        source = self.studies[study]
        (world,) = source.worlds
        return self.results.at(source.cells_of(world, policy), t or source.horizon)

    def regret(self, study: str, policy: str, t: int | None = None) -> Estimate:
        """Mean regret with its interval."""
        return estimate(self.regrets(study, policy, t))

    def rewards(self, study: str, policy: str) -> Floats:
        """What every run earned in all."""
        source = self.studies[study]
        (world,) = source.worlds
        return self.results.column(source.cells_of(world, policy), "reward")


def choose(claims: Iterable[Claim], prefix: str | None) -> list[Claim]:
    """The claims whose id is `prefix` or lies below it."""
    every = list(claims)
    if not prefix:
        return every
    matches = [claim for claim in every if claim.id == prefix or claim.id.startswith(prefix.rstrip("/") + "/")]
    if not matches:
        groups = list(dict.fromkeys(claim.id.split("/")[0] for claim in every))
        raise ParameterError(f"there is no claim {prefix!r}: ids start with {', '.join(groups)}, e.g. {every[0].id}")
    return matches


def needed(claims: Iterable[Claim], studies: Mapping[str, Study]) -> dict[str, Study]:
    """The studies the claims rest on, in their own order."""
    names = {name for claim in claims for name in claim.studies}
    return {name: studies[name] for name in studies if name in names}
