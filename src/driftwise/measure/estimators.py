"""Off-policy estimators: the mean reward of a policy from decisions that another one made.

    w_t = pi(a_t | x_t) / p_t                  how much more likely the policy was to choose what was chosen
    q_t = q(x_t, a_t)                          the predicted reward of what was chosen
    d_t = sum_a pi(a | x_t) q(x_t, a)          the predicted reward of what the policy chooses

    dr          mean of  d_t + w_t (r_t - q_t)                   Dudik, Langford & Li 2011; Dudik et al. 2014
    ips         mean of  w_t r_t                                 Horvitz & Thompson 1952
    snips       sum of   w_t r_t  over the sum of  w_t           Swaminathan & Joachims 2015
    switch-dr   mean of  d_t + w_t 1{w_t <= tau} (r_t - q_t)     Wang, Agarwal & Dudik 2017

A policy that learns has another pi in every row: what it would choose there, after what it has seen until then. Rows
are then no longer independent, but w_t and q_t depend on rows before t alone, so that what `dr` and `ips` add in row t
still has the expectation of the policy's reward there.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats

N_THRESHOLDS = 20
LEAST_SIZE = 20  # effective rows below which no value is given
SURE = 0.999  # a propensity that leaves no room for another arm
FAR = 0.1  # how far a mean weight may be from 1
ERRORS = 5.0  # ... or how many standard errors


class Terms(NamedTuple):
    """What estimators read, a number per row."""

    weights: Floats
    rewards: Floats
    predictions: Floats
    expectations: Floats

    def rows(self, start: int, stop: int) -> "Terms":
        """The terms of some rows."""
        return Terms(*(each[start:stop] for each in self))


def doubly_robust(terms: Terms, threshold: float = np.inf) -> Floats:
    """What each row contributes; the estimate is the mean of it."""
    return terms.expectations + terms.weights * (terms.rewards - terms.predictions)


def inverse_propensity(terms: Terms, threshold: float = np.inf) -> Floats:
    """What each row contributes; the estimate is the mean of it."""
    return terms.weights * terms.rewards


def self_normalised(terms: Terms, threshold: float = np.inf) -> Floats:
    """What each row contributes to first order: the mean is the estimate, the spread is that of its error."""
    total = terms.weights.sum()
    if not total > 0.0:
        return np.full(len(terms.weights), np.nan)
    value = terms.weights @ terms.rewards / total
    first_order: Floats = value + (terms.weights * (terms.rewards - value)) * (len(terms.weights) / total)
    return first_order


def switch_doubly_robust(terms: Terms, threshold: float = np.inf) -> Floats:
    """What each row contributes; where the weight is above the threshold, only the prediction counts."""
    weights = np.where(terms.weights <= threshold, terms.weights, 0.0)
    return terms.expectations + weights * (terms.rewards - terms.predictions)


ESTIMATORS: dict[str, Callable[[Terms, float], Floats]] = {
    "dr": doubly_robust,
    "ips": inverse_propensity,
    "snips": self_normalised,
    "switch-dr": switch_doubly_robust,
}


def switch_threshold(terms: Terms) -> float:
    """The threshold of `switch-dr` with the least bound on its squared error (Wang et al. 2017, section 4).

    The bound is the variance of the mean, and the square of what predictions may be wrong by where they stand alone:
    the range of rewards times the share of the policy's choices that have weights above the threshold.
    """
    positive = np.unique(terms.weights[terms.weights > 0.0])
    if not len(positive):
        return np.inf
    n, span = len(terms.weights), float(np.ptp(terms.rewards))
    candidates = np.unique(np.quantile(positive, np.linspace(0.0, 1.0, N_THRESHOLDS), method="higher"))

    def bound(threshold: float) -> float:
        spread = float(np.var(switch_doubly_robust(terms, threshold))) / n
        alone = float(terms.weights[terms.weights > threshold].sum()) / n
        return spread + (span * min(1.0, alone)) ** 2

    return float(min(candidates, key=bound))


def effective_sample_size(weights: Floats) -> float:
    """How many rows of equal weight would tell as much (Kish 1965)."""
    square = float(weights @ weights)
    return float(weights.sum()) ** 2 / square if square > 0.0 else 0.0
