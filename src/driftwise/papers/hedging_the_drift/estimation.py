"""Sections 5 and 6: what the estimate of a window may be off by. Lemma 1 and Theorem 2 are false as printed.

Lemma 1 bounds |V^-1 sum x_s x_s' (theta_s - theta_t)| by the way that theta goes in the window. Its proof takes
|M y| <= lambda_max(M) |y| for M = V^-1 sum_{s <= p} x_s x_s', which is not symmetric. A path on which it fails: n
rounds along (cos phi, sin phi), n along (1, 0), and one jump of theta between them. An adversary who chooses the action
sets can force it. Where all actions lie along axes V is diagonal, M is symmetric, and both hold.

What is true for every path (Zhao, Zhang, Jiang & Zhou, *A simple approach for non-stationary linear bandits*, arXiv
2103.05324, up to a factor sqrt d): by Cauchy and Schwarz, for y with |y| = 1 and x with |x| = 1,

    |x' M y| <= L sum_s |x' V^-1 x_s| <= L sqrt(w sum_s (x' V^-1 x_s)^2) <= L sqrt(w x' V^-1 x) <= L sqrt(w / lambda)

The path above has a quarter of that, so the factor sqrt w cannot be saved; with it regret is O(d^(7/8) B^(1/4) T^(3/4))
instead of O(d^(2/3) B^(1/3) T^(2/3)). Theorems 2 to 4 and 8 to 10 rest on Lemma 1; Theorems 5 to 7, for arms, do not.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_most, between

ROUNDS, ANGLE, RIDGE = 1_000, 0.05, 1.0
LENGTH, NOISE = 0.25, 0.01  # of theta and of the rewards in the counterexample to Theorem 2
DRAWS = 2_000
SHARES = Range(0.0, math.inf)  # what a ratio of lengths can be


class Bias(NamedTuple):
    """The worst case of one jump after the rounds `first`: how much longer the left side of Lemma 1 can be than the
    right, for which jump, and in which direction.
    """

    factor: float
    jump: Floats
    direction: Floats
    gram: Floats


def bias_of(first: Floats, second: Floats, ridge: float) -> Bias:
    """The largest left side over the right side of Lemma 1, for rows played before and after one jump."""
    dim = first.shape[1]
    gram = ridge * np.eye(dim) + first.T @ first + second.T @ second
    left, values, right = np.linalg.svd(np.linalg.solve(gram, first.T @ first))
    return Bias(float(values[0]), right[0], left[:, 0], gram)


def two_directions(rounds: int = ROUNDS, angle: float = ANGLE, ridge: float = RIDGE) -> Bias:
    """The path on which Lemma 1 fails."""
    slanted, straight = np.array([[math.cos(angle), math.sin(angle)]]), np.array([[1.0, 0.0]])
    return bias_of(math.sqrt(rounds) * slanted, math.sqrt(rounds) * straight, ridge)


class Deviation(NamedTuple):
    """Theorem 2 on that path: the mean and spread of the error, and what the theorem allows; `chance` to exceed it."""

    mean: float
    spread: float
    allowed: float

    @property
    def chance(self) -> float:
        """How likely the error is larger than allowed."""
        from scipy.special import ndtr  # slow to import

        outside = ndtr((-self.allowed - self.mean) / self.spread) + ndtr((self.mean - self.allowed) / self.spread)
        return float(outside)


def deviation(bias: Bias) -> Deviation:
    """The parameter jumps from one end to the other of the line on which the factor is largest, at half time."""
    window, inverse = 2 * ROUNDS, np.linalg.inv(bias.gram)
    before, after = LENGTH * bias.jump, -LENGTH * bias.jump
    x, jump = bias.direction, float(np.linalg.norm(before - after))
    played = bias.gram - RIDGE * np.eye(2)
    mean = float(bias.factor * jump - RIDGE * x @ inverse @ after)
    spread = NOISE * math.sqrt(float(x @ inverse @ played @ inverse @ x))
    beta = NOISE * math.sqrt(2.0 * math.log((1.0 + window / RIDGE) * (window + 1))) + math.sqrt(RIDGE) * LENGTH
    return Deviation(mean, spread, jump + beta * math.sqrt(float(x @ inverse @ x)))


# ---- the claims ----


def claims() -> Iterator[Claim]:
    """Lemma 1, Theorem 2 and Lemma 5, as printed, repaired, and where they hold."""
    lemma = "the part of the error that drift makes is at most the way of theta within the window: the largest share"
    yield _share("erratum/lemma1", lemma, _measure_lemma)
    yield _share(
        "erratum/theorem2",
        "the error of an estimated reward exceeds the bound with probability at most 1/T: T times the chance",
        _measure_theorem,
    )
    yield _share("lemma1/axes", f"for actions along axes: {lemma}", _measure_paths, statement=None)
    yield _share("lemma1/repaired", f"with the factor L sqrt(w / lambda): {lemma}", _measure_repaired, statement=None)
    yield Claim(
        "lemma1/growth",
        "the repaired factor cannot be improved: the worst share of Lemma 1 grows with the root of the window",
        (),
        _measure_growth,
        agrees=between(0.49, 0.51),
        paper=0.5,
        statement=None,
    )
    yield _share(
        "lemma5",
        "widths over the window add up to no more than widths within a stretch of w rounds: the largest share",
        _measure_widths,
    )


def _share(name: str, says: str, measure: Callable[[Evidence], Finding], statement: str | None = "") -> Claim:
    """Something is at most what a statement allows: the share of that."""
    return Claim(name, says, (), measure, agrees=at_most(1.0), paper=1.0, possible=SHARES, statement=statement)


def _measure_lemma(_: Evidence) -> Finding:
    bias = two_directions()
    matrix = np.linalg.solve(bias.gram, ROUNDS * np.outer(_slanted(), _slanted()))
    largest = float(np.linalg.eigvals(matrix).real.max())
    why = f"{bias.factor:.2f} times, where the largest eigenvalue is {largest:.2f}: (41) needs a symmetric matrix."
    return Finding(bias.factor, why=why)


def _slanted() -> Floats:
    return np.array([math.cos(ANGLE), math.sin(ANGLE)])


def _measure_theorem(_: Evidence) -> Finding:
    gap, rounds = deviation(two_directions()), 2 * ROUNDS + 1
    errors = gap.mean + gap.spread * generator(0, "theorem 2").standard_normal(DRAWS)
    failed = int((np.abs(errors) > gap.allowed).sum())
    why = (
        f"The error is {gap.mean:.2f} +- {gap.spread:.3f}, {gap.allowed:.2f} is allowed: "
        f"it fails in {failed:,} of {DRAWS:,} draws."
    )
    return Finding(gap.chance * rounds, why=why)


def _measure_paths(_: Evidence) -> Finding:
    """The largest factor over 2,000 random paths with one jump anywhere."""
    luck, worst = generator(1, "paths"), 0.0
    for _each in range(2_000):
        dim, rounds = int(luck.integers(2, 7)), int(luck.integers(2, 200))
        rows = np.eye(dim)[luck.integers(0, dim, rounds)]
        jump = int(luck.integers(1, rounds))
        worst = max(worst, bias_of(rows[:jump], rows[jump:], ridge=float(luck.uniform(0.01, 2.0))).factor)
    return Finding(worst, why=f"At most {worst:.3f} on 2,000 random paths.")


def _measure_repaired(_: Evidence) -> Finding:
    """The worst angle for every window."""
    shares = {2 * n: _worst(n) / math.sqrt(2 * n / RIDGE) for n in (10, 100, 1_000, 10_000, 100_000)}
    window = max(shares, key=lambda each: shares[each])
    return Finding(shares[window], why=f"At most {shares[window]:.3f} of it, at a window of {window:,} rounds.")


def _measure_growth(_: Evidence) -> Finding:
    rounds = np.array([100, 1_000, 10_000, 100_000])
    slope = float(np.polyfit(np.log(rounds), np.log([_worst(int(n)) for n in rounds]), 1)[0])
    return Finding(
        slope, why=f"It grows as w^{slope:.3f}: {_worst(100):.1f} at w = 200, {_worst(10_000):.0f} at 20,000."
    )


def _worst(rounds: int) -> float:
    """The largest factor over angles."""
    return max(two_directions(rounds, float(angle)).factor for angle in np.geomspace(0.1, 10.0, 60) / math.sqrt(rounds))


def _measure_widths(_: Evidence) -> Finding:
    """Lemma 5: for every stretch of w rounds, over random rows."""
    luck, worst = generator(2, "widths"), 0.0
    for _each in range(40):
        dim, window = int(luck.integers(1, 6)), int(luck.integers(2, 30))
        rows = luck.standard_normal((4 * window, dim)) * luck.uniform(0.1, 2.0)
        for start in range(0, 4 * window, window):
            rounds = range(start, start + window)
            slid = sum(min(1.0, _width(rows[max(0, t - window) : t], rows[t])) for t in rounds)
            fresh = sum(min(1.0, _width(rows[start:t], rows[t])) for t in rounds)
            worst = max(worst, slid / fresh)
    return Finding(worst, why=f"At most {worst:.3f} on 160 stretches.")


def _width(rows: Floats, x: Floats) -> float:
    """The product x' V^-1 x."""
    return float(x @ np.linalg.solve(np.eye(len(x)) + rows.T @ rows, x))
