"""Propensities estimated from a log that does not have them: how often each arm was chosen nearby, or in that context.

Without a context the propensity of an arm is its share of the rows around, so that it follows a policy whose shares
change slowly. With one it is a multinomial logistic regression on the context and on slow waves of time. Either is
right only where choices were random given the time and the context: if they followed something that the log does not
have, such as the rewards, nothing in the log can tell.
"""

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.evaluate.reward_model import design

MAX_STRETCHES = 100
LEAST_ROWS = 200  # rows in a stretch
N_WAVES = 4
PENALTY = 1.0


def estimate_propensities(n_arms: int, actions: Ints, context: Floats | None = None) -> Floats:
    """The estimated probability of what was chosen, row by row."""
    return _shares(n_arms, actions) if context is None else _logistic(n_arms, actions, context)


def _shares(n_arms: int, actions: Ints) -> Floats:
    """The share of the arm in its stretch and the two beside it, which count half."""
    n = len(actions)
    n_stretches = max(1, min(MAX_STRETCHES, n // LEAST_ROWS))
    stretches = np.arange(n) * n_stretches // n
    counts = np.bincount(stretches * n_arms + actions, minlength=n_stretches * n_arms).reshape(n_stretches, n_arms)
    smooth = counts.astype(float)
    smooth[1:] += 0.5 * counts[:-1]
    smooth[:-1] += 0.5 * counts[1:]
    shares = smooth / smooth.sum(axis=1, keepdims=True)
    out: Floats = shares[stretches, actions]
    return out


def _logistic(n_arms: int, actions: Ints, context: Floats) -> Floats:
    n = len(actions)
    place = (np.arange(n) + 0.5) / n
    waves = np.cos(np.pi * place[:, None] * np.arange(1, N_WAVES + 1))
    x = np.column_stack([design(context, n), waves])
    rows = np.arange(n)

    def chances(theta: Floats) -> Floats:
        scores = x @ theta.reshape(n_arms, -1).T
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores

    def loss(theta: Floats) -> tuple[float, Floats]:
        shares = chances(theta)
        value = -float(np.log(np.maximum(shares[rows, actions], 1e-300)).sum())
        shares[rows, actions] -= 1.0
        gradient = (shares.T @ x).ravel() + PENALTY * theta
        return (value + 0.5 * PENALTY * float(theta @ theta)) / n, gradient / n

    from scipy.optimize import minimize  # slow to import

    solution = minimize(loss, np.zeros(n_arms * x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    out: Floats = chances(solution.x)[rows, actions]
    return out
