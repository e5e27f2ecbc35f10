"""What theory promises: regret bounds with their constants, to hold a measured regret against.

Theorem 3 of Cheung, Simchi-Levi & Zhu, *Hedging the Drift*, for a sliding window over linear rewards; equation (60):

    2 L w B + 2 beta T sqrt((2 d / w) ln(1 + w L^2 / (d lambda))) + 2 T delta
    beta = R sqrt(d ln((1 + w L^2 / lambda) / delta)) + sqrt(lambda) S

B is the variation of the parameter, the rest as in `families/contextual/policies/sliding_lin_ucb.py`, all in units of
the rewards. The first term is what is out of date in the window, the second what is not yet known, the third what
happens when a bound fails. It holds in expectation, for **features along axes** no longer than L, parameters no longer
than S and mean rewards between -1 and 1. For other features the first term rests on Lemma 1, which is false, and needs
a factor L sqrt(w / lambda), see `papers/hedging_the_drift/estimation.py`; `axes=False` has it. The proof asks for
beta >= 1; a smaller one counts as 1. It also counts T / w stretches of w rounds where ceil(T / w) are needed. Here it
is as it is printed: a measured regret is compared with the smaller of the two.
"""

import math

from driftwise.core.types import Problem
from driftwise.core.validation import number, whole
from driftwise.errors import ParameterError
from driftwise.families.contextual.policies.sliding_lin_ucb import SlidingLinUCB


def sliding_lin_ucb_bound(policy: SlidingLinUCB, problem: Problem, variation: float, *, axes: bool = True) -> float:
    """The regret that Theorem 3 allows, for a parameter that moves by `variation` in all, both in the unit of rewards.

    As printed, which is true for features along axes; with `axes=False`, what is true for all features.

    >>> policy = SlidingLinUCB(window=800)
    >>> problem = Problem(40, noise=0.1, horizon=100_000, dim=5, family="contextual")
    >>> round(sliding_lin_ucb_bound(policy, problem, variation=43.0))
    167289
    >>> round(sliding_lin_ucb_bound(policy, problem, variation=43.0, axes=False))
    2044447
    """
    rounds, dim = whole("horizon", problem.horizon), whole("dim", problem.dim)
    variation = number("variation", variation, above=0.0, closed="[")
    if policy.scale < 1.0:
        raise ParameterError(f"scale={policy.scale:g} is below 1: Theorem 3 says nothing of a smaller bonus")
    unit = number("unit", problem.size, above=0.0)
    delta = policy.confidence or 1.0 / rounds
    window = whole("window", policy.window)
    share = window * policy.reach**2 / policy.ridge
    noise = number("noise", problem.spread, above=0.0) / unit
    beta = noise * math.sqrt(dim * math.log((1.0 + share) / delta)) + math.sqrt(policy.ridge) * policy.norm
    unknown = rounds * math.sqrt(2.0 * dim / window * math.log1p(share / dim))
    outdated = policy.reach * window * variation / unit * (1.0 if axes else math.sqrt(share))
    return unit * (2.0 * outdated + 2.0 * policy.scale * max(1.0, beta) * unknown + 2.0 * rounds * delta)
