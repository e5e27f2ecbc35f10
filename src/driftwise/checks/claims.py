"""Contracts over the claims of a paper: a verdict could always have been another one.

Two are checked. A finding that leaves what agrees by three margins is no match, whichever way it leaves. And where
uniform play stands in for the policy that a claim is about, the claim no longer matches.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator

from driftwise.core.family import check_fit
from driftwise.core.protocols import Policy
from driftwise.core.types import Floats, Ints
from driftwise.errors import ParameterError
from driftwise.families.convex.policies.virtual_queue import VirtualQueue
from driftwise.families.multi_armed.policies.uniform import Uniform
from driftwise.families.restless.policies.random_arms import RandomArms
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.results import Results
from driftwise.study.run import run
from driftwise.study.study import Cell, Study
from driftwise.study.verdicts import MATCHES, judge, verdict_of

MARGINS = 3.0
STILL = VirtualQueue(inertia=1e9)  # points are not drawn at random: this policy stays at its first one


def can_fail(claim: Claim) -> bool:
    """Whether a value that agrees matches, and every value three margins away from it does not."""
    low, high = claim.agrees
    if claim.agrees.contains(claim.possible):
        return True  # not judged, whatever comes out
    inside = low if math.isinf(high) else high if math.isinf(low) else (low + high) / 2.0
    margin = (high - low) / 2.0 if math.isfinite(high - low) else 0.05 * abs(inside)
    step = MARGINS * (margin or 1e-9)
    away = [inside + step] * math.isfinite(high) + [inside - step] * math.isfinite(low)
    exact = claim._replace(paper_error=0.0)
    matches = verdict_of(exact, Finding(inside)).verdict == MATCHES
    return matches and bool(away) and all(verdict_of(exact, Finding(value)).verdict != MATCHES for value in away)


def blind_to(claims: Iterable[Claim], evidence: Evidence) -> list[str]:
    """The claims that match, and still match with uniform play in place of the policy they are about."""
    return [claim.id for claim in claims if claim.about and _matches(claim, evidence) and _survives(claim, evidence)]


def _matches(claim: Claim, evidence: Evidence) -> bool:
    (verdict,) = judge([claim], evidence)
    return verdict.verdict == MATCHES


def _survives(claim: Claim, evidence: Evidence) -> bool:
    results = UniformPlay(evidence.results)
    names = [name for name in claim.studies if claim.about in evidence.studies[name].policies]
    if not names:
        raise ParameterError(f"{claim.id} is about {claim.about!r}, which none of its studies plays")
    if all(_is_blind(evidence.studies[name], claim.about) for name in names):
        return False  # it is about uniform play itself
    for name in names:
        results.stand_in(evidence.studies[name], claim.about)
    return _matches(claim, Evidence(evidence.studies, results))


class UniformPlay(Results):
    """Results in which uniform play stands in for some policies, on the same worlds and runs."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._keys: dict[str, str] = {}

    def stand_in(self, study: Study, policy: str) -> None:
        """Read the runs of uniform play wherever those of `policy` are asked for."""
        (world,) = study.worlds
        blind = dataclasses.replace(study, policies={"uniform": _blind(study)})
        run(blind, self._results)
        pairs = zip(study.cells_of(world, policy), blind.cells_of(world, "uniform"), strict=True)
        self._keys |= {ours.key: theirs.key for ours, theirs in pairs}

    def _cells(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        return (cell._replace(key=self._keys.get(cell.key, cell.key)) for cell in cells)

    def column(self, cells: Iterable[Cell], name: str) -> Floats:
        return self._results.column(self._cells(cells), name)

    def curves(self, cells: Iterable[Cell], name: str = "regret") -> tuple[Ints, Floats]:
        return self._results.curves(self._cells(cells), name)

    def at(self, cells: Iterable[Cell], t: int, name: str = "regret") -> Floats:
        return self._results.at(self._cells(cells), t, name)


def _is_blind(study: Study, policy: str) -> bool:
    blind, ours = _blind(study), study.policies[policy]
    return type(ours) is type(blind) and ours == blind  # tuples without fields are all equal


def _blind(study: Study) -> Policy:
    """The policy of a study's family that ignores what it observes."""
    (world,) = study.worlds.values()
    problem = world.problem(study.horizon)
    for policy in (Uniform(), RandomArms(), STILL):
        try:
            check_fit(policy, problem)
        except ParameterError:
            continue
        return policy
    raise ParameterError(f"no policy plays {world} uniformly")
