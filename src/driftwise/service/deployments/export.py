"""Export of the log of a deployment: a row per decision, with its propensity and its outcome."""

import asyncio
import csv
import io
import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from driftwise.core.extras import needed_for
from driftwise.service.deployments.clock import utc
from driftwise.service.http.schemas.requests import OutcomeFields
from driftwise.service.store.events import Cancelled, Decided, Erased, Learned, body_of
from driftwise.service.store.journal import DamagedError, Event, Journal

OUTCOME = sorted(OutcomeFields.__struct_fields__, key=lambda name: (name != "reward", name))
COLUMNS = (
    "id",
    "decided_at",
    "action",
    "propensity",
    "unit",
    "sticky",
    "override",
    "request",
    "status",
    "outcome_at",
    *OUTCOME,
)
MEDIA = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
ROWS = 500
CHUNK = 1 << 16


def rows(journal: Journal, stream: int, after: int, upto: int, end: int | None = None) -> Iterator[dict[str, Any]]:
    """A row per decision, in order; with `end`, without outcomes from that event on."""
    for event in journal.read(stream, after, upto):
        body = body_of(event)
        if isinstance(body, Erased):
            body = body.decided
            body.unit = None
        if not isinstance(body, Decided):
            continue
        row = {"id": event.number, "decided_at": utc(event.at), "action": body.action, "propensity": body.propensity}
        row |= {"unit": body.unit, "sticky": body.sticky, "override": body.override, "request": body.request or None}
        row["status"] = "pending"
        row |= {"outcome_at": None} | dict.fromkeys(OUTCOME)
        outcome = _outcome(journal, stream, event.number, end)
        if outcome is not None:
            result = body_of(outcome)
            row |= {"outcome_at": utc(outcome.at), "status": status_of(result)}
            row |= result.outcome if isinstance(result, Learned) else {}
        elif body.action is None:
            row["status"] = "nothing"
        yield row


def _outcome(journal: Journal, stream: int, id: int, end: int | None) -> Event | None:
    """The outcome of a decision; with `end`, None where it is that event or a later one, be it damaged."""
    try:
        outcome = journal.outcome(stream, id)
    except DamagedError as error:
        if end is None or error.event is None or error.event < end:
            raise
        return None
    return outcome if outcome is not None and (end is None or outcome.number < end) else None


def status_of(outcome: Learned | Cancelled) -> str:
    """The status of a decision that is settled."""
    if isinstance(outcome, Cancelled):
        return "cancelled"
    return "defaulted" if outcome.defaulted else outcome.status


def export(
    journal: Journal, stream: int, kind: str, after: int, upto: int, end: int | None = None
) -> AsyncIterator[bytes]:
    """The log in chunks of bytes."""
    source = rows(journal, stream, after, upto, end)
    if kind == "parquet":
        return file_chunks(lambda path: _parquet(source, path))
    return _chunks(_lines(source) if kind == "jsonl" else _csv(source))


async def _chunks(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Run an iterator in a thread, so that other requests go on."""
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


def _cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula; lists and mappings are JSON."""
    if isinstance(value, str) and value[:1] in "=+-@\t\r" and value:
        return "'" + value
    if isinstance(value, datetime):
        return msgspec.to_builtins(value)
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


def require_parquet() -> None:
    """Fail if the extra for Parquet is missing."""
    with needed_for("a Parquet file"):
        import pyarrow  # noqa: F401


def _parquet(source: Iterator[dict[str, Any]], path: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.float64()
    plain = ("propensity", "reward", "loss")
    times = dict.fromkeys(("decided_at", "outcome_at"), pa.timestamp("us", tz="UTC"))
    types = times | {"id": pa.int64(), "sticky": pa.bool_(), "override": pa.bool_()} | dict.fromkeys(plain, number)
    schema = pa.schema([(name, types.get(name, text)) for name in COLUMNS])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in _batches(source):
            for row in batch:
                for name in ("action", "request", *OUTCOME):
                    if name not in plain and row[name] is not None and not isinstance(row[name], str):
                        row[name] = json.dumps(row[name])
            writer.write_table(pa.Table.from_pylist(batch, schema))


async def file_chunks(make: Callable[[str], None]) -> AsyncIterator[bytes]:
    """The bytes of a temporary file."""
    handle, path = tempfile.mkstemp(prefix="driftwise-")
    os.close(handle)
    try:
        await asyncio.to_thread(make, path)
        with Path(path).open("rb") as file:
            while chunk := await asyncio.to_thread(file.read, CHUNK):
                yield chunk
    finally:
        Path(path).unlink(missing_ok=True)
