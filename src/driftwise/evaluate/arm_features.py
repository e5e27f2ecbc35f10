"""Features of every arm that come with every decision: which columns of a log hold them, and as an array.

plain.price, plain.stock, photo.price, ...      a column `ARM.FEATURE` for every arm and feature
{"plain": [9.5, 3], "photo": [7.0, 1]}          one column, in JSON or nested: a row of numbers by arm,
{"plain": {"price": 9.5, "stock": 3}, ...}      numbers by arm and name,
[[9.5, 3], [7.0, 1]]                            or rows in the order of the arms, which are 0, 1, 2, ...
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from driftwise.core.extras import needed_for
from driftwise.core.types import Floats
from driftwise.errors import LogError

with needed_for("reading a log"):
    import polars as pl

NESTED = ("features", "actions")  # names by which one column of all features is guessed
JSON = msgspec.json.Decoder()


class FeatureColumns(NamedTuple):
    """Where features stand: in a column for each of `arms` and `names`, or all in the column `nested`."""

    arms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    nested: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns in use, arm by arm."""
        return (self.nested,) if self.nested else tuple(f"{arm}.{name}" for arm in self.arms for name in self.names)


class ArmFeatures(NamedTuple):
    """Features by row, arm and name; nan in rows that have them not for every arm."""

    arms: tuple[str, ...]
    names: tuple[str, ...]
    values: Floats

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which rows have a number for every arm and feature."""
        return np.asarray(np.isfinite(self.values).all(axis=(1, 2)))

    def of(self, arms: Sequence[str]) -> Floats:
        """The features of the arms of a log, in its order."""
        lacking = [arm for arm in arms if arm not in self.arms]
        if lacking:
            raise LogError(f"the arm {lacking[0]!r} was chosen and has no features: {', '.join(self.arms[:10])} have")
        places = [self.arms.index(arm) for arm in arms]
        return np.ascontiguousarray(self.values[:, places])


def find_features(
    requested: Sequence[str] | None, head: "pl.DataFrame", free: Sequence[str], actions: Sequence[str]
) -> FeatureColumns | None:
    """The columns by the names that the caller gives, else by guess among the `free` ones; None where there are none.

    `actions` are the first rows' choices: a guess must have columns for all of them.
    """
    if requested is not None:
        words = [requested] if isinstance(requested, str) else [*requested]
        return _named([word for word in words if word], head.columns)
    by_arm = _by_arm(free)
    shared = [name for name in next(iter(by_arm.values()), ()) if all(name in names for names in by_arm.values())]
    if len(by_arm) > 1 and shared and set(actions) <= by_arm.keys():
        return FeatureColumns(tuple(by_arm), tuple(shared))
    nested = next((name for name in free if name.lower() in NESTED), None)
    if nested is None or not any(_by_name(cell) for cell in head[nested].drop_nulls().head(1).to_list()):
        return None
    return FeatureColumns(nested=nested)


def _named(words: list[str], columns: Sequence[str]) -> FeatureColumns | None:
    if not words:
        return None
    if len(words) == 1 and words[0] in columns:
        return FeatureColumns(nested=words[0])
    by_arm = {arm: names for arm, names in _by_arm(columns).items() if words[0] in names}
    if not by_arm:
        raise LogError(
            f"features={words[0]!r} is neither a column nor the end of columns ARM.{words[0]}; "
            f"columns: {', '.join(columns)}"
        )
    for arm, names in by_arm.items():
        for word in words:
            if word not in names:
                raise LogError(f"the arm {arm!r} has no column {arm}.{word} for the feature {word!r}")
    return FeatureColumns(tuple(by_arm), tuple(words))


def _by_arm(columns: Sequence[str]) -> dict[str, list[str]]:
    """Names of features by arm, from columns `ARM.FEATURE`; an arm may have a dot in its name, a feature may not."""
    names: dict[str, list[str]] = {}
    for column in columns:
        arm, dot, name = column.rpartition(".")
        if dot and arm and name:
            names.setdefault(arm, []).append(name)
    return names


def read_features(where: FeatureColumns, table: "pl.DataFrame") -> ArmFeatures:
    """The features in the columns `features0`, `features1`, ... of a table."""
    if where.nested:
        return _of_cells(table["features0"].to_list(), where.nested)
    flat = [np.asarray(table[f"features{i}"].fill_null(np.nan).to_numpy()) for i in range(len(where.columns))]
    shape = len(table), len(where.arms), len(where.names)
    return ArmFeatures(where.arms, where.names, np.column_stack(flat).reshape(shape))


def _of_cells(cells: Sequence[object], column: str) -> ArmFeatures:
    """Features in nested cells; the first cell that can be read says which arms and features there are."""
    rows = [_by_name(cell) for cell in cells]
    first = next((row for row in rows if row), None)
    if first is None:
        raise LogError(f"column {column!r} has no features: a cell is {{ARM: [numbers]}} or a list of rows, in JSON")
    arms, names = tuple(first), tuple(next(iter(first.values())))
    wanted, values = set(names), np.full((len(rows), len(arms), len(names)), np.nan)
    for i, row in enumerate(rows):
        if row is not None and row.keys() == first.keys() and all(each.keys() == wanted for each in row.values()):
            values[i] = [[row[arm][name] for name in names] for arm in arms]
    return ArmFeatures(arms, names, values)


def _by_name(cell: object) -> dict[str, dict[str, float]] | None:
    """Numbers by arm and feature; None where a cell does not have them."""
    if isinstance(cell, str):
        try:
            cell = JSON.decode(cell)
        except msgspec.DecodeError:
            return None
    if isinstance(cell, list):
        cell = {str(place): row for place, row in enumerate(cell)}
    if not isinstance(cell, dict) or not cell:
        return None
    rows = {str(arm): _numbers(row) for arm, row in cell.items()}
    return {arm: row for arm, row in rows.items() if row} if all(rows.values()) else None


def _numbers(row: object) -> dict[str, float] | None:
    if isinstance(row, list):
        row = {f"feature{place}": value for place, value in enumerate(row)}
    if not isinstance(row, dict) or any(isinstance(each, bool | str) for each in row.values()):
        return None
    try:
        return {str(name): float(value) for name, value in row.items()}
    except (TypeError, ValueError):
        return None
