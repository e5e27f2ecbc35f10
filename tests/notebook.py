"""A notebook for tests: cells run one after the other in a module without a file, as IPython runs them."""

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import ModuleType
from typing import Any

_NUMBERS = count(1)


class Notebook:
    """Cells share a namespace; each has a file name of its own, under which `inspect` finds its text."""

    def __init__(self, name: str) -> None:
        self.module = ModuleType(name)

    def run(self, cell: str) -> None:
        """Run a cell, new or again."""
        filename = f"<cell {next(_NUMBERS)}>"
        linecache.cache[filename] = len(cell), None, cell.splitlines(keepends=True), filename
        exec(compile(cell, filename, "exec"), vars(self.module))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


@contextmanager
def notebook(name: str) -> Iterator[Notebook]:
    """A notebook whose module can be found by its name while it is open."""
    opened = Notebook(name)
    sys.modules[name] = opened.module
    try:
        yield opened
    finally:
        del sys.modules[name]
