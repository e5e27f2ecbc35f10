"""What is wrong in the text: a claim for each error that can be computed. `docs/hedging-errata.md` lists all slips.

Lemma 1 and Theorem 2 are in `estimation.py`.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.families import SinePair, SlidingLinUCB
from driftwise.measure.variation import variation
from driftwise.papers.hedging_the_drift import gradual
from driftwise.study.claims import Claim, Evidence, Finding, Range, around, at_most

RIDGE = 10.0  # at lambda = 1 the slip in (90) does not show
POSITIVE = Range(0.0, math.inf)


def claims() -> Iterator[Claim]:
    """Each as printed, and as it is meant."""
    for phase in gradual.PHASES:
        printed = phase == "printed"
        yield Claim(
            f"erratum/phase/{phase}",
            "the variation of the swing is at most sqrt(2) B_T",
            (),
            partial(_measure_phase, phase=phase),
            agrees=at_most(math.sqrt(2.0)),
            paper=math.sqrt(2.0),
            possible=POSITIVE,
            statement="erratum/phase",
            reading="literal" if printed else gradual.PHASE_WORDS[phase],
        )
    for where, square in (("printed", True), ("mended", False)):
        yield Claim(
            f"erratum/eq90/{where}",
            "the window of (90) makes the bound (60) least, at lambda = 10 and with T for w in its logarithms",
            (),
            partial(_measure_window, square=square),
            agrees=around(1.0, 0.01),
            paper=1.0,
            possible=POSITIVE,
            statement="erratum/eq90",
            reading="literal" if square else "d lambda for d lambda^2",
        )
    for where, power in (("printed", -4 / 3), ("mended", -2 / 3)):
        yield Claim(
            f"erratum/budget/{where}",
            "blocks of this length keep the budget in the proof of Theorem 1 and use it up: the variation over B, at "
            "T = 20,000, B = 20, d = 4",
            (),
            partial(_measure_budget, power=power),
            agrees=around(1.0, 0.01),
            paper=1.0,
            possible=POSITIVE,
            statement="erratum/budget",
            reading="literal" if where == "printed" else "B^(-2/3) for B^(-4/3)",
        )
    yield Claim(
        "erratum/eq16",
        "(16) conditions on Q <= H + 2 H R sqrt(ln T), Lemma 3 on H + 2 R sqrt(H ln(T / sqrt H)): the noise term of "
        "one over that of the other, in Figure 4",
        (),
        _measure_condition,
        agrees=around(1.0, 0.01),
        paper=1.0,
        possible=POSITIVE,
    )
    yield Claim(
        "erratum/unseen-arm",
        "by (28) an arm that left the window has index 0: the least index of an arm that is there and pays 0.2, "
        "R = 0.1, d = 2, T = 100,000, is below that",
        (),
        _measure_unseen,
        agrees=at_most(0.0),
        possible=POSITIVE._replace(low=-math.inf),
    )


def _measure_phase(_: Evidence, *, phase: str) -> Finding:
    moved = variation(SinePair(variation=1.0, thirds=gradual.PHASES[phase]), 240_000, seed=0).l2
    return Finding(moved, why=f"{moved:.3f} B for B = 1 and T = 240,000.")


def _measure_window(_: Evidence, *, square: bool) -> Finding:
    """Minimise (60), its logarithms taken at w = T as (90) has them, without a formula."""
    horizon, dim, moved, noise = 100_000, 5, 40.0, 0.1
    beta = noise * math.sqrt(dim * math.log(horizon + horizon**2 / RIDGE)) + math.sqrt(RIDGE)
    potential = 2.0 * dim * math.log1p(horizon / (dim * RIDGE))

    def bound(log_window: float) -> float:
        window = math.exp(log_window)
        return 2.0 * window * moved + 2.0 * beta * horizon * math.sqrt(potential / window)

    from scipy.optimize import minimize_scalar  # slow to import

    least = math.exp(float(minimize_scalar(bound, bounds=(0.0, math.log(horizon)), method="bounded").x))
    mended = int(SlidingLinUCB.optimal(horizon, dim, moved, noise, ridge=RIDGE).window)
    slip = math.log1p(horizon / (dim * RIDGE**2)) / math.log1p(horizon / (dim * RIDGE))
    ours = mended * np.cbrt(slip) if square else float(mended)
    return Finding(ours / least, why=f"{ours:,.0f} rounds; the least bound is at {least:,.0f}.")


def _measure_budget(_: Evidence, *, power: float) -> Finding:
    """The supplement prints H >= (d T)^(2/3) B^(-4/3); (30) there is d T H^(-3/2) <= B."""
    horizon, moved, dim = 20_000, 20.0, 4
    block = (dim * horizon) ** (2.0 / 3.0) * moved**power
    use = dim * horizon * block**-1.5
    return Finding(use / moved, why=f"Blocks of {block:,.0f} rounds use {use:,.1f} of {moved:g}.")


def _measure_condition(_: Evidence) -> Finding:
    horizon, dim, noise = 100_000, 5, 0.1
    block = math.floor(dim * math.sqrt(horizon))
    one, other = 2.0 * block * noise * math.sqrt(math.log(horizon)), math.log(horizon / math.sqrt(block))
    ratio = one / (2.0 * noise * math.sqrt(block * other))
    return Finding(ratio, why=f"{ratio:.0f} times: the root over H was lost.")


def _measure_unseen(_: Evidence) -> Finding:
    horizon, noise, paid = 100_000, 0.1, 0.2
    least = paid + noise * math.sqrt(2.0 * math.log(4.0 * horizon**2) / horizon)
    return Finding(least, why=f"{least:.2f}: the arm is never tried again. Here its index is infinite.")
