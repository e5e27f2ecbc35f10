"""Kalman filters of many paces, weighted by their predictions, from the first round on at every decision.

    walk      P <- P + q I; a coordinate whose variance p would exceed s_0^2 is scaled by s_0 / sqrt(p)
    correct   S = x'Px + R^2 + age q x'x,  K = Px/S:  m <- m + K (y - x'm),  P <- (I - K x') P
    reweigh   w <- w N(y; x'm, S) / sum, then (1 - s) w + s / Q

with q = (R / L)^2 10^(-8 .. 0), at least 1e-15 d s_0^2, P, q, s_0 and R in units of the rewards as they were when the
last one came, and m in rewards. The beliefs are about the round `clock`: that of the newest decision whose reward has
come, or the present one when nothing is under way. A reward is corrected by there, `age` rounds after its decision. The
beliefs are a mixture of normal laws: its covariance C is the mean of the covariances, each widened in one step to the
round that is decided, plus the covariance of the means. While rows x are under way it is (C^-1 + sum x x' / R^2)^-1.
"""

from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.contextual.twins.feature_log import FeatureEntry, FeatureTwin


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

    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        self.until: dict[int, float] = {}

    def pend(self, t: int, x: Floats) -> None:
        super().pend(t, x)
        self.until[t] = np.inf

    def settle(self, t: int) -> None:
        """At the end of the round decided last."""
        super().settle(t)
        self.until[t] = max(self.until)

    def quiet_round(self, first: int, last: int) -> int:
        """The latest round up to `last` at whose beginning nothing was under way; at least `first`."""
        for r in range(last, first, -1):
            if not any(s < r <= until for s, until in self.until.items()):
                return r
        return first

    def beliefs(self, t: int) -> tuple[list[Model], Floats, int]:
        """Every model and its weight at decision `t`, and the round that they are about."""
        policy, dim = self.policy, self.problem.dim
        exponents = np.linspace(-8.0, 0.0, policy.models)
        models = [Model(exponent, np.zeros(dim), policy.prior_sd**2 * np.eye(dim)) for exponent in exponents]
        weights, clock, scale = np.full(policy.models, 1.0 / policy.models), 0, self.scale_after([])
        known = self.known(t)
        for i, entry in enumerate(known):
            then = max(self.quiet_round(clock, entry.arrival), entry.t)
            models = self.walk(models, then - clock, scale)
            clock, scale = then, self.scale_after([each.y for each in known[: i + 1]])
            corrected = [self.correct(model, entry, clock - entry.t, scale) for model in models]
            logs = np.array([log for _, log in corrected]) + np.log(weights)
            likely = np.exp(logs - logs.max())
            weights = (1.0 - policy.share) * likely / likely.sum() + policy.share / policy.models
            models = [model for model, _ in corrected]
        then = self.quiet_round(clock, t)
        return self.walk(models, then - clock, scale), weights, then

    def scale_after(self, rewards: list[float]) -> Scale:
        return Scale(self.noise_after(rewards) / self.unit_after(rewards), self.unit_after(rewards))

    def pace(self, model: Model, scale: Scale) -> float:
        least = 1e-15 * self.problem.dim * self.policy.prior_sd**2
        return float(max((scale.noise / self.policy.reach) ** 2 * 10.0**model.exponent, least))

    def walk(self, models: list[Model], rounds: int, scale: Scale) -> list[Model]:
        for _ in range(rounds):
            models = [model._replace(covariance=self.widened(model, 1, scale)) for model in models]
        return models

    def widened(self, model: Model, rounds: int, scale: Scale) -> Floats:
        wider = model.covariance + rounds * self.pace(model, scale) * np.eye(self.problem.dim)
        scales = np.minimum(1.0, self.policy.prior_sd / np.sqrt(np.diag(wider)))
        return np.array(scales[:, None] * wider * scales)

    def correct(self, model: Model, entry: FeatureEntry, age: int, scale: Scale) -> tuple[Model, float]:
        """The model after a reward, and the logarithm of the density it had given it."""
        x = entry.x
        variance = x @ model.covariance @ x + scale.noise**2 + age * self.pace(model, scale) * (x @ x)
        gain = model.covariance @ x / variance
        mean = model.mean + gain * (entry.y - x @ model.mean)
        covariance = (np.eye(len(x)) - np.outer(gain, x)) @ model.covariance
        error = (entry.y - x @ model.mean) / scale.unit
        log = -0.5 * (np.log(2.0 * np.pi * variance) + error**2 / variance)
        return Model(model.exponent, mean, covariance), float(log)

    def estimate(self, t: int) -> tuple[Floats, Floats]:
        """Mean and covariance of the parameter, whichever model is right; the covariance in units."""
        models, weights, clock = self.beliefs(t)
        scale = self.scale_after(self.measured(t))
        covariances = [self.widened(model, t - clock, scale) if t > clock else model.covariance for model in models]
        means = np.array([model.mean for model in models])
        mean = weights @ means
        apart = (means - mean) / scale.unit
        covariance = np.einsum("q,qij->ij", weights, covariances) + (weights * apart.T) @ apart
        if not (under_way := self.under_way(t)):
            return mean, covariance
        told = sum(np.outer(x, x) for x in under_way.values()) / scale.noise**2
        return mean, np.array(np.linalg.inv(np.linalg.inv(covariance) + told))

    def indices(self, t: int, context: Floats) -> Floats:
        mean, covariance = self.estimate(t)
        spreads = np.sqrt(np.einsum("ai,ij,aj->a", context, covariance, context))
        return np.array(context @ mean + self.policy.width * self.unit(t) * spreads)
