"""What a row of transitions is believed to be: what it was seen to do, and what it borrows from rows that are like it.

    belief(s') = ( n(s') + w pooled(k) ) / ( n + w )        k: the place of s' among the states this row may lead to

n are the row's own counts. Rows of the same action that may lead to as many states are taken to be alike until they are
seen not to be: `pooled` is how often all of them together went to their first place, their second, and so on. A source
whose age grows or starts over, a ladder that is climbed or not: the chance is often the same from every state, and no
row sees enough of it alone. With w = 0 nothing is borrowed, and every place has half a count.
"""

from typing import Any

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats

HALF = 0.5  # of a count, where nothing is known: Krichevsky and Trofimov's


@kernel
def places_of(allowed: Floats) -> int:
    """How many states a row may lead to."""
    places = 0
    for state in range(len(allowed)):
        if allowed[state] > 0.0:
            places += 1
    return places


@kernel
def empty_pool(pool: Floats) -> None:
    """Half a count for every place."""
    for places in range(len(pool)):
        for k in range(pool.shape[1]):
            pool[places, k] = HALF


@kernel
def add_to_pool(pool: Floats, allowed: Floats, counts: Floats) -> None:
    """Add what a row was seen to do to the pool of rows with as many places."""
    places, k = places_of(allowed), 0
    for state in range(len(allowed)):
        if allowed[state] > 0.0:
            pool[places, k] += counts[state]
            k += 1


@kernel
def believed_row(pool: Floats, allowed: Floats, counts: Any, borrow: float, out: Floats) -> None:
    """Write what a row is believed to be when it borrows with weight `borrow`."""
    places, seen, total, k = places_of(allowed), 0.0, 0.0, 0
    for state in range(len(allowed)):
        seen += counts[state]
    for each in range(places):
        total += pool[places, each]
    for state in range(len(allowed)):
        out[state] = 0.0
        if allowed[state] > 0.0:
            extra = borrow * pool[places, k] / total if borrow > 0.0 else HALF
            out[state] = (counts[state] + extra) / (seen + (borrow if borrow > 0.0 else HALF * places))
            k += 1
