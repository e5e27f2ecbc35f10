"""Times of a log as microseconds since 1970, as expressions that Polars computes while it reads.

Text is ISO 8601 (a space may stand for the T, seconds and time of day may be missing) or follows a format of the
caller; numbers count seconds, milliseconds, microseconds or nanoseconds, told apart by their size. A time without an
offset is taken to be in the zone that the caller names, else in UTC.
"""

from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from driftwise.core.extras import needed_for
from driftwise.core.types import Floats
from driftwise.errors import LogError

with needed_for("reading a log"):
    import polars as pl

DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y")  # with slashes, the day and the month could be taken for each other
FORMATS = tuple(f"{date}{time}" for date in DATES for time in (" %H:%M:%S%.f", " %H:%M", ""))
# For an error to name where times cannot be read; of those that fit, the first.
EXAMPLES = tuple(
    f"{date}{time}"
    for date in ("%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%y-%m-%d", "%d-%m-%y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y")
    for time in (" %H:%M", " %H:%M:%S", "")
)
FIRST_YEAR = 1900  # an earlier one is a year of two digits that was read as four
OFFSET = r":\d{2}(?:[.,]\d+)?\s*(Z|z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)$"
MICROSECONDS = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}
FIRST_DATE = 1e8  # a number below it is not a date after March 1973, but a count of rounds or seconds
NO_OFFSET = "none"


class TimeColumn(NamedTuple):
    """How to read a column of times: microseconds since 1970, and the offset that a text carries ("" if no text)."""

    microseconds: "pl.Expr"
    offset: "pl.Expr | None"
    dated: bool
    timezone: str
    note: str


def zone_name(timezone: str | None) -> str:
    """The name of a time zone that exists; UTC where none is given."""
    try:
        return ZoneInfo(timezone or "UTC").key
    except (KeyError, ValueError, OSError):
        raise LogError(f"timezone={timezone!r} is not a time zone: write a name such as Europe/Berlin or UTC") from None


def time_column(head: "pl.Series", timezone: str | None, time_format: str | None) -> TimeColumn:
    """How to read the column whose first values are `head`."""
    column, kind, zone = pl.col(head.name), head.dtype, zone_name(timezone)
    if isinstance(kind, pl.Datetime):
        if kind.time_zone is None:
            return TimeColumn(
                _localised(column.cast(pl.Datetime("us")), zone), None, True, zone, _assumed(head, timezone, zone)
            )
        local = timezone or kind.time_zone
        note = f"times in {head.name!r} are in the zone {kind.time_zone}"
        return TimeColumn(
            column.cast(pl.Datetime("us", kind.time_zone)).dt.epoch("us"), None, True, zone_name(local), note
        )
    if kind == pl.Date:
        return TimeColumn(
            _localised(column.cast(pl.Datetime("us")), zone), None, True, zone, _assumed(head, timezone, zone)
        )
    if kind.is_numeric() or (kind == pl.String and time_format is None and _numeric(head)):
        return _counted(head, column, zone)
    if kind != pl.String:
        raise LogError(f"time={head.name!r} holds {kind}: it must hold times, numbers or text")
    return _written(column, zone, time_format)


def looks_like_time(head: "pl.Series") -> bool:
    """Whether most of the first values can be read as dates."""
    if head.dtype.is_temporal():
        return head.dtype != pl.Duration and head.dtype != pl.Time
    if head.dtype != pl.String or _numeric(head):
        return False
    read = head.to_frame().select(_written(pl.col(head.name), "UTC", None).microseconds).to_series()
    return read.null_count() <= 0.1 * len(read)


def _numeric(head: "pl.Series") -> bool:
    values = head.drop_nulls()
    return len(values) > 0 and values.cast(pl.Float64, strict=False).null_count() <= 0.1 * len(values)


def _counted(head: "pl.Series", column: "pl.Expr", zone: str) -> TimeColumn:
    """Numbers: their size tells the unit."""
    size = (
        float(np.nanmedian(np.abs(head.cast(pl.Float64, strict=False).drop_nulls().to_numpy()))) if len(head) else 0.0
    )
    unit = "s" if size < 1e11 else "ms" if size < 1e14 else "us" if size < 1e17 else "ns"
    value = column.cast(pl.Float64, strict=False)
    ticks = (value * MICROSECONDS[unit]).round()
    whole = pl.when(value.is_finite()).then(ticks).otherwise(None).cast(pl.Int64, strict=False)
    if size < FIRST_DATE:
        return TimeColumn(whole, None, False, zone, f"{head.name!r} counts from 0 and names no dates")
    names = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
    return TimeColumn(whole, None, True, zone, f"times in {head.name!r} are read as {names[unit]} since 1970, UTC")


