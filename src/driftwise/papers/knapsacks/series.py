"""A series: one world played at growing sizes by the same policies, so that a power can be fitted to their losses."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from driftwise.core.protocols import Policy
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers.knapsacks.power_law import margin
from driftwise.study.study import Study

Maker = tuple[str, Callable[[], Study]]


class SeriesSize(NamedTuple):
    """Where a series is played, and how often at each point."""

    points: tuple[float, ...]
    runs: int


def _fours(start: float, many: int) -> tuple[float, ...]:
    return tuple(start * 4.0**k for k in range(many))


SIZES: dict[str, dict[str, SeriesSize]] = {
    "quick": {
        "T/rotating": SeriesSize(_fours(4_000, 5), 24),
        "T/stationary": SeriesSize(_fours(1_000, 5), 24),
        "V/rotating": SeriesSize(_fours(1, 4), 24),
        "T/lower-bound": SeriesSize(_fours(4_000, 4), 8),
        "V/lower-bound": SeriesSize((1.0, 2.0, 4.0, 8.0, 16.0, 32.0), 8),
        "m/lower-bound": SeriesSize((2.0, 4.0, 8.0, 16.0, 32.0), 8),
        "b/lower-bound": SeriesSize((2.5, 5.0, 10.0, 20.0), 8),
        "T/appendix-c1": SeriesSize(_fours(64_000, 3), 6),
        "T/appendix-d": SeriesSize(_fours(16_000, 3), 12),
    },
    "full": {
        "T/rotating": SeriesSize(_fours(4_000, 6), 48),
        "T/stationary": SeriesSize(_fours(1_000, 6), 48),
        "V/rotating": SeriesSize(_fours(1, 4), 96),
        "T/lower-bound": SeriesSize(_fours(4_000, 5), 20),
        "V/lower-bound": SeriesSize((1.0, 2.0, 4.0, 8.0, 16.0, 32.0), 20),
        "m/lower-bound": SeriesSize((2.0, 4.0, 8.0, 16.0, 32.0), 20),
        "b/lower-bound": SeriesSize((2.5, 5.0, 10.0, 20.0), 20),
        "T/appendix-c1": SeriesSize(_fours(64_000, 4), 24),
        "T/appendix-d": SeriesSize(_fours(16_000, 4), 24),
    },
}


class Ground(NamedTuple):
    """A world, and how long it is played."""

    world: BudgetWorld
    horizon: int


class Series(NamedTuple):
    """What grows, the power that theory gives, and what is played at a point; `size` names an entry of `SIZES`."""

    name: str
    symbol: str
    theory: float
    power: str
    ground: Callable[[float], Ground]
    policies: Mapping[str, Policy]
    size: str
    last: int = 0

    def names(self, scale: str) -> tuple[str, ...]:
        """The studies, in the order of their points."""
        return tuple(f"{self.name}/at={point:g}" for point in SIZES[scale][self.size].points)

    def margin(self, scale: str) -> float:
        """What the points that the power is fitted to allow it to be off by."""
        return margin(SIZES[scale][self.size].points[-self.last :])

    def studies(self, scale: str, runs: int | None) -> Iterator[Maker]:
        """One for every point."""
        points, usual = SIZES[scale][self.size]
        for name, point in zip(self.names(scale), points, strict=True):
            yield name, partial(self._study, name, point, runs or usual)

    def _study(self, name: str, point: float, runs: int) -> Study:
        world, horizon = self.ground(point)
        return Study(name=name, worlds={"world": world}, policies=self.policies, horizon=horizon, runs=runs)
