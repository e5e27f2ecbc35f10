"""The log of a deployment, to take away: a row per decision, with its propensity and what came of it."""

import asyncio
import csv
import io
import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from driftwise.core.extras import needed_for
from driftwise.service.http.schemas.requests import Told
from driftwise.service.store.events import Learned, body_of
from driftwise.service.store.journal import Journal

OUTCOME = tuple(name for name in Told.__struct_fields__ if name != "id")
COLUMNS = ("id", "at", "action", "propensity", "unit", "sticky", "override", "asked", "status", "outcome_at", *OUTCOME)
MEDIA = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
ROWS = 500
CHUNK = 1 << 16


def rows(journal: Journal, stream: int, after: int, upto: int, end: int | None = None) -> Iterator[dict[str, Any]]:
    """A row per decision, in order; with `end`, as things stood before that event."""
    for event in journal.read(stream, after, upto):
        if event.kind != "decided":
            continue
        body = body_of(event)
        row = {"id": event.number, "at": event.at / 1e6, "action": body.action, "propensity": body.propensity}
        row |= {"unit": body.unit, "sticky": body.sticky, "override": body.override, "asked": body.asked or None}
        row["status"] = "waiting"
        row |= {"outcome_at": None} | dict.fromkeys(OUTCOME)
        outcome = journal.outcome(stream, event.number)
        if outcome is not None and (end is None or outcome.number < end):
            told = body_of(outcome)
            row["outcome_at"] = outcome.at / 1e6
            if isinstance(told, Learned):
                row |= told.told | {"status": "defaulted" if told.defaulted else told.status}
            else:
                row["status"] = "cancelled"
        elif body.action is None:
            row["status"] = "nothing"
        yield row


def export(
    journal: Journal, stream: int, kind: str, after: int, upto: int, end: int | None = None
) -> AsyncIterator[bytes]:
    """The log as bytes, a chunk at a time."""
    source = rows(journal, stream, after, upto, end)
    if kind == "parquet":
        return from_file(lambda path: _parquet(source, path))
    return _chunks(_lines(source) if kind == "jsonl" else _csv(source))


async def _chunks(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Made in a thread, so that other requests go on."""
    while True:
        piece = await asyncio.to_thread(next, pieces, None)
        if piece is None:
            return
        yield piece


def _lines(source: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    for batch in _batches(source):
        yield b"".join(msgspec.json.encode(row) + b"\n" for row in batch)


def _csv(source: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    head = True
    for batch in _batches(source):
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS)
        if head:
            writer.writeheader()
            head = False
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in batch)
        yield text.getvalue().encode()
    if head:
        yield (",".join(COLUMNS) + "\r\n").encode()


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; what is no plain number or text is JSON."""
    if isinstance(value, str) and value[:1] in "=+-@\t\r" and value:
        return "'" + value
    return json.dumps(value) if isinstance(value, list | dict) else value


def _batches(source: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in source:
        batch.append(row)
        if len(batch) == ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def need_parquet() -> None:
    """Say that the extra is missing."""
    with needed_for("a Parquet file"):
        import pyarrow  # noqa: F401


def _parquet(source: Iterator[dict[str, Any]], path: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.float64()
    plain = ("at", "propensity", "outcome_at", "reward", "loss")
    types = {"id": pa.int64(), "sticky": pa.bool_(), "override": pa.bool_()} | dict.fromkeys(plain, number)
    schema = pa.schema([(name, types.get(name, text)) for name in COLUMNS])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in _batches(source):
            for row in batch:
                for name in ("action", "asked", *OUTCOME):
                    if name not in plain and row[name] is not None and not isinstance(row[name], str):
                        row[name] = json.dumps(row[name])
            writer.write_table(pa.Table.from_pylist(batch, schema))


async def from_file(make: Callable[[str], None]) -> AsyncIterator[bytes]:
    """The bytes of a file that is made for this and goes away."""
    handle, path = tempfile.mkstemp(prefix="driftwise-")
    os.close(handle)
    try:
        await asyncio.to_thread(make, path)
        with Path(path).open("rb") as file:
            while chunk := await asyncio.to_thread(file.read, CHUNK):
                yield chunk
    finally:
        Path(path).unlink(missing_ok=True)
