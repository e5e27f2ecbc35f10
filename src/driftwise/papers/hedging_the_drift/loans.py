"""Reads the on-line auto lending data, CPRM-12-001, from a file; Columbia gives it on request.

Columns are found by name, in any order, and those that are not needed may be missing. A row that cannot be read is left
out, counted, and the first is reported; a file in which more than one row in a hundred cannot be read is refused.
"""

import csv
import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.errors import ParameterError

CARS = ("N", "U", "R")
FEWEST = 2_000
UNREADABLE = 0.01
LIBOR = 0.0012  # a month: the mean one-month rate, 1.44% a year


class Loans(NamedTuple):
    """Applications in the order of the file, an array per column that is used. `car` is a place in CARS."""

    day: Ints
    fico: Floats
    term: Floats
    amount: Floats
    prime: Floats
    car: Floats
    competitor: Floats
    payment: Floats
    applied: Floats

    @property
    def price(self) -> Floats:
        """What the lender earns: the monthly payments, discounted to the day of the loan, less the loan."""
        worth: Floats = self.payment * (1.0 - (1.0 + LIBOR) ** -self.term) / LIBOR
        return worth - self.amount


class Reading(NamedTuple):
    """What a file held: the loans, its digest, how many rows there were, and a word on those left out."""

    loans: Loans
    digest: str
    rows: int
    left_out: str


def read(path: Path) -> Reading:
    """The loans of a file, read once; a bad file is refused with one sentence."""
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise ParameterError(f"--data {path} cannot be read: {error.strerror}") from None


@lru_cache(maxsize=2)
def _read(path: Path, modified: int) -> Reading:
    raw = path.read_bytes()
    try:
        lines = raw.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ParameterError(f"--data {path} is not text: byte {error.start} is not UTF-8") from None
    try:
        numbers, rows, bad = _rows(path, csv.reader(lines))
    except csv.Error as error:
        raise ParameterError(f"--data {path} is not a table of comma-separated values: {error}") from None
    complaint = f"{len(bad):,} of {rows:,} rows cannot be read; the first is line {bad[0]}" if bad else ""
    if len(bad) > UNREADABLE * rows:
        raise ParameterError(f"--data {path}: {complaint}")
    if len(numbers) < FEWEST:
        raise ParameterError(
            f"--data {path} holds {len(numbers):,} applications: the regression of each day needs {FEWEST:,} or more"
        )
    columns = np.array(numbers).T.copy()
    loans = Loans(columns[0].astype(np.int64), *columns[1:])
    return Reading(loans, hashlib.sha256(raw).hexdigest()[:16], rows, complaint)


def _rows(path: Path, reader: Iterator[list[str]]) -> tuple[list[list[float]], int, list[str]]:
    """The numbers of every row that can be read, how many rows there are, and what is wrong with the others."""
    places = _places(path, next(reader, []))
    columns = [(place, name, convert) for place, (name, convert) in zip(places, COLUMNS.items(), strict=True)]
    numbers: list[list[float]] = []
    bad: list[str] = []
    rows = 0
    for row in reader:
        if not row:
            continue
        rows += 1
        try:
            numbers.append([convert(row[place]) for place, _, convert in columns])
        except (ValueError, IndexError):
            bad.append(f"{reader.line_num}: {_fault(row, columns)}")  # type: ignore[attr-defined]
    return numbers, rows, bad


def _places(path: Path, header: Sequence[str]) -> list[int]:
    names = [name.strip() for name in header]
    lacking = [name for name in COLUMNS if name not in names]
    if lacking:
        plural = "s" if len(lacking) > 1 else ""
        raise ParameterError(f"--data {path} lacks the column{plural} {', '.join(lacking)}")
    return [names.index(name) for name in COLUMNS]


def _fault(row: list[str], columns: Sequence[tuple[int, str, Callable[[str], float]]]) -> str:
    """The first value of a row that could not be read."""
    for place, name, convert in columns:
        try:
            convert(row[place])
        except IndexError:
            return f"{name} is missing"
        except ValueError:
            return f"{name}={row[place]!r}"
    return ""


def _number(text: str) -> float:
    value = float(text)
    if not np.isfinite(value):
        raise ValueError(text)
    return value


def _positive(text: str) -> float:
    value = float(text)
    if not 0.0 < value < np.inf:
        raise ValueError(text)
    return value


def _answer(text: str) -> float:
    value = float(text)
    if value not in (0.0, 1.0):
        raise ValueError(text)
    return value


def _car(text: str) -> float:
    return float(CARS.index(text.strip()))


@cache
def _day(text: str) -> float:
    """The day of 07/01/2002, 7/1/2002 or 2002-07-01, counted as Python counts days."""
    text = text.strip().partition(" ")[0]
    if "/" in text:
        month, day, year = (int(part) for part in text.split("/"))
    else:
        year, month, day = (int(part) for part in text.split("-"))
    return float(date(year, month, day).toordinal())


COLUMNS: dict[str, Callable[[str], float]] = {
    "Apply_Date": _day,
    "Primary_FICO": _number,
    "Term": _positive,
    "Amount_Approved": _positive,
    "onemonth": _number,
    "CarType": _car,
    "Competition_rate": _number,
    "mp": _positive,
    "apply": _answer,
}
