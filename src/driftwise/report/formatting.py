"""Numbers as a reader wants them: to two digits of their doubt, with thousands and a true minus."""

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from driftwise.measure.summary import Difference, Estimate


def spread(given: Estimate) -> str:
    """A mean with its interval, to two digits of the interval.

    >>> spread(Estimate(mean=1234.567, ci95=8.91))
    '1,234.6 ± 8.9'
    """
    if math.isnan(given.ci95):
        return brief(given.mean)
    places = _decimals(given.ci95 or given.mean / 10)
    return f"{_written(given.mean, places)} ± {_written(given.ci95, places)}"


def percent(given: Estimate) -> str:
    """A share with its interval, in percent.

    >>> percent(Estimate(mean=0.825, ci95=0.031))
    '82.5 ± 3.1'
    """
    half = "" if math.isnan(given.ci95) else f" ± {100 * given.ci95:.1f}"
    return f"{100 * given.mean:.1f}{half}"


def interval(given: Difference, *, form: str = "{} [{}, {}]") -> str:
    """A difference with its interval, to two digits of half its width.

    >>> interval(Difference(mean=-120.4, low=-160.2, high=-80.1))
    '−120 [−160, −80]'
    """
    if math.isinf(given.high - given.low):  # too few runs to say anything of the interval
        return brief(given.mean)
    places = _decimals((given.high - given.low) / 2 or given.mean / 100)
    return form.format(*(_written(value, places) for value in given))


def count(value: float) -> str:
    """A whole number with its thousands."""
    return _written(value, 0)


def brief(value: float) -> str:
    """A lone number, to three digits or the whole."""
    return _written(value, _decimals(value / 10))


def listed(names: Sequence[str], word: str) -> Markup:
    """`a`, `a or b`, `a, b or c`."""
    *most, last = [*map(escape, names)] or [Markup("")]
    return Markup(" {} ").format(word).join([Markup(", ").join(most), last]) if most else last


def _decimals(size: float) -> int:
    """Places after the point that show two digits of `size`."""
    return 0 if size == 0.0 else max(0, min(3, 1 - math.floor(math.log10(abs(size)))))


def _written(value: float, places: int) -> str:
    text = f"{value:,.{places}f}"
    return text.replace("-", "−") if any(digit in text for digit in "123456789") else text.lstrip("-")
