"""The parameter turns in a plane: what paid yesterday pays a little less today, and its opposite comes round."""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number
from driftwise.errors import ParameterError
from driftwise.families.contextual.worlds.base import FeaturedWorld, Path, unit_vectors


@dataclass(frozen=True, kw_only=True)
class Rotating(FeaturedWorld):
    """theta_t turns `turns` times round a circle of radius `norm`, in a random plane.

    Parameters
    ----------
    turns : float
        How often it comes round within the horizon.
    norm : float
        Length of the parameter.
    """

    turns: float = 2.0
    norm: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number("turns", self.turns, above=0.0)
        number("norm", self.norm, above=0.0)
        if self.dim < 2:
            raise ParameterError(f"dim={self.dim} has no plane to turn in: rotating needs dim of at least 2")

    def path(self, horizon: int, seed: int) -> Path:
        """The plane is drawn once."""
        basis = np.linalg.qr(unit_vectors(2, self.dim, seed, "plane").T)[0].T

        def theta(start: int, stop: int) -> Floats:
            angles = 2.0 * np.pi * self.turns * np.arange(start, stop)[:, None] / horizon
            # no product of matrices: how that rounds depends on the length of the block
            circle: Floats = np.cos(angles) * basis[0] + np.sin(angles) * basis[1]
            return self.norm * circle

        return theta
