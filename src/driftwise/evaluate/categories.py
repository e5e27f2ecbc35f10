"""Context columns of text: each category becomes a column of 0 and 1."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.core.extras import needed_for
from driftwise.core.types import Floats
from driftwise.display.text import agree, counted
from driftwise.errors import LogError
from driftwise.evaluate.cells import BLANK, missing, number

with needed_for("reading a log"):
    import polars as pl

MOST_CATEGORIES = 100


class EncodedContext(NamedTuple):
    """The context as numbers, the names of its columns, and what was assumed."""

    matrix: Floats | None
    names: tuple[str, ...]
    notes: list[str]


def text_columns(head: "pl.DataFrame", names: Sequence[str], decimal_comma: bool) -> frozenset[str]:
    """Columns of which fewer than half of the cells that hold something, in the first rows, are numbers."""

    def is_text(name: str) -> bool:
        kind = head.schema[name]
        there = head.filter(~missing(name, kind))
        numbers = there.select(number(name, kind, decimal_comma)).to_series()
        return len(there) > 0 and 2 * numbers.null_count() > len(there)

    return frozenset(name for name in names if is_text(name))


def encode_context(
    table: "pl.DataFrame", names: Sequence[str], text: frozenset[str], *, guessed: bool
) -> EncodedContext:
    """The columns `context0`, `context1`, ... of a table, which stand for `names`.

    A column of too many categories is refused if the caller named it, and left out if it was guessed.
    """
    columns: list[Floats] = []
    labels: list[str] = []
    notes: list[str] = []
    for i, name in enumerate(names):
        cells = table[f"context{i}"]
        if name not in text:
            columns.append(np.asarray(cells.fill_null(np.nan).to_numpy(), np.float64))
            labels.append(name)
            continue
        cells = cells.cast(pl.String)
        cells = cells.set(cells.str.to_lowercase().is_in(BLANK), None)
        found = sorted(cells.drop_nulls().unique().to_list())
        if len(found) > MOST_CATEGORIES:
            problem = f"context {name!r} is text with {len(found):,} different values, more than {MOST_CATEGORIES}"
            if not guessed:
                raise LogError(f"{problem}: group the rare ones, or leave the column out")
            notes.append(f"{problem}: it is left out")
            continue
        columns += [np.asarray((cells == value).fill_null(False).to_numpy(), np.float64) for value in found]
        labels += [f"{name}={value}" for value in found]
        notes.append(_note(name, found, cells.null_count()))
    return EncodedContext(np.column_stack(columns) if columns else None, tuple(labels), notes)


def _note(name: str, found: Sequence[str], n_empty: int) -> str:
    few = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
    have = agree(n_empty, "has", "have")
    empty = f"; {counted(n_empty, 'row')} without one {have} 0 in all" if n_empty else ""
    return f"context {name!r} is text: a column of 0 and 1 for each of {len(found)} categories ({few}){empty}"
