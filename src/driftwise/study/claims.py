"""Claims: what a paper says, what came out here, and the verdict.

    matches           ours agrees, by the rule the claim carries
    differs           it does not
    known-deviation   it does not, and why is known; the reason is given

A claim names the studies it rests on, so that asking for one plays no more than it needs. `judge` looks at the evidence
and says what came out; it never sees which answer is wanted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.measure.summary import Estimate, estimate
from driftwise.study.results import Results
from driftwise.study.study import Study

MATCHES, DIFFERS, KNOWN = "matches", "differs", "known-deviation"


class Finding(NamedTuple):
    """What came out. `holds` decides the verdict, `why` is a sentence, `sigmas` the difference in standard errors."""

    ours: float
    ours_ci95: float
    holds: bool
    why: str
    sigmas: float | None = None
    at_end: float | None = None


class Claim(NamedTuple):
    """One thing a paper says. `known` is why it is known not to hold, empty where nothing is."""

    id: str
    says: str
    studies: tuple[str, ...]
    judge: Callable[["Evidence"], Finding]
    paper: float | None = None
    paper_ci95: float | None = None
    known: str = ""


class Verdict(NamedTuple):
    """A judged claim, as reports and programs read it."""

    id: str
    says: str
    paper: float | None
    paper_ci95: float | None
    ours: float
    ours_ci95: float
    sigmas: float | None
    at_end: float | None
    verdict: str
    why: str


class Group(NamedTuple):
    """How many claims of a group came out which way."""

    name: str
    matches: int
    known: int
    differs: int


class Evidence:
    """The results of named studies, each with a single world."""

    def __init__(self, studies: Mapping[str, Study], results: Results) -> None:
        self.studies = studies
        self.results = results

    def regrets(self, study: str, policy: str, t: int | None = None) -> Floats:
        """The regret of every run after `t` rounds, or at the end."""
        chosen = self.studies[study]
        (world,) = chosen.worlds
        return self.results.at(chosen.cells_of(world, policy), t or chosen.horizon)

    def regret(self, study: str, policy: str, t: int | None = None) -> Estimate:
        """Mean regret with its interval."""
        return estimate(self.regrets(study, policy, t))

    def rewards(self, study: str, policy: str) -> Floats:
        """What every run earned in all."""
        chosen = self.studies[study]
        (world,) = chosen.worlds
        return self.results.column(chosen.cells_of(world, policy), "reward")


def judge(claims: Iterable[Claim], evidence: Evidence) -> list[Verdict]:
    """Every claim with its verdict."""
    return [_verdict(claim, claim.judge(evidence)) for claim in claims]


def _verdict(claim: Claim, finding: Finding) -> Verdict:
    verdict = MATCHES if finding.holds else KNOWN if claim.known else DIFFERS
    why = finding.why if finding.holds or not claim.known else f"{finding.why} {claim.known}".strip()
    facts = (claim.id, claim.says, claim.paper, claim.paper_ci95, finding.ours, finding.ours_ci95)
    return Verdict(*facts, finding.sigmas, finding.at_end, verdict, why)


def choose(claims: Iterable[Claim], prefix: str | None) -> list[Claim]:
    """The claims whose id is `prefix` or lies below it."""
    every = list(claims)
    if not prefix:
        return every
    chosen = [claim for claim in every if claim.id == prefix or claim.id.startswith(prefix.rstrip("/") + "/")]
    if not chosen:
        groups = list(dict.fromkeys(claim.id.split("/")[0] for claim in every))
        raise ParameterError(f"there is no claim {prefix!r}: ids start with {', '.join(groups)}, e.g. {every[0].id}")
    return chosen


def needed(claims: Iterable[Claim], studies: Mapping[str, Study]) -> dict[str, Study]:
    """The studies the claims rest on, in their own order."""
    names = {name for claim in claims for name in claim.studies}
    return {name: studies[name] for name in studies if name in names}


def summary(verdicts: Sequence[Verdict]) -> list[Group]:
    """The tally by group: for cells of tables by algorithm, for the rest by the start of the id."""
    names: dict[str, list[str]] = {}
    for each in verdicts:
        names.setdefault(group_of(each.id), []).append(each.verdict)
    return [Group(name, *(kinds.count(kind) for kind in (MATCHES, KNOWN, DIFFERS))) for name, kinds in names.items()]


def group_of(claim: str) -> str:
    """`table2/K=5/N=10000/SW-TS` is counted with `table2, SW-TS`; `order/table2/...` with `order, table2`."""
    first, *rest = [part for part in claim.split("/") if "=" not in part]
    return f"{first}, {rest[0]}" if rest else first


def as_json(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Plain data; what is not a number is null."""
    return [
        {key: None if isinstance(value, float) and value != value else value for key, value in each._asdict().items()}
        for each in verdicts
    ]
