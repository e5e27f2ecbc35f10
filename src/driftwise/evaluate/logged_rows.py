"""The rows of a log that an evaluation uses: with propensities, known or estimated, and with chance in them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.types import Floats, Ints
from driftwise.display.text import agree, counted
from driftwise.errors import LogError
from driftwise.evaluate.log import Log
from driftwise.evaluate.overlap import check_randomness
from driftwise.evaluate.propensity_model import estimate_propensities

MOST_UNKNOWN = 0.5


class LoggedRows(NamedTuple):
    """Rows as arrays. `places` are their row numbers in the log; `arms` may have more than the log, at the end."""

    arms: tuple[str, ...]
    places: Ints
    actions: Ints
    rewards: Floats
    propensities: Floats
    times: Floats | None = None
    rewarded_at: Floats | None = None
    context: Floats | None = None
    features: Floats | None = None
    units: Ints | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rewards came."""
        return ~np.isnan(self.rewards)

    def at(self, places: Ints) -> "LoggedRows":
        """Some of the rows."""
        changed: dict[str, Any] = {
            name: each if each is None else each[places] for name, each in self._asdict().items() if name != "arms"
        }
        return self._replace(**changed)


def rows_of(log: Log, arms: tuple[str, ...], estimate: bool) -> tuple[LoggedRows, list[str]]:
    """The rows that can be used, and what was assumed of them."""
    notes = []
    places, propensities = np.arange(len(log)), log.propensities
    unknown = np.ones(len(log), bool) if propensities is None else np.isnan(propensities)
    estimate = estimate or propensities is None or float(unknown.mean()) > MOST_UNKNOWN
    if estimate or propensities is None:
        propensities = estimate_propensities(len(log.arms), log.actions, _known_then(log))
        condition = "time" if log.context is None and log.features is None else "context and time"
        notes.append(
            f"propensities are estimated from how often arms were chosen: choices must be random given the {condition}"
        )
    elif unknown.any():
        places = np.flatnonzero(~unknown)
        n_rows = int(unknown.sum())
        notes.append(f"{counted(n_rows, 'row')} without a propensity {agree(n_rows, 'is', 'are')} left out")
    everything = np.arange(len(log))
    rows = LoggedRows(arms, everything, log.actions, log.rewards, propensities, *_more(log))
    rows = rows if len(places) == len(log) else rows.at(places)
    if not rows.known.any():
        raise LogError("no row that has a propensity has a reward")
    lost = int((~rows.known).sum())
    if lost:
        rows_lost = f"{counted(lost, 'row')} without a reward {agree(lost, 'is', 'are')}"
        notes.append(f"{rows_lost} left out of every value, as if rewards were lost at random")
    return rows, notes + check_randomness(log.arms, rows.actions, rows.rewards, rows.propensities, estimate)


def _more(log: Log) -> tuple[Floats | None, Floats | None, Floats | None, Floats | None, Ints | None]:
    return log.times, log.rewarded_at, log.context, log.features, log.units


def _known_then(log: Log) -> Floats | None:
    """All that the logging policy could have chosen by: the context, and the features of all arms."""
    parts = [log.context, None if log.features is None else log.features.reshape(len(log), -1)]
    there = [each for each in parts if each is not None]
    return np.column_stack(there) if there else None


def rows_as_logged(log: Log) -> LoggedRows:
    """All rows, where only what was earned is asked for."""
    return LoggedRows(log.arms, np.arange(len(log)), log.actions, log.rewards, np.ones(len(log)), *_more(log))
