"""Kalman filters of many paces, weighted by their predictions, from the first round on at every decision.

    walk      P <- P + q I; a coordinate whose variance p would exceed s_0^2 is scaled by s_0 / sqrt(p)
    correct   S = x'Px + R^2 + age q x'x,  K = Px/S:  m <- m + K (y - x'm),  P <- (I - K x') P
    reweigh   w <- w N(y; x'm, S) / sum, then (1 - s) w + s / Q

with q = (R / L)^2 10^(-8 .. 0), at least 1e-15 d s_0^2, P, q, s_0 and R in units of the rewards as they were when the
last one came, and m in rewards. A reward that comes `age` rounds late is corrected by in the round it comes in. The
beliefs are a mixture of normal laws: its covariance is the mean of the covariances plus the covariance of the means.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats
from tests.reference.feature_log import FeatureEntry, FeatureTwin


class Model(NamedTuple):
    """One filter: its pace, by its exponent, and what it believes."""

    exponent: float
    mean: Floats
    covariance: Floats


class Scale(NamedTuple):
    """R in units, and the unit."""

    noise: float
    unit: float


class KalmanMixtureTwin(FeatureTwin):
    """Everything from the start, one round and one reward after another."""

    def beliefs(self, t: int) -> tuple[list[Model], Floats]:
        """Every model and its weight at decision `t`."""
        policy, dim = self.policy, self.problem.dim
        exponents = np.linspace(-8.0, 0.0, policy.models)
        models = [Model(exponent, np.zeros(dim), policy.prior_sd**2 * np.eye(dim)) for exponent in exponents]
        weights, clock, scale = np.full(policy.models, 1.0 / policy.models), 0, self.scale_after([])
        known = self.known(t)
        for i, entry in enumerate(known):
            models = self.walk(models, entry.arrival - clock, scale)
            clock, scale = entry.arrival, self.scale_after([each.y for each in known[: i + 1]])
            corrected = [self.correct(model, entry, scale) for model in models]
            logs = np.array([log for _, log in corrected]) + np.log(weights)
            likely = np.exp(logs - logs.max())
            weights = (1.0 - policy.share) * likely / likely.sum() + policy.share / policy.models
            models = [model for model, _ in corrected]
        return self.walk(models, t - clock, scale), weights

    def scale_after(self, rewards: list[float]) -> Scale:
        return Scale(self.noise_after(rewards) / self.unit_after(rewards), self.unit_after(rewards))

    def pace(self, model: Model, scale: Scale) -> float:
        least = 1e-15 * self.problem.dim * self.policy.prior_sd**2
        return float(max((scale.noise / self.policy.reach) ** 2 * 10.0**model.exponent, least))

    def walk(self, models: list[Model], rounds: int, scale: Scale) -> list[Model]:
        for _ in range(rounds):
            models = [model._replace(covariance=self.capped(model, scale)) for model in models]
        return models

    def capped(self, model: Model, scale: Scale) -> Floats:
        wider = model.covariance + self.pace(model, scale) * np.eye(self.problem.dim)
        scales = np.minimum(1.0, self.policy.prior_sd / np.sqrt(np.diag(wider)))
        return np.array(scales[:, None] * wider * scales)

    def correct(self, model: Model, entry: FeatureEntry, scale: Scale) -> tuple[Model, float]:
        """The model after a reward, and the logarithm of the density it had given it."""
        x, age = entry.x, entry.arrival - entry.t
        variance = x @ model.covariance @ x + scale.noise**2 + age * self.pace(model, scale) * (x @ x)
        gain = model.covariance @ x / variance
        mean = model.mean + gain * (entry.y - x @ model.mean)
        covariance = (np.eye(len(x)) - np.outer(gain, x)) @ model.covariance
        error = (entry.y - x @ model.mean) / scale.unit
        log = -0.5 * (np.log(2.0 * np.pi * variance) + error**2 / variance)
        return Model(model.exponent, mean, covariance), float(log)

    def estimate(self, t: int) -> tuple[Floats, Floats]:
        """Mean and covariance of the parameter, whichever model is right; the covariance in units."""
        models, weights = self.beliefs(t)
        unit = self.unit(t)
        mean = sum(w * model.mean for w, model in zip(weights, models, strict=True))
        second = sum(
            w * (model.covariance + np.outer(model.mean, model.mean) / unit**2)
            for w, model in zip(weights, models, strict=True)
        )
        return np.array(mean), np.array(second - np.outer(mean, mean) / unit**2)

    def indices(self, t: int, context: Floats) -> Floats:
        mean, covariance = self.estimate(t)
        spreads = np.sqrt(np.einsum("ai,ij,aj->a", context, covariance, context))
        return np.array(context @ mean + self.policy.width * self.unit(t) * spreads)
