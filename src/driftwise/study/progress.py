"""How far a study is: a bar in notebooks and terminals, nothing anywhere else."""

import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from driftwise.display.text import counted
from driftwise.errors import ParameterError

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

EVERY = 0.25  # seconds between two pictures of a bar in a notebook, and before the first


class Progress:
    """Called by `run` as it proceeds; a subclass can display it. This one displays nothing."""

    def started(self, runs: int, rounds: int) -> None:
        """So many runs are missing, of so many rounds in all."""

    def compiled(self, pairs: int, of: int) -> None:
        """So many pairs of a world and a policy are compiled."""

    def played(self, rounds: int) -> None:
        """So many rounds more were played."""

    def cautioned(self, sentence: str) -> None:
        """A policy will not learn; this one warns."""
        warnings.warn(sentence, stacklevel=4)


class BarProgress(Progress):
    """A bar of rich for all studies: runs and rounds to be played, summed, and what is compiled before them."""

    def __init__(self, bar: "Bar") -> None:
        self.bar = bar
        self.runs = self.rounds = 0
        self.playing: TaskID | None = None
        self.compiling: TaskID | None = None

    def started(self, runs: int, rounds: int) -> None:
        self.runs, self.rounds = self.runs + runs, self.rounds + rounds
        if not self.runs:
            return
        if self.playing is None:
            self.playing = self.bar.add_task("playing")
        self.bar.update(self.playing, total=self.rounds, description=f"playing rounds of {counted(self.runs, 'run')}")

    def compiled(self, pairs: int, of: int) -> None:
        if self.compiling is None:
            self.compiling = self.bar.add_task("compiling (first time only)", total=of)
        self.bar.update(self.compiling, completed=pairs)
        if pairs == of:
            self.bar.remove_task(self.compiling)
            self.compiling = None

    def played(self, rounds: int) -> None:
        if self.playing is not None:
            self.bar.advance(self.playing, rounds)


class NotebookProgress(Progress):
    """A bar below the cell that runs, a few times a second; it goes away at the end."""

    def __init__(self) -> None:
        self.runs = self.rounds = self.done = 0
        self.next = time.monotonic() + EVERY
        self.lock = threading.Lock()
        self.cell: Context = copy_context()  # other threads do not know which cell they work for
        self.picture: Any = None

    def started(self, runs: int, rounds: int) -> None:
        self.runs, self.rounds = runs, rounds

    def compiled(self, pairs: int, of: int) -> None:
        self._show(pairs / of, f"compiling (first time only): {pairs} of {of}")

    def played(self, rounds: int) -> None:
        with self.lock:
            self.done += rounds
            self._show(self.done / max(1, self.rounds), f"playing {counted(self.runs, 'run')}")

    def close(self) -> None:
        """Take the bar away."""
        if self.picture is not None:
            self._draw("")

    def _show(self, share: float, text: str) -> None:
        from driftwise.display.html import bar

        if time.monotonic() >= self.next:
            self.next = time.monotonic() + EVERY
            self._draw(bar(share, text))

    def _draw(self, html: str) -> None:
        from IPython.display import display

        content = {"text/html": html, "text/plain": ""}
        if self.picture is None:
            self.picture = self.cell.run(display, content, raw=True, display_id=True)
        else:
            self.cell.run(self.picture.update, content, raw=True)


@contextmanager
def terminal_bar(*, transient: bool = False) -> "Iterator[Bar]":
    """A bar on standard error, with the time left; nothing where nothing is to be done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    class LazyBar(Bar):
        """Starts with its first task: at its end a bar without any would leave an empty line."""

        def add_task(self, *words: Any, **options: Any) -> "TaskID":
            self.start()
            return super().add_task(*words, **options)

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = LazyBar(*columns, console=Console(stderr=True), transient=transient)
    try:
        yield bar
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def displayed(progress: Progress | bool | None) -> Iterator[Progress]:
    """The progress of a caller; None is a bar where someone sees it, True a bar in any case, False none."""
    if isinstance(progress, Progress):
        yield progress
    elif progress not in (None, True, False):
        raise ParameterError(f"progress={progress!r} is not True, False, None or a Progress")
    elif progress is not False and in_notebook():
        notebook = NotebookProgress()
        try:
            yield notebook
        finally:
            notebook.close()
    elif progress or (progress is None and sys.stderr.isatty()):
        with terminal_bar(transient=True) as bar:
            yield BarProgress(bar)
    else:
        yield Progress()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
