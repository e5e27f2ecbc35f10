"""Tables as plain text, and numbers as people read them."""

import math
from collections.abc import Sequence

LONGEST_VALUE = 40  # characters of a collection that is shown in full


def text_table(rows: Sequence[Sequence[str]], *, left: int = 1, indent: str = "") -> str:
    """Columns two blanks apart; the first `left` ones start at the left, the others end at the right.

    >>> print(text_table([("arm", "count"), ("red", "4"), ("blue", "12")]))
    arm   count
    red       4
    blue     12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def short(text: str, longest: int = 24) -> str:
    """A text that fits."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def brief_value(value: object) -> str:
    """A parameter as text; of a long collection, such as a table of means, only its size.

    >>> brief_value((0.1, 0.2)), brief_value((0.5,) * 50), brief_value(((0.5,) * 5,) * 128), brief_value("gaussian")
    ('(0.1, 0.2)', '50 values', '128 × 5 values', 'gaussian')
    """
    text = str(value)
    if len(text) <= LONGEST_VALUE or not isinstance(value, tuple | list):
        return text
    widths = {len(row) if isinstance(row, tuple | list) else 0 for row in value}
    width = widths.pop() if len(widths) == 1 else 0
    return f"{len(value):,} × {width:,} values" if width else f"{len(value):,} values"


def number(value: float | None, digits: int = 4) -> str:
    """A few digits; a dash where there is no number.

    >>> number(1234567.0), number(0.123456), number(None), number(12.0)
    ('1,234,567', '0.1235', '-', '12')
    """
    if value is None or math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 and math.isfinite(value) else f"{value:.{digits}g}"


def plus_minus(mean: float | None, half: float) -> str:
    """An estimate and half the width of its interval, with as many digits as that justifies.

    >>> plus_minus(0.05234, 0.0041), plus_minus(1234.5, 87.0), plus_minus(3.0, float("nan")), plus_minus(None, 0.0)
    ('0.0523 ± 0.0041', '1,234 ± 87', '3', '-')
    """
    if mean is None or math.isnan(mean):
        return "-"
    if not 0.0 < half < math.inf:
        return number(mean)
    digits = max(0, 1 - math.floor(math.log10(half)))
    return f"{mean:,.{digits}f} ± {half:,.{digits}f}"


def counted(count: int, thing: str) -> str:
    """`1 arm`, `3,000 arms`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def agree(count: int, one: str, many: str) -> str:
    """The form of a verb after a count, as in `1 row is`, `2 rows are`."""
    return one if count == 1 else many
