"""Pieces of HTML for notebooks: no script and no style sheet, so that they look the same wherever they are stored.

Ink and ground are those of the page around them, in light and in dark: nothing but lines of data has a colour.
"""

from collections.abc import Sequence
from html import escape

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
LINE = "1px solid rgba(127, 127, 127, 0.35)"
CELL = "padding: 0.2em 0.9em 0.2em 0; border: none; vertical-align: middle; white-space: nowrap; background: none;"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def safe(text: object) -> str:
    """Text as HTML; what is HTML already stays as it is."""
    return text if isinstance(text, Markup) else escape(str(text))


def table(head: Sequence[str], rows: Sequence[Sequence[object]], *, left: int = 1) -> Markup:
    """A table; the first `left` columns start at the left, numbers end at the right.

    >>> "<td" in table(["arm"], [["<b>"]]) and "<b>" not in table(["arm"], [["<b>"]])
    True
    """
    sides = ["left" if place < left else "right" for place in range(len(head))]
    top = "".join(
        f'<th style="{CELL} text-align: {side}; font-weight: 600; border-bottom: {LINE};">{safe(name)}</th>'
        for name, side in zip(head, sides, strict=True)
    )
    body = "".join(
        "<tr style='background: none;'>"
        + "".join(
            f'<td style="{CELL} text-align: {side}; font-variant-numeric: tabular-nums;">{safe(cell)}</td>'
            for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    style = "border-collapse: collapse; border: none; font-size: 0.92em; margin: 0.3em 0; width: auto; display: table;"
    return Markup(f'<table style="{style}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>')


def card(title: str, *parts: str, subtitle: str = "") -> str:
    """A title, what stands beside it, and parts below."""
    beside = f' <span style="opacity: 0.7;">{safe(subtitle)}</span>' if subtitle else ""
    top = f'<div style="margin-bottom: 0.2em;"><b>{safe(title)}</b>{beside}</div>'
    box = f"font-family: {FONTS}; line-height: 1.4; max-width: 60em; overflow-x: auto;"
    return f'<div style="{escape(box)}">{top}{"".join(parts)}</div>'


def sentences(texts: Sequence[str]) -> Markup:
    """A line each, quieter than the rest."""
    lines = "".join(
        f'<div style="opacity: 0.75; font-size: 0.9em; max-width: 50em;">{safe(each)}</div>' for each in texts
    )
    return Markup(lines)


def code(text: str) -> Markup:
    """A line to copy."""
    style = "background: rgba(127, 127, 127, 0.14); padding: 0.1em 0.4em; border-radius: 3px; color: inherit;"
    return Markup(f'<code style="{style}">{escape(text)}</code>')


def bar(share: float, text: str) -> str:
    """A bar of progress, from 0 to 1, and a text beside it."""
    whole = (
        "display: inline-block; width: 14em; height: 0.5em; border-radius: 3px; background: rgba(127, 127, 127, 0.25);"
    )
    width = min(1.0, max(0.0, share))
    part = f"display: block; width: {width:.1%}; height: 100%; border-radius: 3px; background: #0072b2;"
    return (
        f'<div style="{escape(f"font-family: {FONTS}; font-size: 0.9em;")}"><span style="{whole}">'
        f'<span style="{part}"></span></span>&nbsp; {safe(text)}</div>'
    )
