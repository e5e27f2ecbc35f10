"""One sentence for a kernel that numba cannot compile: which kernel, which line, and why in numba's own words.

With DRIFTWISE_DEBUG=1 in the environment, all that numba says.
"""

import linecache
import os
import re
import threading
from typing import Any

from driftwise.errors import DriftwiseError, KernelError

_PLACE = re.compile(r'^File "(?P<file>[^"\n]*)", line (?P<line>\d+):\n(?P<text>.*?)\n *\^', re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"During: .* at (?P<file>.+) \((?P<line>\d+)\)$", re.MULTILINE)
_NUMBAS = re.compile(r"[\\/]numba[\\/]")  # in the path of its own files
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # where colorama is installed, numba paints its messages
_VERB = re.compile(r"resolving callee type: verb\((\w+)\)")
_OURS = ("core/loop.py", "checks/verb_calls.py")  # they call kernels; the mistake is not there
_WRAPPED = "Failed in nopython mode pipeline"
_MISSING = re.compile(
    r"No implementation of function|Resolution failure|NRT required|_allocate\b"
)  # what allocation looks like
_METHOD = re.compile(r"BoundFunction\(\(.*, '(\w+)'\) for array")
_HINT = "; if it makes an array, as also `a - b` and `.max()` do for a moment, write @dx.kernel(allocates=True)"


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
    if reason.startswith("- Resolution failure"):
        methods = _METHOD.findall(text)
        reason = f"`.{methods[-1]}()` of an array cannot be compiled here" if methods else lines[1].strip()
    reason = reason.removesuffix(" found for signature:")
    if "_allocate" in text or reason.startswith("NRT required"):
        reason = "an array or a list is made here"
    where = _place_in(text, own_only=marked is not None)
    if not where and marked is not None:
        function = marked[2].function
        where = f"in {function.__qualname__}, {function.__code__.co_filename}, line {function.__code__.co_firstlineno}"
    verb = _VERB.search(text)
    what = f"{marked[0]} of {marked[1].__name__}" if marked is not None else f"the kernel {verb[1] if verb else ''}"
    hint = _HINT if _MISSING.search(text) else ""
    return KernelError(f"{what.strip()} does not compile: {reason} ({where or 'no line is known'}){hint}")


def _place_in(text: str, *, own_only: bool) -> str:
    """The innermost line of code that numba names and that is not its own; with `own_only`, nor that of a caller."""

    def counts(file: str) -> bool:
        return not _NUMBAS.search(file) and not (own_only and file.endswith(_OURS))

    for place in _PLACE.finditer(text):
        if counts(place["file"]):
            return f"{place['file']}, line {place['line']}: {place['text'].strip().splitlines()[-1].strip()}"
    for step in _STEP.finditer(text) if _PLACE.search(text) else ():
        if counts(step["file"]):
            code = linecache.getline(step["file"], int(step["line"])).strip()
            return f"{step['file']}, line {step['line']}: {code}"
    return ""
