"""One sentence for a kernel that numba cannot compile: which kernel, which line, and why in numba's own words.

With DRIFTWISE_DEBUG=1 in the environment, all that numba says.
"""

import os
import re
import threading
from typing import Any

from driftwise.errors import DriftwiseError, KernelError

_PLACE = re.compile(r'^File "(?P<file>[^"\n]*)", line (?P<line>\d+):\n(?P<text>.*?)\n *\^', re.MULTILINE | re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # where colorama is installed, numba paints its messages
_VERB = re.compile(r"resolving callee type: verb\((\w+)\)")
_OURS = ("core/loop.py", "checks/verb_calls.py")  # they call kernels; the mistake is not there
_WRAPPED = "Failed in nopython mode pipeline"
_MISSING = re.compile(r"No implementation of function|Resolution failure|_allocate\b")  # what allocation looks like
_METHOD = re.compile(r"BoundFunction\(\(.*, '(\w+)'\) for array")
_HINT = "; if it makes an array, also a temporary one as `a - b` and `.max()` do, write @kernel(allocates=True)"


class _Origin(threading.local):
    """The innermost kernel of this thread that did not compile: numba's errors are made anew at every level."""

    kernel: tuple[str, type, Any] | None = None


_ORIGIN = _Origin()


def mark(verb: str, subject: type, kernel: object) -> None:
    """Note in which kernel an error arose, unless one inside it has noted that already."""
    if _ORIGIN.kernel is None:
        _ORIGIN.kernel = verb, subject, kernel


class explained:  # noqa: N801  a context manager; one by a generator costs a microsecond more in every call of a kernel
    """Errors of the compiler leave this block as a `KernelError`; all others as they are."""

    def __enter__(self) -> None:
        """Nothing has gone wrong yet."""
        _ORIGIN.kernel = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        sentence = _kernel_error(error) if isinstance(error, Exception) else None
        if sentence is not None and os.environ.get("DRIFTWISE_DEBUG") != "1":
            raise sentence from None


def _kernel_error(error: Exception) -> KernelError | None:
    """What to raise instead of an error that came up while a kernel was compiled; None for any other error."""
    marked = _ORIGIN.kernel
    by_numba = marked is not None or hasattr(error, "add_context")  # its errors, without importing it
    if isinstance(error, DriftwiseError) or not by_numba:
        return None
    text = _COLOUR.sub("", str(error))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(_WRAPPED)]
    reason = lines[0].strip() if lines else type(error).__name__
    if reason.startswith("- Resolution failure") and (methods := _METHOD.findall(text)):
        reason = f"`.{methods[-1]}()` of an array cannot be compiled here"
    place = _PLACE.search(text)
    if place is not None and (marked is None or not place["file"].endswith(_OURS)):
        code = place["text"].strip().splitlines()[-1].strip()
        where = f"{place['file']}, line {place['line']}: {code}"
    elif marked is not None:
        function = marked[2].function
        where = f"in {function.__qualname__}, {function.__code__.co_filename}, line {function.__code__.co_firstlineno}"
    else:
        where = "no line is known"
    verb = _VERB.search(text)
    what = f"{marked[0]} of {marked[1].__name__}" if marked is not None else f"the kernel {verb[1] if verb else ''}"
    hint = _HINT if _MISSING.search(text) else ""
    return KernelError(f"{what.strip()} does not compile: {reason} ({where}){hint}")
