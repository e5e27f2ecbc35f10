"""Data frames of other libraries in, through narwhals, and a Polars frame out."""

from typing import TYPE_CHECKING, Any

from driftwise.core.extras import needed_for
from driftwise.core.types import Floats
from driftwise.display.frames import MAKERS
from driftwise.errors import LogError, ParameterError
from driftwise.evaluate.reading import HEAD, Scan, unreadable

with needed_for("a log as a data frame"):
    import narwhals as nw
    import polars as pl

if TYPE_CHECKING:
    from driftwise.evaluate.log import Log

DECIMAL_COMMA = r"^\s*[+-]?\d+,(\d{1,2}|\d{4,})\s*$"  # before three digits, a comma may separate thousands


def scan_frame(frame: object) -> Scan:
    """The rows of a data frame of any library that narwhals reads."""
    if isinstance(frame, pl.LazyFrame):
        return _scan(frame)
    try:
        known = nw.from_native(frame)  # type: ignore[call-overload]
    except TypeError:
        raise LogError(f"{type(frame).__name__} is not a data frame of pandas, Polars or Arrow") from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else nw.from_native(_with_index(known))
    with needed_for("this data frame"):
        return _scan(eager.to_polars().lazy())


def _scan(lazy: "pl.LazyFrame") -> Scan:
    """The rows of a frame; text such as 17,90 in its first rows says that a comma is the decimal point."""
    place, text = "the frame", pl.col(pl.String)
    try:
        found = lazy.head(HEAD).select(text.str.contains(DECIMAL_COMMA).any()).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(place, error) from None
    return Scan(lazy, False, place, decimal_comma=any(found.row(0)) if len(found) else False)


def _with_index(frame: "nw.DataFrame[Any]") -> Any:
    """The frame itself; where pandas has an index with a name, that is one more column."""
    index, native = nw.maybe_get_index(frame), frame.to_native()
    names = [name for name in getattr(index, "names", ()) if isinstance(name, str) and name not in frame.columns]
    return native.reset_index(level=names) if names else native


def frame_of_log(log: "Log") -> "pl.DataFrame":
    """A column for each array of a log."""
    columns: dict[str, object] = {}
    if log.times is not None:
        columns["time"] = _dates(log.times, log)
    columns["action"] = pl.Series(log.arms, dtype=pl.Categorical).gather(log.actions)
    columns["reward"] = pl.Series(log.rewards).fill_nan(None)
    if log.propensities is not None:
        columns["propensity"] = pl.Series(log.propensities).fill_nan(None)
    if log.units is not None:
        columns["unit"] = log.units
    if log.rewarded_at is not None:
        columns["rewarded_at"] = _dates(log.rewarded_at, log)
    costs = [name if name == "cost" else f"cost_{name}" for name in log.cost_names]
    for names, matrix in ((log.context_names, log.context), (costs, log.costs)):
        columns |= {name: matrix[:, i] for i, name in enumerate(names) if matrix is not None}
    if log.features is not None:
        for k, arm in enumerate(log.arms):
            columns |= {f"{arm}.{name}": log.features[:, k, j] for j, name in enumerate(log.feature_names)}
    return pl.DataFrame(columns)


def convert(frame: "pl.DataFrame", library: str) -> Any:
    """A Polars frame in another library; categories become text in Arrow and pandas."""
    if library == "polars":
        return frame
    if library not in MAKERS:
        raise ParameterError(f"library={library!r} is not one of {', '.join(MAKERS)}")
    texts = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
    with needed_for(f"a frame of {library}"):
        return texts.to_arrow() if library == "arrow" else texts.to_pandas()


def _dates(times: Floats, log: "Log") -> "pl.Series":
    if not log.dated:
        return pl.Series(times)
    ticks = pl.Series(times * 1e6).fill_nan(None).round().cast(pl.Int64)
    return ticks.cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(log.timezone)
