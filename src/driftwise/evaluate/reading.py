"""Files of a log as lazy frames: CSV, JSON lines, JSON and Parquet, told apart by their first bytes."""

import gzip
from pathlib import Path
from typing import NamedTuple

from driftwise.core.extras import needed_for
from driftwise.errors import LogError

with needed_for("reading a log"):
    import polars as pl

HEAD = 1000  # rows by which columns are guessed
SEPARATORS = ",;\t|"
STRANGERS = {
    b"SQLite format 3": "an SQLite database; the store of a service is read with its deployment's name",
    b"PK\x03\x04": "a zip archive or an Excel file; export it as CSV",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old Excel file; export it as CSV",
    b"ARROW1": "an Arrow file; read it as a frame and use Log.from_frame",
    b"<": "a web page or XML",
}
KINDS = "a log is CSV, JSON lines or Parquet"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Scan(NamedTuple):
    """A lazy frame, its place in words, and what was assumed. In `text` all columns are as written.

    `first_line` is the line of the file that has the first row; 0 where a file, or a frame, has no lines.
    """

    lazy: "pl.LazyFrame"
    text: bool
    place: str
    notes: tuple[str, ...] = ()
    decimal_comma: bool = False
    first_line: int = 0


def scan_file(path: str | Path) -> Scan:
    """The rows of a file, none of them read yet."""
    path = Path(path)
    start = _first_bytes(path)
    if start.startswith(b"PAR1"):
        return Scan(pl.scan_parquet(path), False, path.name)
    for bytes_, words in STRANGERS.items():
        if start.startswith(bytes_):
            raise LogError(f"{path.name} is {words}: {KINDS}")
    if start.startswith(UTF_16):
        raise LogError(not_utf8(path.name, "utf-16"))
    if b"\x00" in start:
        raise LogError(f"{path.name} is neither text nor Parquet: {KINDS}")
    try:
        text = start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(start) - 4:  # a character may be cut in two at the end
            raise LogError(not_utf8(path.name)) from None
        text = start[: error.start].decode("utf-8-sig")
    mark = text.lstrip()[:1]
    if mark == "{":
        return Scan(pl.scan_ndjson(path, infer_schema_length=None, ignore_errors=True), False, path.name, first_line=1)
    if mark == "[":
        return Scan(_json(path), False, path.name)
    lines = text.splitlines()
    header = next(place for place, line in enumerate(lines) if line)
    return _csv(path, lines[header])._replace(first_line=header + 2)


def _first_bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise LogError(f"{path} is a folder: {KINDS}")
        with path.open("rb") as file:
            start = file.read(1 << 16)
        if start.startswith(b"\x1f\x8b"):
            with gzip.open(path) as packed:
                start = packed.read(1 << 16)
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror or error}") from None
    except EOFError:
        raise LogError(f"{path} cannot be read: it is a gzip file that ends too early") from None
    if not start.strip():
        raise LogError(f"{path.name} is empty: {KINDS}")
    return start


def _json(path: Path) -> "pl.LazyFrame":
    try:
        return pl.read_json(path, infer_schema_length=None).lazy()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise LogError(f"{path.name} is not a JSON list of rows: {first_line(error)}") from None


def _csv(path: Path, header: str) -> Scan:
    """Columns as text: what a cell means is decided later, when a bad one can be quoted."""
    separator = max(SEPARATORS, key=header.count)
    if separator not in header:
        raise LogError(f"{path.name} has one column, {header[:60]!r}: {KINDS} with at least an action and a reward")
    notes = () if separator == "," else (f"{path.name} is split at {separator!r}",)
    lazy = pl.scan_csv(path, separator=separator, infer_schema=False, truncate_ragged_lines=True)
    return Scan(lazy, True, path.name, notes, separator == ";")


def not_utf8(name: str, encoding: str = "cp1252") -> str:
    """What to do with a file in another encoding; Excel writes that of Windows where nobody asks for UTF-8."""
    return (
        f"{name} is not text in UTF-8: save it in Excel as 'CSV UTF-8', or convert it, if it is in "
        f"{encoding}: iconv -f {encoding} -t utf-8 FILE > NEW"
    )


def unreadable(place: str, error: Exception) -> LogError:
    """What Polars says of a file, in a sentence."""
    words = first_line(error)
    return LogError(not_utf8(place) if "utf-8" in words.lower() else f"{place} cannot be read: {words}")


def first_line(error: Exception) -> str:
    """The first line of what Polars says."""
    return (str(error).splitlines() or [""])[0][:200]
