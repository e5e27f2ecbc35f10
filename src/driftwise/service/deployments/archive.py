"""The archive: Parquet files of events that a retention has dropped from the store, in a folder per deployment.

    FOLDER/shop.7/000000000000.parquet      events from number 0 on, of the deployment in stream 7

A file is written as a whole before its events are dropped. When the service stops in between, the next file begins at
the same number and takes its place. Bodies are JSON, so that any tool can read them.
"""

import os
import tempfile
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from driftwise.core.extras import needed_for
from driftwise.errors import ParameterError
from driftwise.service.deployments.clock import utc
from driftwise.service.store.events import Erased, body_of
from driftwise.service.store.journal import Event

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 5_000  # in a row group
UNFINISHED = ".unfinished"


def check_folder(folder: Path) -> Path:
    """Refuse a folder that cannot be written to, or a missing extra, before anything depends on it."""
    with needed_for("an archive"):
        import pyarrow.parquet  # noqa: F401
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ParameterError(f"archive={folder} cannot be written to: {error.strerror}") from None
    return folder


def folder_of(archive: Path, name: str, stream: int) -> Path:
    """The folder of a deployment."""
    return archive / f"{name}.{stream}"


def write_events(archive: Path, name: str, stream: int, first: int, events: Iterable[Event]) -> Path:
    """Write events to a file, as a whole or not at all."""
    folder = folder_of(archive, name, stream)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{first:012}.parquet"
    rows = map(_row, events)
    _write(path, iter(lambda: list(islice(rows, ROWS)), []))
    return path


def _row(event: Event) -> dict[str, Any]:
    body = body_of(event)
    kind, content = ("decided", body.decided) if isinstance(body, Erased) else (event.kind, body)
    fields = {name: getattr(content, name) for name in content.__struct_fields__}
    ref = event.ref if event.ref >= 0 else None
    return {"number": event.number, "at": utc(event.at), "kind": kind, "ref": ref, "body": _json(fields)}


def _json(fields: dict[str, Any]) -> str:
    return msgspec.json.encode(fields).decode()


def _schema() -> "pa.Schema":
    import pyarrow as pa

    types = {"number": pa.int64(), "at": pa.timestamp("us", tz="UTC"), "kind": pa.string(), "ref": pa.int64()}
    return pa.schema([*types.items(), ("body", pa.string())])


def _write(path: Path, groups: Iterable[list[dict[str, Any]]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for part in path.parent.glob(f"*{UNFINISHED}"):  # the service was killed while it wrote
        part.unlink()
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=UNFINISHED, delete=False) as file:
        try:
            with pq.ParquetWriter(file, _schema(), compression="zstd") as writer:
                for rows in groups:
                    writer.write_table(pa.Table.from_pylist(rows, _schema()))
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def erase_unit(archive: Path, name: str, stream: int, unit: str, pseudonym: str) -> int:
    """Replace the name of a unit and drop its contexts in all files of a deployment; returns how many decisions."""
    import pyarrow.parquet as pq

    count = 0
    for path in sorted(folder_of(archive, name, stream).glob("*.parquet")):
        rows = pq.read_table(path).to_pylist()
        matches = 0
        for row in rows:
            body = msgspec.json.decode(row["body"])
            if row["kind"] == "decided" and body["unit"] == unit:
                row["body"] = _json(body | {"unit": pseudonym, "request": {}})
                matches += 1
        if matches:
            _write(path, [rows])
        count += matches
    return count
