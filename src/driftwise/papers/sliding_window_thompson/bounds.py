"""The finite-time bounds of section 4, and what they need.

With Delta_i the gap of arm i in a phase, N_phi the length of a phase, L(Delta) = 52 ln tau / Delta^2 + 20 ln tau + 5
and D = Delta - 2 sigma tau,

    Theorem 1 (abrupt)     sum over phases and arms of Delta_i (tau + N_phi/tau L(Delta_i))
    Theorem 2 (smooth)     F Delta N^beta + K N/tau L(D) + K (52 ln tau / D^2 + 19 ln tau + 3)
    Theorem 3 (both)       F Delta N^beta + tau B N^alpha + K N/tau L(D)

The statement of Theorem 1 is garbled in the text at hand and was rebuilt from its proof. The Delta in the first term of
Theorems 2 and 3 is lost there too; the proof of Corollary 5 has it. They hold for every Delta above 2 sigma tau up to
Delta_0, and Appendix E takes Delta_0 = 1/3 and F = 4 K / (sigma (K - 1)), section 5.2 beta = 1/2.
"""

import math

import numpy as np

from driftwise.core.types import Floats

DELTA_0 = 1.0 / 3.0


def theorem1(means: Floats, lengths: Floats, tau: int) -> float:
    """The bound for phases with these means (a row each) and lengths.

    >>> theorem1(np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([50_000, 50_000]), 10_000) < 0.5 * 100_000 * 0.8
    True
    """
    gaps = means.max(axis=1, keepdims=True) - means
    worse = gaps > 0.0
    per_gap = np.where(worse, 52.0 * math.log(tau) / np.where(worse, gaps, 1.0), 0.0)  # Delta times 52 ln tau / Delta^2
    rest = (20.0 * math.log(tau) + 5.0) * gaps
    return float(np.sum(tau * gaps + lengths[:, None] / tau * (per_gap + rest)))


def largest_loss(means: Floats, lengths: Floats) -> float:
    """The most that can be lost in these phases."""
    return float(np.sum(lengths * (means.max(axis=1) - means.min(axis=1))))


def closeness(n_arms: int, sigma: float) -> float:
    """F of Appendix E."""
    return 4.0 * n_arms / (sigma * (n_arms - 1))


def theorem2(n_arms: int, horizon: int, tau: int, sigma: float, breakpoints: int = 0) -> float:
    """The bound of Theorem 2, or with breakpoints of Theorem 3, for the best Delta; inf where none is allowed."""
    least = 2.0 * sigma * tau
    if least >= DELTA_0:
        return math.inf
    deltas = least + (DELTA_0 - least) * np.linspace(0.001, 1.0, 1000)
    squares, log_tau = (deltas - least) ** 2, math.log(tau)
    first = closeness(n_arms, sigma) * deltas * math.sqrt(horizon)
    often = n_arms * horizon / tau * (52.0 * log_tau / squares + 20.0 * log_tau + 5.0)
    once = n_arms * (52.0 * log_tau / squares + 19.0 * log_tau + 3.0) if not breakpoints else tau * breakpoints
    return float(np.min(first + often + once))
