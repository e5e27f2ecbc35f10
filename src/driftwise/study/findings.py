"""Findings that many claims share: a mean, who loses less, how many times as much, the side of a row's cells, a slope.

Each says what came out with its standard error, and leaves judging to `study/verdicts.py`.
"""

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from driftwise.core.types import Floats
from driftwise.study.claims import Claim, Evidence, Finding, Range


def mean_of(values: ArrayLike, why: str = "") -> Finding:
    """The mean over runs.

    >>> mean_of([1.0, 2.0, 3.0]).ours
    2.0
    """
    sample = np.asarray(values, float)
    error = float(sample.std(ddof=1)) / math.sqrt(len(sample)) if len(sample) > 1 else math.nan
    return Finding(float(sample.mean()), error, why, runs=len(sample))


def ratio_of(ours: ArrayLike, theirs: ArrayLike, why: str = "") -> Finding:
    """The ratio of two means over the same runs, its error by the delta method on the pairs."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    ratio = float(ours.mean() / theirs.mean())
    residue = mean_of(ours - ratio * theirs)
    return Finding(ratio, residue.error / abs(float(theirs.mean())), why, runs=len(ours))


def lead(evidence: Evidence, study: str, best: str, other: str, t: int | None = None) -> Finding:
    """The regret of `best` over that of `other`, run by run: below 1 where it loses less."""
    ours, theirs = evidence.regrets(study, best, t), evidence.regrets(study, other, t)
    means = f"{best} {ours.mean():,.0f}, {other} {theirs.mean():,.0f}."
    return ratio_of(ours, theirs, means)


def worst_of(findings: Iterable[Finding]) -> Finding:
    """The finding with the largest upper limit: a statement on all of them fails where this one does."""
    return max(findings, key=lambda each: each.ours + 1.645 * each.error)


def slope_of(sizes: Sequence[float], samples: Sequence[ArrayLike], why: str = "") -> Finding:
    """The growth exponent: the slope of log mean against log size, its error from the runs at each size.

    >>> round(slope_of([10.0, 100.0], [[1.0, 1.0], [10.0, 10.0]]).ours, 9)
    1.0
    """
    x = np.log(np.asarray(sizes, float))
    runs: list[Floats] = [np.asarray(sample, float) for sample in samples]
    means = np.array([sample.mean() for sample in runs])
    errors = np.array([mean_of(sample).error for sample in runs]) / means
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    slope, error = float(weights @ np.log(means)), float(np.sqrt(np.sum((weights * errors) ** 2)))
    return Finding(slope, error, why, runs=min(map(len, runs)))


def row_of(row: str, cells: Sequence[Claim]) -> Claim:
    """Whether the cells of a printed row lie on one side of it: each may be within its margin and all of them high.

    Were the printed row ours, each cell would be as likely above as below; the counts that happen in nine of ten rows
    agree. Rows of fewer than five cells cannot fail and are not judged.
    """
    n = len(cells)
    low, high = usual_heads(n)
    return Claim(
        id=f"row/{row}",
        says=f"the {n} cells of {row} lie on both sides of the printed ones",
        studies=tuple(dict.fromkeys(name for cell in cells for name in cell.studies)),
        measure=partial(_side, cells=tuple(cells)),
        agrees=Range(float(low), float(high)),
        possible=Range(0.0, float(n)),
        statement=None,
        about=cells[0].about,
    )


def _side(evidence: Evidence, *, cells: tuple[Claim, ...]) -> Finding:
    above = sum(cell.measure(evidence).ours > cell.paper for cell in cells if cell.paper is not None)
    return Finding(float(above), why=f"{above} of {len(cells)} cells are above the printed ones.")


def not_judged(reason: str) -> Callable[[Evidence], Finding]:
    """A measure that says why nothing can be said."""
    return partial(_silent, reason=reason)


def _silent(evidence: Evidence, *, reason: str) -> Finding:
    return Finding(math.nan, not_judged=reason)


def usual_heads(n: int) -> tuple[int, int]:
    """The ends of the central 90 % of heads among `n` tosses of a fair coin.

    >>> usual_heads(5), usual_heads(100)
    ((1, 4), (42, 58))
    """
    upto = list(itertools.accumulate(math.comb(n, heads) for heads in range(n + 1)))  # of 2 ** n sequences
    return bisect.bisect_left(upto, 2**n / 20), bisect.bisect_left(upto, 2**n * 19 / 20)
