"""Verdicts: what a finding means for a claim, by one rule for all papers.

    matches           the 90% interval of ours lies inside what agrees with the paper
    differs           it lies outside that, and outside what an earlier run led to expect
    known-deviation   outside what agrees, as expected, and the reason is known
    unexplained       outside what agrees, as expected, and no reason is known
    inconclusive      it straddles the border: more runs would settle it, and the verdict says how many
    not-judged        no data, or a statement that no result could contradict

The interval combines the standard errors of ours and of the printed value in quadrature. Few runs make it wide, and a
wide interval is inconclusive: it never counts as agreement.
"""

import csv
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

from driftwise.display.text import agree, counted
from driftwise.errors import ParameterError
from driftwise.study.claims import ANYTHING, Claim, Evidence, Finding, Range

MATCHES, DIFFERS, KNOWN = "matches", "differs", "known-deviation"
UNEXPLAINED, INCONCLUSIVE, NOT_JUDGED = "unexplained", "inconclusive", "not-judged"
VERDICTS = (MATCHES, KNOWN, UNEXPLAINED, INCONCLUSIVE, NOT_JUDGED, DIFFERS)
CONFIDENCE = 0.9
NORMAL = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


class Expected(NamedTuple):
    """What an earlier run found where ours does not agree: from `low` to `high`, in so many runs, on a day."""

    range: Range
    runs: int
    recorded: str
    reason: str


class Verdict(NamedTuple):
    """A judged claim, as reports and programs read it. `interval` is the 90% interval that decided."""

    claim: Claim
    finding: Finding
    interval: Range
    expected: Expected | None
    verdict: str
    why: str
    runs_needed: int | None = None

    @property
    def id(self) -> str:
        return self.claim.id


def judge(claims: Iterable[Claim], evidence: Evidence, expected: Mapping[str, Expected] = {}) -> list[Verdict]:
    """Every claim with its verdict."""
    return [verdict_of(claim, claim.measure(evidence), expected.get(claim.id)) for claim in claims]


def verdict_of(claim: Claim, finding: Finding, expected: Expected | None = None) -> Verdict:
    """The rule."""
    interval = interval_of(claim, finding)
    verdict, sentence, runs = MATCHES, "", None
    if finding.not_judged or claim.agrees.contains(claim.possible):
        verdict = NOT_JUDGED
        sentence = finding.not_judged or "No result could contradict it: every possible value agrees."
    elif claim.agrees.contains(interval):
        pass
    elif claim.agrees.meets(interval):
        verdict, runs = INCONCLUSIVE, runs_to_settle(claim, finding)
        sentence = _how_many(claim, finding, runs)
    elif expected is None or not expected.range.meets(interval):
        verdict, sentence = DIFFERS, "" if expected is None else _left(expected)
    elif expected.reason:
        verdict, sentence = KNOWN, expected.reason
    else:
        verdict, sentence = UNEXPLAINED, "No reason is known."
    return Verdict(claim, finding, interval, expected, verdict, f"{finding.why} {sentence}".strip(), runs)


def interval_of(claim: Claim, finding: Finding) -> Range:
    """The 90% interval of `ours`: Student's for our runs, with the printed value's own error in quadrature."""
    if finding.error == 0.0 and claim.paper_error == 0.0:
        return Range(finding.ours, finding.ours)
    if math.isnan(finding.error) or math.isnan(finding.ours):
        return ANYTHING
    half = math.hypot(_quantile(finding.runs) * finding.error, NORMAL * claim.paper_error)
    return Range(finding.ours - half, finding.ours + half)


def runs_to_settle(claim: Claim, finding: Finding) -> int | None:
    """How many runs would bring the interval to one side of the border; None where no number would."""
    if finding.runs == 0 or math.isnan(finding.error):
        return 2 * max(finding.runs, 1) if math.isnan(finding.error) else None
    distance = min(abs(finding.ours - end) for end in claim.agrees if math.isfinite(end))
    room = distance**2 - (NORMAL * claim.paper_error) ** 2
    if room <= 0.0:
        return None
    many = finding.runs * (_quantile(finding.runs) * finding.error) ** 2 / room
    return max(finding.runs + 1, math.ceil(many))


def _quantile(runs: int) -> float:
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(runs - 1, 0.5 + CONFIDENCE / 2)) if runs > 1 else NORMAL


def _how_many(claim: Claim, finding: Finding, runs: int | None) -> str:
    if runs is not None:
        verb = agree(finding.runs, "does", "do")
        return f"{counted(finding.runs, 'run')} {verb} not settle it; about {runs:,} would."
    if claim.paper_error:
        return "The interval of the printed value alone straddles the border: no number of our runs would settle it."
    return "It lies on the border."


def _left(expected: Expected) -> str:
    low, high = expected.range
    return f"On {expected.recorded} it was between {low:,.4g} and {high:,.4g} ({expected.runs:,} runs)."


# ---- what earlier runs found ----


def read_expected(path: Path) -> dict[str, Expected]:
    """The recorded deviations of a paper, by claim; none where there is no file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        try:
            return {row["claim"]: _expected(row) for row in csv.DictReader(file)}
        except (KeyError, ValueError) as error:
            raise ParameterError(f"{path} is not a table of expected deviations: {error}") from None


def _expected(row: Mapping[str, str]) -> Expected:
    return Expected(Range(float(row["low"]), float(row["high"])), int(row["runs"]), row["recorded"], row["reason"])


def as_json(verdicts: Iterable[Verdict]) -> list[dict[str, object]]:
    """Plain data; what is not a finite number is null."""
    return [_plain(each) for each in verdicts]


def _plain(each: Verdict) -> dict[str, object]:
    claim, finding = each.claim, each.finding
    half = _quantile_95(finding.runs) * finding.error
    return {
        "id": claim.id,
        "says": claim.says,
        "statement": claim.counted_as,
        "reading": claim.reading,
        "fitted": claim.fitted or None,
        "paper": _finite(claim.paper),
        "paper_ci95": _finite(claim.paper_ci95),
        "ours": _finite(finding.ours),
        "ours_ci95": _finite(half) if finding.runs else None,
        "interval90": [_finite(end) for end in each.interval],
        "margin": [_finite(end) for end in claim.agrees],
        "expected": None if each.expected is None else [_finite(end) for end in each.expected.range],
        "at_end": _finite(finding.at_end),
        "runs": finding.runs or None,
        "runs_needed": each.runs_needed,
        "counted": claim.counted_as is not None,
        "verdict": each.verdict,
        "why": each.why,
    }


def _quantile_95(runs: int) -> float:
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(runs - 1, 0.975)) if runs > 1 else 1.96


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
