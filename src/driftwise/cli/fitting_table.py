"""A table of policies that fits its terminal.

Names come first: in a narrow terminal they break after `:` and `,`, then columns are left out, in an order that the
table has, and the caption says which. Only where nothing else is left does a name break inside a word.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


class TableColumn(NamedTuple):
    """Columns are left out in the order of `drop`, 0 stays. Titles may have several lines; `note` joins the caption."""

    title: str
    cells: Sequence[str]
    drop: int = 0
    left: bool = False
    note: str = ""


def print_table(
    names: Sequence[str], columns: Sequence[TableColumn], *, title: str, caption: str, frame: box.Box
) -> None:
    """A row per name, with as many of the columns as the terminal has room for."""
    console = Console()
    order = sorted((column for column in columns if column.drop), key=lambda column: column.drop)
    for n_dropped in range(len(order) + 1):
        kept = [column for column in columns if column not in order[:n_dropped]]
        room = max(map(len, names)) - max(0, _width(_table(names, kept, frame)) - console.width)
        lines = [break_name(name, room) for name in names]
        if max(len(line) for name in lines for line in name.split("\n")) <= room:
            break
    table = _table(lines, kept, frame)
    left_out = ", ".join(column.title.replace("\n", " ") for column in order[:n_dropped])
    table.title = title
    table.caption = "; ".join([caption, *(column.note for column in kept if column.note)])
    table.caption += f"\nno room for: {left_out}" if left_out else ""
    console.print(table)


def break_name(name: str, width: int) -> str:
    """A name in lines that end after `:` or `,`, each as long as fits into `width`.

    >>> break_name("sliding-ucb:window=1024,xi=0.6", 20).split(chr(10))
    ['sliding-ucb:', 'window=1024,xi=0.6']
    """
    lines = [""]
    for part in re.findall(r"[^:,]+[:,]*|[:,]+", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _table(names: Sequence[str], columns: Sequence[TableColumn], frame: box.Box) -> Table:
    table = Table(box=frame)
    table.add_column("policy", overflow="fold")
    for column in columns:
        table.add_column(column.title, justify="left" if column.left else "right", no_wrap=True)
    for name, *cells in zip(names, *(column.cells for column in columns), strict=True):
        table.add_row(Text(name), *cells)  # brackets in a name are no markup
    return table


def _width(table: Table) -> int:
    """Columns of a terminal that a table takes where there is room enough."""
    return Console(width=10_000).measure(table).maximum
