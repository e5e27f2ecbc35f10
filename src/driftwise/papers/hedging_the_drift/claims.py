"""Every claim: the figures of section 9, the theory of sections 4 to 8, the errata, and what to use instead."""

from driftwise.papers.hedging_the_drift import (
    advice,
    auto_loans,
    blocks,
    coverage,
    errata,
    estimation,
    generalised,
    gradual,
    lower_bound,
    piecewise,
    rates,
    remark2,
    theorem3,
    wrong_variation,
)
from driftwise.study.claims import Claim


def claims(scale: str, source: auto_loans.Source) -> list[Claim]:
    """Every claim that the studies of a scale can judge: those that begin alike stand together."""
    every = [
        *gradual.claims(scale),
        *piecewise.claims(scale),
        *auto_loans.claims(scale, source),
        *lower_bound.claims(),
        *estimation.claims(),
        *coverage.claims(),
        *theorem3.claims(scale),
        *rates.claims(),
        *blocks.claims(),
        *remark2.claims(scale),
        *generalised.claims(),
        *errata.claims(),
        *wrong_variation.claims(scale),
        *advice.claims(scale),
    ]
    groups = list(dict.fromkeys(claim.id.partition("/")[0] for claim in every))
    return sorted(every, key=lambda claim: groups.index(claim.id.partition("/")[0]))
