"""Periods of a log: equal numbers of rows, or hours, days, weeks or months of the calendar."""

from datetime import datetime
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import whole
from driftwise.errors import ParameterError

LEAST_ROWS = 50
MAX_PERIODS = 1000
CALENDAR = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}


class Period(NamedTuple):
    """Rows from `start` to `stop`, without the last, and the times of the first and the last of them."""

    start: int
    stop: int
    start_at: str | float | None
    end_at: str | float | None


def periods_of(
    periods: int | str, n_rows: int, times: Floats | None, dated: bool = True, timezone: str = "UTC"
) -> list[Period]:
    """The periods, in order; fewer than asked for where each would have less than 50 rows."""
    if isinstance(periods, str) and not periods.isdigit():
        edges = _calendar(periods, times if dated else None, timezone)
    else:
        count = max(1, min(whole("periods", int(periods), high=MAX_PERIODS), n_rows // LEAST_ROWS))
        edges = [i * n_rows // count for i in range(count + 1)]

    def at(row: int) -> str | float | None:
        return None if times is None else moment(float(times[row]), dated, timezone)

    return [Period(a, b, at(a), at(b - 1)) for a, b in pairwise(edges)]


def moment(time: float, dated: bool, timezone: str) -> str | float:
    """A time as RFC 3339, or as it is where times are counts."""
    return datetime.fromtimestamp(time, ZoneInfo(timezone)).isoformat(timespec="seconds") if dated else time


def _calendar(name: str, times: Floats | None, timezone: str) -> list[int]:
    if name not in CALENDAR:
        raise ParameterError(f"periods={name} is not a number or one of {', '.join(CALENDAR)}")
    if times is None:
        raise ParameterError(f"periods={name} needs a log with dates")
    zone = ZoneInfo(timezone)
    hours = np.floor(times / 900.0)  # no zone is off by less than a quarter of an hour
    starts = np.flatnonzero(np.diff(hours, prepend=-np.inf))
    labels = [datetime.fromtimestamp(times[row], zone).strftime(CALENDAR[name]) for row in starts]
    edges = [int(row) for i, row in enumerate(starts) if i == 0 or labels[i] != labels[i - 1]]
    if len(edges) > MAX_PERIODS:
        raise ParameterError(
            f"periods={name} makes {len(edges):,} periods, more than {MAX_PERIODS:,}: take longer ones"
        )
    return [*edges, len(times)]