def _written(column: "pl.Expr", zone: str, time_format: str | None) -> TimeColumn:
    """Text: in ISO 8601 or a format of the caller, with offsets or without."""
    text = column.str.strip_chars()
    if time_format is not None:
        parsed = _in_full(text.str.to_datetime(time_format, time_unit="us", strict=False))
        if "%z" in time_format:
            return TimeColumn(parsed.dt.epoch("us"), None, True, zone, f"times follow the format {time_format!r}")
        return TimeColumn(
            _localised(parsed, zone), None, True, zone, f"times follow the format {time_format!r}, in {zone}"
        )
    text = text.str.replace(r"^(\d{4}.\d{1,2}.\d{1,2})[Tt]", "${1} ")
    offset = text.str.extract(OFFSET, 1)
    plain = text.str.replace(r"(:\d{2}(?:[.,]\d+)?)\s*(?:Z|z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)$", "${1}").str.replace(
        ",", "."
    )
    clock = _in_full(pl.coalesce([plain.str.to_datetime(form, time_unit="us", strict=False) for form in FORMATS]))
    sign = pl.when(offset.str.starts_with("-")).then(-1).otherwise(1)
    digits = offset.str.replace_all(r"\D", "")
    minutes = digits.str.slice(0, 2).cast(pl.Int64, strict=False) * 60
    minutes = (minutes + digits.str.slice(2, 2).cast(pl.Int64, strict=False).fill_null(0)).fill_null(0)
    exact = clock.dt.epoch("us") - sign * minutes * 60_000_000
    value = pl.when(offset.is_null()).then(_localised(clock, zone)).otherwise(exact)
    offsets = pl.when(clock.is_null()).then(None).otherwise(offset.fill_null(NO_OFFSET))
    return TimeColumn(value, offsets, True, zone, "")


def _in_full(clock: "pl.Expr") -> "pl.Expr":
    """Dates whose year was written with four digits; null where it was not."""
    return pl.when(clock.dt.year() >= FIRST_YEAR).then(clock)


def example_format(head: "pl.Series") -> str:
    """A format that reads the first values of a column, for an error to name; a usual one where none does."""
    if head.dtype == pl.String:
        text = head.str.strip_chars().drop_nulls()
        for form in EXAMPLES:
            read = text.to_frame().select(_written(pl.col(head.name), "UTC", form).microseconds).to_series()
            if len(read) and read.null_count() <= 0.1 * len(read):
                return form
    return "%m/%d/%Y %H:%M"


def _localised(clock: "pl.Expr", zone: str) -> "pl.Expr":
    """Microseconds of a wall clock in a zone; an hour that is there twice in autumn is the first of the two."""
    if zone == "UTC":
        return clock.dt.epoch("us")
    return clock.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").dt.epoch("us")


def _assumed(head: "pl.Series", timezone: str | None, zone: str) -> str:
    if timezone is not None:
        return f"times in {head.name!r} carry no zone; they are read as {zone}, as asked"
    return f"times in {head.name!r} carry no zone; UTC is assumed (--timezone, or timezone= in Python, says otherwise)"


def offset_note(name: str, counts: dict[str, int], timezone: str | None) -> str:
    """What the offsets of a column of text say of its zone."""
    zone = zone_name(timezone)
    bare, written = counts.get(NO_OFFSET, 0), {each: n for each, n in counts.items() if each != NO_OFFSET}
    if not written:
        reading = (
            f"they are read as {zone}, as asked"
            if timezone
            else "UTC is assumed (--timezone, or timezone= in Python, says otherwise)"
        )
        return f"times in {name!r} carry no zone; {reading}"
    offsets = ", ".join(sorted(written))
    if bare:
        return (
            f"times in {name!r} mix zones: {bare:,} carry none, which is taken as {zone}, "
            f"and {sum(written.values()):,} carry {offsets}"
        )
    if len({each.upper().replace("UTC", "Z").replace("GMT", "Z").replace("+00:00", "Z") for each in written}) > 1:
        return f"times in {name!r} mix the offsets {offsets}; each is read by its own"
    return f"times in {name!r} carry the offset {offsets}"


def seconds(microseconds: "pl.Series") -> Floats:
    """Seconds since 1970."""
    return np.asarray(microseconds.to_numpy(), np.float64) / 1e6
