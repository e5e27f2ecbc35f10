"""Notes on what is probably wrong with the arms of a log: one arm written in two ways, or numbers that are no arms.

No row is ever moved.
"""

from collections.abc import Sequence

import numpy as np

from driftwise.core.types import Ints

MOST_NAMED = 3
MANY = 20  # arms; with more, each needs some rows
LEAST_ROWS = 10  # of most arms


def notes_on_arms(arms: Sequence[str], actions: Ints) -> list[str]:
    """What stands before all other notes of a log."""
    return [*_few_rows_notes(arms, actions), *spelling_notes(arms, actions)]


def _few_rows_notes(arms: Sequence[str], actions: Ints) -> list[str]:
    """A note where most of many arms have next to no rows."""
    rows = np.bincount(actions, minlength=len(arms))
    if len(arms) <= MANY or np.median(rows) >= LEAST_ROWS:
        return []
    count = (
        f"half of the {len(arms):,} arms have at most {int(np.median(rows))} {'row' if np.median(rows) < 2 else 'rows'}"
    )
    if all(isinstance(_key(name), float) for name in arms):
        return [
            f"{count}, and all are numbers: nothing learned of one arm is used for the next, so round the numbers to a "
            "few values in a column of their own, and name it (--action COLUMN, or action= in Python)"
        ]
    return [
        f"{count}, too few to tell arms apart: name a column of fewer values (--action COLUMN, or action= in Python)"
    ]


def spelling_notes(arms: Sequence[str], actions: Ints) -> list[str]:
    """A note where names differ only in case or spaces, or are one number.

    >>> spelling_notes(["A b", "a B", "c"], np.array([0, 0, 1, 2]))[0].split(", and")[0]
    "'A b' (2 rows) and 'a B' (1 row) differ in case only"
    """
    by_key: dict[object, list[int]] = {}
    for k, name in enumerate(arms):
        by_key.setdefault(_key(name), []).append(k)
    groups = [group for group in by_key.values() if len(group) > 1]
    if not groups:
        return []
    counts = np.bincount(actions, minlength=len(arms))
    pairs = "; ".join(
        _described([arms[k] for k in group], [int(counts[k]) for k in group]) for group in groups[:MOST_NAMED]
    )
    more = f"; and {len(groups) - MOST_NAMED:,} more" if len(groups) > MOST_NAMED else ""
    return [
        f"{pairs}{more}, and are different arms here: if they are one arm, write its name in one way and read the log "
        "again"
    ]


def _key(name: str) -> object:
    """What two spellings of a name share: its number, or its words in lower case."""
    try:
        return float(name)
    except ValueError:
        return " ".join(name.casefold().split())


def _described(names: Sequence[str], counts: Sequence[int]) -> str:
    quoted = [f"{name!r} ({n:,} {'row' if n == 1 else 'rows'})" for name, n in zip(names, counts, strict=True)]
    listed = f"{', '.join(quoted[:-1])} and {quoted[-1]}"
    if isinstance(_key(names[0]), float):
        return f"{listed} are equal as numbers"
    spaced, lower = {" ".join(name.split()) for name in names}, {name.casefold() for name in names}
    how = "spaces" if len(spaced) == 1 else "case" if len(lower) == 1 else "case and spaces"
    return f"{listed} differ in {how} only"
