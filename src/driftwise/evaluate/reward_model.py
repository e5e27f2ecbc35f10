"""Predicted rewards for doubly robust estimates: in every stretch of rows, from the rows before it alone.

Each arm has a linear model of the context and of its features, or a mean where there are none. Four of them forget at
different rates, and in every stretch the one that has predicted best so far is used. As no row takes part in its own
prediction, estimates with known propensities are unbiased whatever the model is worth; it only makes their intervals
narrower.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints

MAX_STRETCHES = 200
LEAST_ROWS = 50  # rows in a stretch
MEMORIES = (np.inf, 1 / 4, 1 / 16, 1 / 64)  # half-lives, as shares of the log
RIDGE = 1.0


class RewardModel(NamedTuple):
    """Coefficients of every arm in every stretch; stretch `stretches[t]` has row t.

    `features` has a row per row of the log, the same for all arms, or one for each arm.
    """

    features: Floats
    stretches: Ints
    coefficients: Floats

    def predict(self, arms: Ints) -> Floats:
        """The predicted reward of one arm per row."""
        if self.features.shape[-1] == 1:
            column: Floats = self.coefficients[self.stretches, arms, 0]
            return column
        out = np.empty(len(arms))
        own = _of_arms(self.features, arms)
        for rows, theta in self._each():
            np.einsum("td,td->t", own[rows], theta[arms[rows]], out=out[rows])
        return out

    def expect(self, probabilities: Floats) -> Floats:
        """The predicted reward of a choice with these probabilities, a row per row of the log or one for all."""
        out = np.empty(len(self.stretches))
        for rows, theta in self._each():
            shares = probabilities if probabilities.ndim == 1 else probabilities[rows]
            x = self.features[rows]
            means = x @ theta.T if x.ndim == 2 else np.einsum("tkd,kd->tk", x, theta)
            out[rows] = (means * shares).sum(axis=1)
        return out

    def _each(self) -> list[tuple[slice, Floats]]:
        edges = np.searchsorted(self.stretches, np.arange(len(self.coefficients) + 1))
        return [
            (slice(int(a), int(b)), theta) for a, b, theta in zip(edges, edges[1:], self.coefficients, strict=False)
        ]


def fit_rewards(n_arms: int, actions: Ints, rewards: Floats, features: Floats) -> RewardModel:
    """A model for the rows of a log, by a `design`; rewards that never came are nan, and teach nothing."""
    n, mask = len(actions), ~np.isnan(rewards)
    n_stretches = max(1, min(MAX_STRETCHES, n // LEAST_ROWS))
    stretches = np.arange(n) * n_stretches // n
    centre = float(rewards[mask].mean())
    targets = np.where(mask, rewards - centre, 0.0)
    x = _of_arms(features, actions) * mask[:, None]
    coefficients = _fit(n_arms, n_stretches, actions, targets, x, stretches)
    coefficients[:, :, 0] += centre
    return RewardModel(features, stretches, coefficients)


def smooth_rewards(n_arms: int, actions: Ints, rewards: Floats, features: Floats) -> RewardModel:
    """A model that looks both ways: the one of `fit_rewards`, and that of the rows after, by how many there are."""
    ahead = fit_rewards(n_arms, actions, rewards, features)
    back = fit_rewards(n_arms, actions[::-1], rewards[::-1], features[::-1])
    n_stretches = len(ahead.coefficients)
    share = (np.arange(n_stretches) / max(1, n_stretches - 1))[:, None, None]
    return ahead._replace(coefficients=share * ahead.coefficients + (1.0 - share) * back.coefficients[::-1])


def design(context: Floats | None, n: int, by_arm: Floats | None = None) -> Floats:
    """A column of ones, and those of the context and of the arms' features with mean 0 and deviation 1.

    Constant columns are left out. With features of arms, every arm has a row of its own.
    """
    shared = np.ones((n, 1)) if context is None else np.column_stack([np.ones(n), _scaled(context)])
    if by_arm is None:
        return shared
    own = _scaled(by_arm)
    return np.concatenate([np.repeat(shared[:, None], own.shape[1], axis=1), own], axis=2)


def _scaled(columns: Floats) -> Floats:
    axes = tuple(range(columns.ndim - 1))
    spread = columns.std(axis=axes)
    varying = spread > 1e-12 * np.maximum(1.0, np.abs(columns).max(axis=axes))
    scaled: Floats = (columns[..., varying] - columns[..., varying].mean(axis=axes)) / spread[varying]
    return scaled


def _of_arms(features: Floats, arms: Ints) -> Floats:
    """The row of one arm per row of the log."""
    own: Floats = features if features.ndim == 2 else features[np.arange(len(arms)), arms]
    return own


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
        squares, products = (np.bincount(arms, weights=x[:, 0] * each, minlength=n_arms) for each in (x[:, 0], y))
        return squares.reshape(-1, 1, 1).astype(np.float64), products.reshape(-1, 1).astype(np.float64)
    gram, total = np.zeros((n_arms, width, width)), np.zeros((n_arms, width))
    order = np.argsort(arms, kind="stable")
    bounds = np.searchsorted(arms[order], np.arange(n_arms + 1))
    for arm in np.unique(arms):
        own = order[bounds[arm] : bounds[arm + 1]]
        gram[arm], total[arm] = x[own].T @ x[own], x[own].T @ y[own]
    return gram, total
