"""The world behind a lower bound: a parameter at a random corner of a small hypercube, drawn anew in every block.

    H = ceil((sd d T / B)^(2/3))                              rounds in a block
    theta of a block = a (+-1, ..., +-1), a = sd sqrt(d / (4 H))      each sign by a fair coin
    actions: (+-1, ..., +-1) / sqrt(d)                        all 2^d, the same throughout

Cheung, Simchi-Levi & Zhu, *Hedging the Drift: Learning to Optimize under Non-Stationarity*, Management Science 2022,
Theorem 1 with Appendix A, where sd = 1: no policy loses less than the order of d^(2/3) B^(1/3) T^(2/3) there. A block
is long enough to learn a sign, and then it ends. The paper has the whole unit ball for actions; its best action is
always one of these corners, and corners make the bound exact, see `least_regret`. The way is at most B long.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.errors import ParameterError
from driftwise.families.contextual.worlds.base import FeaturedWorld, Path


@dataclass(frozen=True, kw_only=True)
class Hypercube(FeaturedWorld):
    """A random corner of a hypercube for every block: as hard as linear rewards with this variation can be.

    Parameters
    ----------
    variation : float
        The budget B: the parameter moves by at most this in all.

    >>> world = Hypercube(dim=2, variation=8.0)
    >>> world.rounds(1000), round(world.least_regret(1000))
    (40, 118)
    """

    dim: int = 4
    actions: str = "corners"
    sd: float = 1.0
    variation: float = 10.0

    SETS: ClassVar[tuple[str, ...]] = ("corners",)

    def __post_init__(self) -> None:
        super().__post_init__()
        number("variation", self.variation, above=0.0)
        if self.link != "identity":
            raise ParameterError(f"link={self.link} is not identity: the bound is for linear rewards")

    def rounds(self, horizon: int) -> int:
        """H, the rounds in a block; refused where a mean reward could be above 1."""
        longest = self.sd * self.dim * whole("horizon", horizon) / self.variation
        rounds = math.ceil(math.cbrt(longest) ** 2 - 1e-9)
        if self._size(rounds) * math.sqrt(self.dim) > 1.0:
            raise ParameterError(
                f"variation={self.variation:g} is too much for {horizon} rounds: blocks of {rounds} rounds "
                "would need mean rewards above 1"
            )
        return rounds

    def changes(self, horizon: int, seed: int) -> list[int]:
        """The first round of every block whose corner is another than that of the block before."""
        rounds, signs = self.rounds(horizon), self._signs(horizon, seed)
        moves = (signs[1:] != signs[:-1]).any(axis=1)
        return [rounds * (block + 1) for block in range(len(moves)) if moves[block]]

    def path(self, horizon: int, seed: int) -> Path:
        """The corner of the block that a round lies in."""
        rounds = self.rounds(horizon)
        signs = self._signs(horizon, seed)

        def theta(start: int, stop: int) -> Floats:
            return np.asarray(self._size(rounds) * signs[np.arange(start, stop) // rounds], float)

        return theta

    def least_regret(self, horizon: int) -> float:
        """What every policy loses at least, on average over corners.

        Every action shows every sign with the same strength a / sqrt(d), whatever is chosen. So after n rounds of a
        block, and even if all other signs were known, a sign is wrong with a chance of at least Phi(-a sqrt(n / d) /
        sd), and costs 2 a / sqrt(d) a round.
        """
        from scipy.special import ndtr  # slow to import, and used here only

        rounds = self.rounds(horizon)
        size = self._size(rounds)
        wrong = np.cumsum(ndtr(-size / self.sd * np.sqrt(np.arange(rounds) / self.dim)))
        whole_blocks, rest = divmod(horizon, rounds)
        errors = whole_blocks * wrong[-1] + (wrong[rest - 1] if rest else 0.0)
        return float(2.0 * size * math.sqrt(self.dim) * errors)

    def _size(self, rounds: int) -> float:
        return self.sd * math.sqrt(self.dim / (4.0 * rounds))

    def _signs(self, horizon: int, seed: int) -> Floats:
        """A corner for each block."""
        blocks = -(-horizon // self.rounds(horizon))
        return np.asarray(generator(seed, "signs").integers(0, 2, (blocks, self.dim)) * 2.0 - 1.0, float)
