"""Worlds with features: how the parameter drifts, which rows are shown, and how rewards spread.

drift     still       theta stands still
          abrupt      a new theta after every `pace` rounds
          walk        a random walk with steps of `pace` a round, pulled back so that its length stays about `norm`
          ou          coordinates revert to their mean within `pace` rounds
          knots       straight lines between random directions, a knot every `pace` rounds
          turn        a turn in a random plane every `pace` rounds
          local       one coordinate at a time jumps, every `pace` rounds
          half        still in the first half of the run, then a walk with steps of `pace`
actions   fresh, fixed, basis, as in the worlds of the library; or
          disjoint    `n_actions` arms with a parameter each, and a context of random numbers that they share
offset    added to all means
tails     0: Gaussian noise; else Student's t with so many degrees of freedom, scaled to the same deviation
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.families.contextual.worlds.base import FeaturedWorld, FeatureTape, Path

Rng = np.random.Generator


@dataclass(frozen=True, kw_only=True)
class DriftingFeatures(FeaturedWorld):
    """A world of the benchmark; `context_dim` is the length of the context of disjoint arms, which begins with 1."""

    drift: str = "still"
    pace: float = 0.0
    norm: float = 1.0
    context_dim: int = 0
    tails: float = 0.0
    feature_scale: float = 1.0
    offset: float = 0.0

    SETS: ClassVar[tuple[str, ...]] = ("fresh", "fixed", "basis", "disjoint")

    @property
    def lasting(self) -> bool:
        """Whether action k is the same action in every round."""
        return self.actions in ("fixed", "basis")

    def path(self, horizon: int, seed: int) -> Path:
        """The whole path is drawn at once: runs of a benchmark are short."""
        theta = (
            self.norm * PATHS[self.drift](generator(seed, "path"), horizon, self.dim, self.pace) / self.feature_scale
        )
        return lambda start, stop: theta[start:stop]

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[FeatureTape]:
        """Noise with heavy tails takes the place of Gaussian noise."""
        tails = generator(seed, "tails")
        for tape in super().tapes(horizon, seed, size):
            if self.tails:
                student = tails.standard_t(self.tails, len(tape.noise))
                tape.noise[:] = student * np.sqrt((self.tails - 2.0) / self.tails)
            yield tape

    def _sets(self, seed: int, start: int, stop: int) -> tuple[Floats, NDArray[np.int32]]:
        if self.actions != "disjoint":
            sets, which = super()._sets(seed, start, stop)
            return self.feature_scale * sets, which
        width, rounds = self.context_dim, np.arange(stop - start)
        contexts = generator(seed, "contexts").standard_normal((stop, width))[start:]
        contexts[:, 0] = 1.0
        sets = np.zeros((len(rounds), self.n_actions, self.dim))
        for arm in range(self.n_actions):
            sets[:, arm, arm * width : (arm + 1) * width] = contexts / np.sqrt(width)
        return self.feature_scale * sets, rounds.astype(np.int32)

    def _means(self, sets: Floats, which: NDArray[np.int32], theta: Floats) -> Floats:
        if self.actions == "basis":
            theta = self.feature_scale * theta
        return self.offset + super()._means(sets, which, theta)


def _direction(luck: Rng, dim: int) -> Floats:
    row = luck.standard_normal(dim)
    return np.asarray(row / np.linalg.norm(row))


def _still(luck: Rng, horizon: int, dim: int, pace: float) -> Floats:
    return np.tile(_direction(luck, dim), (horizon, 1))


def _abrupt(luck: Rng, horizon: int, dim: int, pace: float) -> Floats:
    blocks = [np.tile(_direction(luck, dim), (int(pace), 1)) for _ in range(0, horizon, int(pace))]
    return np.concatenate(blocks)[:horizon]


def _walk(luck: Rng, horizon: int, dim: int, pace: float) -> Floats:
    theta, path = _direction(luck, dim), np.empty((horizon, dim))
    steps = pace * luck.standard_normal((horizon, dim))
    for t in range(horizon):
        theta = theta + steps[t]
        theta = theta / max(1.0, float(np.linalg.norm(theta)))
        path[t] = theta
    return path


def _ou(luck: Rng, horizon: int, dim: int, pace: float) -> Floats:
    keep, path = np.exp(-1.0 / pace), np.empty((horizon, dim))
    spread = 1.0 / np.sqrt(dim)
    theta = spread * luck.standard_normal(dim)
    steps = spread * np.sqrt(1.0 - keep**2) * luck.standard_normal((horizon, dim))
    for t in range(horizon):
        theta = keep * theta + steps[t]
        path[t] = theta
    return path


def _knots(luck: Rng, horizon: int, dim: int, pace: float) -> Floats:
    rounds = np.arange(0, horizon + pace, pace)
    vectors = np.array([_direction(luck, dim) for _ in rounds])
    return np.stack([np.interp(np.arange(horizon), rounds, line) for line in vectors.T], axis=1)


def _turn(luck: Rng, horizon: int, dim: int, pace: float) -> Floats:
    plane = np.linalg.qr(luck.standard_normal((dim, 2)))[0].T
    angles = 2.0 * np.pi * np.arange(horizon)[:, None] / pace
    return np.asarray(np.cos(angles) * plane[0] + np.sin(angles) * plane[1])


def _local(luck: Rng, horizon: int, dim: int, pace: float) -> Floats:
    theta, path = _direction(luck, dim), np.empty((horizon, dim))
    for t in range(horizon):
        if t and t % int(pace) == 0:
            theta = theta.copy()
            theta[int(luck.integers(dim))] = luck.standard_normal() / np.sqrt(dim)
        path[t] = theta
    return path


def _half(luck: Rng, horizon: int, dim: int, pace: float) -> Floats:
    still = _still(luck, horizon // 2, dim, pace)
    return np.concatenate([still, _walk(luck, horizon - len(still), dim, pace)])


PATHS: dict[str, Callable[[Rng, int, int, float], Floats]] = {
    "still": _still,
    "abrupt": _abrupt,
    "walk": _walk,
    "ou": _ou,
    "knots": _knots,
    "turn": _turn,
    "local": _local,
    "half": _half,
}
