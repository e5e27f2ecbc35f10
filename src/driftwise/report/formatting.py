"""Numbers as a reader wants them: to two digits of their doubt, with thousands and a true minus."""

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from driftwise.measure.summary import Difference, Estimate


def spread(estimate: Estimate) -> str:
    """A mean with its interval, to two digits of the interval.

    >>> spread(Estimate(mean=1234.567, ci95=8.91))
    '1,234.6 ± 8.9'
    """
    if math.isnan(estimate.ci95):
        return brief(estimate.mean)
    places = _decimals(estimate.ci95 or estimate.mean / 10)
    return f"{_fixed(estimate.mean, places)} ± {_fixed(estimate.ci95, places)}"


def percent(estimate: Estimate) -> str:
    """A share with its interval, in percent.

    >>> percent(Estimate(mean=0.825, ci95=0.031))
    '82.5 ± 3.1'
    """
    half = "" if math.isnan(estimate.ci95) else f" ± {100 * estimate.ci95:.1f}"
    return f"{100 * estimate.mean:.1f}{half}"


def interval(difference: Difference, *, form: str = "{} [{}, {}]") -> str:
    """A difference with its interval, to two digits of half its width.

    >>> interval(Difference(mean=-120.4, low=-160.2, high=-80.1))
    '−120 [−160, −80]'
    """
    if math.isinf(difference.high - difference.low):  # too few runs to say anything of the interval
        return brief(difference.mean)
    places = _decimals((difference.high - difference.low) / 2 or difference.mean / 100)
    return form.format(*(_fixed(value, places) for value in difference))


def count(value: float) -> str:
    """A whole number with its thousands."""
    return _fixed(value, 0)


def brief(value: float) -> str:
    """A lone number, to three digits or the whole."""
    return _fixed(value, _decimals(value / 10))


def listed(names: Sequence[str], word: str) -> Markup:
    """`a`, `a or b`, `a, b or c`."""
    *most, last = [*map(escape, names)] or [Markup("")]
    return Markup(" {} ").format(word).join([Markup(", ").join(most), last]) if most else last


def _decimals(size: float) -> int:
    """Places after the point that show two digits of `size`."""
    return 0 if size == 0.0 else max(0, min(3, 1 - math.floor(math.log10(abs(size)))))


def _fixed(value: float, places: int) -> str:
    text = f"{value:,.{places}f}"
    return text.replace("-", "−") if any(digit in text for digit in "123456789") else text.lstrip("-")
