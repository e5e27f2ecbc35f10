"""Predicted rewards for doubly robust estimates: in every stretch of rows, from the rows before it alone.

Each arm has a linear model of the context, or a mean where there is none. Four of them forget at different rates, and
in every stretch the one that has predicted best so far is used. As no row takes part in its own prediction, estimates
with known propensities are unbiased whatever the model is worth; it only makes their intervals narrower.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints

MAX_STRETCHES = 200
LEAST_ROWS = 50  # rows in a stretch
MEMORIES = (np.inf, 1 / 4, 1 / 16, 1 / 64)  # half-lives, as shares of the log
RIDGE = 1.0


class RewardModel(NamedTuple):
    """Coefficients of every arm in every stretch; stretch `stretches[t]` has row t."""

    features: Floats
    stretches: Ints
    coefficients: Floats

    def predict(self, arms: Ints) -> Floats:
        """The predicted reward of one arm per row."""
        if self.features.shape[1] == 1:
            column: Floats = self.coefficients[self.stretches, arms, 0]
            return column
        out = np.empty(len(arms))
        for rows, theta in self._each():
            np.einsum("td,td->t", self.features[rows], theta[arms[rows]], out=out[rows])
        return out

    def expect(self, probabilities: Floats) -> Floats:
        """The predicted reward of a choice with these probabilities, a row per row of the log or one for all."""
        out = np.empty(len(self.stretches))
        for rows, theta in self._each():
            shares = probabilities if probabilities.ndim == 1 else probabilities[rows]
            out[rows] = ((self.features[rows] @ theta.T) * shares).sum(axis=1)
        return out

    def _each(self) -> list[tuple[slice, Floats]]:
        edges = np.searchsorted(self.stretches, np.arange(len(self.coefficients) + 1))
        return [
            (slice(int(a), int(b)), theta) for a, b, theta in zip(edges, edges[1:], self.coefficients, strict=False)
        ]


def fit_rewards(n_arms: int, actions: Ints, rewards: Floats, context: Floats | None = None) -> RewardModel:
    """A model for the rows of a log; rewards that never came are nan, and nothing is learned from them."""
    n, known = len(actions), ~np.isnan(rewards)
    features = design(context, n)
    n_stretches = max(1, min(MAX_STRETCHES, n // LEAST_ROWS))
    stretches = np.arange(n) * n_stretches // n
    centre = float(rewards[known].mean())
    targets = np.where(known, rewards - centre, 0.0)
    coefficients = _fit(n_arms, n_stretches, actions, targets, features * known[:, None], stretches)
    coefficients[:, :, 0] += centre
    return RewardModel(features, stretches, coefficients)


def design(context: Floats | None, n: int) -> Floats:
    """A column of ones, and the columns of the context with mean 0 and deviation 1; constant columns are left out."""
    if context is None:
        return np.ones((n, 1))
    spread = context.std(axis=0)
    varying = spread > 1e-12 * np.maximum(1.0, np.abs(context).max(axis=0))
    scaled = (context[:, varying] - context[:, varying].mean(axis=0)) / spread[varying]
    return np.column_stack([np.ones(n), scaled])


def _fit(n_arms: int, n_stretches: int, actions: Ints, targets: Floats, features: Floats, stretches: Ints) -> Floats:
    """Coefficients by stretch and arm, from the stretches before."""
    width, n_models = features.shape[1], len(MEMORIES)
    keep = np.array([0.5 ** (1.0 / max(1.0, share * n_stretches)) for share in MEMORIES])
    grams = np.zeros((n_models, n_arms, width, width))
    sums = np.zeros((n_models, n_arms, width))
    losses = np.zeros(n_models)
    out = np.zeros((n_stretches, n_arms, width))
    edges = np.searchsorted(stretches, np.arange(n_stretches + 1))
    for stretch in range(n_stretches):
        rows = slice(int(edges[stretch]), int(edges[stretch + 1]))
        x, y, arms = features[rows], targets[rows], actions[rows]
        thetas = (
            np.linalg.solve(grams + RIDGE * np.eye(width), sums[..., None])[..., 0] if stretch else np.zeros_like(sums)
        )
        out[stretch] = thetas[int(np.argmin(losses))]
        losses += ((np.einsum("td,mtd->mt", x, thetas[:, arms]) - y) ** 2).sum(axis=1)
        gram, total = _moments(n_arms, x, y, arms)
        grams = grams * keep[:, None, None, None] + gram
        sums = sums * keep[:, None, None] + total
    return out


def _moments(n_arms: int, x: Floats, y: Floats, arms: Ints) -> tuple[Floats, Floats]:
    """Sums of x x' and x y by arm."""
    width = x.shape[1]
    if width == 1:
        gram = np.bincount(arms, weights=x[:, 0] ** 2, minlength=n_arms).reshape(-1, 1, 1)
        return gram, np.bincount(arms, weights=x[:, 0] * y, minlength=n_arms).reshape(-1, 1)
    gram, total = np.zeros((n_arms, width, width)), np.zeros((n_arms, width))
    order = np.argsort(arms, kind="stable")
    bounds = np.searchsorted(arms[order], np.arange(n_arms + 1))
    for arm in np.unique(arms):
        own = order[bounds[arm] : bounds[arm + 1]]
        gram[arm], total[arm] = x[own].T @ x[own], x[own].T @ y[own]
    return gram, total
