"""What linear policies say of the rows they are shown (`core/summary.py`).

The count of a row x is how many rewards of x itself would teach as much: what is known of <x, theta> is
1 / (x' V^-1 x), before the first reward it was 1 / (x' V_0^-1 x) with V_0 = lambda I, and every reward of x adds one.
Where rows are arms, the count is that of their rewards, discounted where they fade. What is under way narrows the
interval as it narrows what `select` works with, and adds nothing to the count.
"""

import math

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary, clear_summary, put_interval
from driftwise.core.types import Floats
from driftwise.families.contextual.fading_ridge import FadingRidge, faded_width, settle, with_prior
from driftwise.families.contextual.linear_draw import apply_matrix
from driftwise.families.contextual.pending_rows import PendingRows, any_pending, narrow
from driftwise.numerics.quadratic_forms import LANES, measure_rows
from driftwise.numerics.ridge import Ridge, dot, invert, solve


@kernel
def rewards_worth(square: float, before: float) -> float:
    """The count of a row with x' V^-1 x = `square`, which was `before` when nothing was known; nan for a row of 0."""
    return max(0.0, 1.0 / square - 1.0 / before) if square > 0.0 else math.nan


@kernel(inline=False)
def summarise_rows(
    out: Summary, ridge: Ridge, pending: PendingRows, context: Floats, radius: float, optimistic: bool
) -> None:
    """Rows with the interval <x, theta> -+ radius sqrt(x' C x); `optimistic` policies rank by its upper end."""
    clear_summary(out)
    solve(ridge)
    _count_rows(out, ridge, context)
    covariance = ridge.inverse
    if any_pending(pending):
        narrow(pending, ridge)
        covariance = pending.covariance
    forms = ridge.forms
    for first in range(0, len(context), LANES):
        number = min(LANES, len(context) - first)
        measure_rows(forms, covariance, ridge.theta, context, first, number)
        for lane in range(number):
            put_row(out, first + lane, forms.means[lane], radius * math.sqrt(max(0.0, forms.squares[lane])), optimistic)


@kernel
def _count_rows(out: Summary, ridge: Ridge, context: Floats) -> None:
    forms = ridge.forms
    for first in range(0, len(context), LANES):
        number = min(LANES, len(context) - first)
        measure_rows(forms, ridge.inverse, ridge.theta, context, first, number)
        for lane in range(number):
            x = context[first + lane]
            out.count[first + lane] = rewards_worth(forms.squares[lane], dot(x, x) / ridge.prior[0])


@kernel
def put_row(out: Summary, row: int, mean: float, reach: float, optimistic: bool) -> None:
    """Write the estimate of a row and its interval."""
    put_interval(out, row, mean, mean - reach, mean + reach)
    if optimistic:
        out.index[row] = mean + reach


@kernel(inline=False)
def summarise_faded_rows(
    out: Summary,
    ridge: FadingRidge,
    pending: PendingRows,
    prior: float,
    context: Floats,
    radius: float,
    optimistic: bool,
) -> None:
    """The same where pairs fade."""
    clear_summary(out)
    with_prior(ridge.pairs, prior, ridge.gram)
    invert(ridge.gram, ridge.factor, ridge.inverse)
    for row in range(len(context)):
        x = context[row]
        apply_matrix(ridge.inverse, x, ridge.image)
        out.count[row] = rewards_worth(dot(x, ridge.image), dot(x, x) / prior)
    settle(ridge, pending, prior)
    for row in range(len(context)):
        x = context[row]
        put_row(out, row, dot(x, ridge.theta), radius * faded_width(ridge, x), optimistic)
