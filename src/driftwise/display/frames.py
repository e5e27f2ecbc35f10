"""Tables as data frames of the library that a program uses: pandas, Polars or Arrow, imported when asked for."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from driftwise.errors import ExtraError, ParameterError

MAKERS = {"pandas": ("pandas", "DataFrame"), "polars": ("polars", "DataFrame"), "arrow": ("pyarrow", "table")}


def frame_of(rows: Sequence[Mapping[str, Any]], library: str = "pandas") -> Any:
    """A data frame with a row for each mapping; what a row has not is missing there.

    >>> frame_of([{"arm": "red", "mean": 0.5}, {"arm": "blue"}], "polars").shape
    (2, 2)
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    return frame_of_columns({name: [row.get(name) for row in rows] for name in names}, library)


def frame_of_columns(columns: Mapping[str, Any], library: str = "pandas") -> Any:
    """A data frame with these columns."""
    if not isinstance(library, str) or library not in MAKERS:
        raise ParameterError(f"library={library!r} is not one of {', '.join(MAKERS)}")
    package, maker = MAKERS[library]
    try:
        return getattr(import_module(package), maker)(dict(columns))
    except ImportError:
        raise ExtraError(f"a frame of {library} needs the package {package}: run pip install {package}") from None
