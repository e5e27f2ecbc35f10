"""The lending data as a world: every application is a round, the 51 prices of the grid are its actions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from driftwise.core.random import fill_normal
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Problem
from driftwise.core.validation import cast_fields, number, whole
from driftwise.errors import ParameterError
from driftwise.families.contextual.worlds.base import GAUSSIAN, FeatureTape
from driftwise.measure.base_world import BaseWorld
from driftwise.measure.levels import BLOCK_NUMBERS, Levels
from driftwise.measure.variation import Course
from driftwise.papers.hedging_the_drift import stand_in
from driftwise.papers.hedging_the_drift.demand import GRID, SCALINGS, Market, market
from driftwise.papers.hedging_the_drift.loans import Loans, read

BORROWER = 7  # features of a borrower, without the intercept


@dataclass(frozen=True, kw_only=True)
class Lending(BaseWorld):
    """Prices for loans, one borrower after the other.

    Parameters
    ----------
    data, digest : str
        The file, and its digest by `loans.read`; without a file the stand-in is used.
    instance : int
        Which stand-in.
    drift : float
        How far the tastes of the stand-in's borrowers wander; 0 stands still.
    applications : int
        How many are played, the first by date.
    scaling : str
        `minmax`, `z` or `max`: how the features of borrowers are made comparable.
    intercept : int
        1 adds a feature that is always 1.
    ridge : float
        Of the daily regressions; 0 is least squares.
    unit : float
        Dollars to a unit of the price grid.
    sd : float
        Noise of the rewards.
    """

    data: str = ""
    digest: str = ""
    instance: int = 1
    drift: float = 3.0
    applications: int = stand_in.APPLICATIONS
    scaling: str = "minmax"
    intercept: int = 0
    ridge: float = 0.6
    unit: float = 10.0
    sd: float = 0.1

    def __post_init__(self) -> None:
        cast_fields(self)
        whole("applications", self.applications)
        whole("intercept", self.intercept, low=0, high=1)
        number("ridge", self.ridge, above=0.0, closed="[")
        number("drift", self.drift, above=0.0, closed="[")
        number("unit", self.unit, above=0.0)
        number("sd", self.sd, above=0.0)
        if self.scaling not in SCALINGS:
            raise ParameterError(f"scaling={self.scaling} is not one of {', '.join(SCALINGS)}")

    @property
    def dim(self) -> int:
        """Features of a price offered to a borrower."""
        return 2 * (BORROWER + self.intercept)

    @property
    def block(self) -> int:
        """Rounds in a block."""
        return max(1, BLOCK_NUMBERS // (len(GRID) * self.dim))

    @property
    def lasting(self) -> bool:
        """A price means something else to every borrower."""
        return False

    @property
    def market(self) -> Market:
        """The borrowers and the daily regressions; worked out once."""
        return _market(self)

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world."""
        return Problem(len(GRID), -np.inf, np.inf, self.sd, horizon, self.dim, unit=1.0, family="contextual")

    def changes(self, horizon: int, seed: int) -> list[int]:
        """The first round of every day but the first."""
        day = self.market.day
        if whole("horizon", horizon) > len(day):
            raise ParameterError(f"horizon={horizon} is more than the {len(day):,} applications there are")
        return (np.flatnonzero(np.diff(day[:horizon])) + 1).tolist()

    def courses(self, horizon: int, seed: int) -> Iterator[Course]:
        """The parameter of every day."""
        yield Course(0, Levels(self.market.theta, self.market.day[:horizon].astype(np.int32)), None)

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[FeatureTape]:
        """The applications in blocks of at most `size`; the seed decides the noise alone."""
        market, rng, size = self.market, key(seed, "noise"), size or self.block
        for start in range(0, horizon, size):
            stop = min(horizon, start + size)
            sets, theta = market.features(start, stop), market.theta[market.day[start:stop]]
            noise = np.empty(stop - start)
            fill_normal(rng, start, noise)
            levels = Levels.of_each_round(np.einsum("tad,td->ta", sets, theta))
            which = np.arange(stop - start, dtype=np.int32)
            yield FeatureTape(start, levels, noise, float(self.sd), GAUSSIAN, sets, which, theta)

    def company(self, horizon: int) -> Floats:
        """The regret so far, after each round, of the lender's own prices rounded to the grid."""
        own = np.rint(self.market.own[:horizon] * (len(GRID) - 1)).astype(np.int64)
        gaps = []
        for tape in self.tapes(horizon, seed=0):
            means = tape.levels.table
            actions = own[tape.start : tape.start + len(means)]
            gaps.append(means.max(axis=1) - means[np.arange(len(means)), actions])
        return np.cumsum(np.concatenate(gaps))


@lru_cache(maxsize=16)
def _market(world: Lending) -> Market:
    return market(
        _loans(world),
        most=world.applications,
        scaling=world.scaling,
        intercept=world.intercept,
        ridge=world.ridge,
        unit=world.unit,
    )


def _loans(world: Lending) -> Loans:
    if not world.data:
        return stand_in.loans(world.instance, world.drift)
    reading = read(Path(world.data))
    if world.digest and world.digest != reading.digest:
        raise ParameterError(f"{world.data} has changed: its digest is {reading.digest}, not {world.digest}")
    return reading.loans
