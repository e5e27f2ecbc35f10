"""A smooth hilly surface whose hills sink and rise: some points of it can be chosen, and their heights drift."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.core.random import fill_normal
from driftwise.core.rules import cast_fields, number, whole
from driftwise.core.seeding import generator, key
from driftwise.core.types import Floats, Problem
from driftwise.worlds.arms import BLOCK, Levels
from driftwise.worlds.features import BLOCK_NUMBERS, GAUSSIAN, FeatureTape


@dataclass(frozen=True, kw_only=True)
class DriftingSurface:
    """f_t = cos(phi_t) f_a + sin(phi_t) f_b, phi_t = 2 pi turns t / T, for two draws f_a, f_b of one Gaussian process.

    Every f_t is then a draw of that process too; its covariance is height^2 exp(-|x - z|^2 / (2 length^2)). The points
    to choose from are drawn once, uniformly from [0, 1]^dim; the path of the tape is the surface at the points.

    Parameters
    ----------
    dim : int
        Coordinates of a point.
    n_actions : int
        Points to choose from.
    turns : float
        How often the surface comes back to where it was within the horizon.
    length, height : float
        Over which distance the surface changes, and how far its values spread around 0.
    sd : float
        Spread of rewards around the surface.
    """

    dim: int = 2
    n_actions: int = 50
    turns: float = 1.0
    length: float = 0.2
    height: float = 1.0
    sd: float = 0.1

    def __post_init__(self) -> None:
        cast_fields(self)
        whole("dim", self.dim, high=10**4)
        whole("n_actions", self.n_actions, low=2, high=5000)
        for name in ("turns", "length", "height", "sd"):
            number(name, getattr(self, name), above=0.0)

    @property
    def block(self) -> int:
        """Rounds in a block: fewer where there are many points."""
        return max(1, min(BLOCK, BLOCK_NUMBERS // self.n_actions))

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world."""
        return Problem(self.n_actions, -np.inf, np.inf, self.sd, horizon, self.dim, unit=1.0)

    def changes(self, horizon: int, seed: int) -> list[int]:
        """The surface only glides."""
        return []

    def surfaces(self, seed: int) -> tuple[Floats, Floats]:
        """The points, a row each, and the heights of f_a and f_b at them."""
        points = generator(seed, "points").random((self.n_actions, self.dim))
        squares = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
        weights, vectors = np.linalg.eigh(self.height**2 * np.exp(-0.5 * squares / self.length**2))
        draws = generator(seed, "surfaces").standard_normal((2, self.n_actions))
        return points, draws @ (np.sqrt(np.maximum(weights, 0.0)) * vectors).T

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[FeatureTape]:
        """The world in blocks of at most `size` rounds: the same rounds, however they are cut."""
        horizon, size = whole("horizon", horizon), whole("size", self.block if size is None else size)
        points, (one, other) = self.surfaces(seed)
        for start in range(0, horizon, size):
            stop = min(horizon, start + size)
            angles = 2.0 * np.pi * self.turns * np.arange(start, stop)[:, None] / horizon
            path, noise = np.cos(angles) * one + np.sin(angles) * other, np.empty(stop - start)
            fill_normal(key(seed, "noise"), start, noise)
            which = np.zeros(stop - start, np.int32)
            yield FeatureTape(start, Levels.of_each_round(path), noise, self.sd, GAUSSIAN, points[None], which, path)

    def nature(self, horizon: int = 0) -> Any:
        """What actions may change in this world: nothing."""
        return ()

    def draw(self, horizon: int, seed: int) -> tuple[FeatureTape, Any]:
        """The whole world as one tape, and a fresh nature."""
        (tape,) = self.tapes(horizon, seed, size=whole("horizon", horizon))
        return tape, self.nature()
