"""The export of a deployment of the service, told by its columns, as a log like any other.

Decisions that were cancelled, or that chose nothing, are left out; the context of a request and costs by name become
columns.
"""

import json
import os
import shlex
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from driftwise.core.extras import needed_for
from driftwise.display.text import agree, counted
from driftwise.errors import DriftwiseError, LogError, ParameterError
from driftwise.evaluate.columns import ColumnOptions
from driftwise.evaluate.reading import Scan

with needed_for("reading a log"):
    import polars as pl

if TYPE_CHECKING:
    from driftwise.evaluate.log import Log

CHUNK = 1 << 20
TIMEOUT_S = 300
KEYS = ("DRIFTWISE_KEY", "DRIFTWISE_TOKEN")  # variables of the environment
MARKS = ("decided_at", "action", "propensity", "status", "request")
DROPPED = ("cancelled", "nothing")
NESTED = ("action", "request", "costs")


def of_export(scan: Scan, options: ColumnOptions) -> tuple[Scan, ColumnOptions]:
    """A scan of an export with plain columns, and their names; any other scan as it is."""
    names = scan.lazy.collect_schema().names()
    if not all(mark in names for mark in MARKS):
        return scan, options
    outcomes = scan.lazy.filter(~pl.col("status").is_in(DROPPED).fill_null(False))
    frame = outcomes.collect(engine="streaming")
    counts = scan.lazy.filter(pl.col("status").is_in(DROPPED)).select(pl.len()).collect().item()
    notes = [*scan.notes, "read as the export of a deployment"]
    if counts:
        were, are = agree(counts, "was", "were"), agree(counts, "is", "are")
        notes.append(f"{counted(counts, 'decision')} that {were} cancelled or chose nothing {are} left out")
    if not len(frame):
        raise LogError(f"{scan.place} has no decision that chose an arm")
    frame = frame.with_columns(_action(frame["action"], scan.text))
    rows, costs, features = _context(frame["request"]), _costs(frame), _features(frame["request"])
    frame = frame.drop([name for name in ("request", "costs") if name in frame.columns])
    frame = frame.with_columns(*rows, *costs, *features)
    options = options._replace(
        time=options.time or "decided_at",
        action=options.action or "action",
        reward=options.reward or "reward",
        propensity=options.propensity or "propensity",
        unit=options.unit if options.unit is not None else ("" if frame["unit"].is_null().all() else "unit"),
        rewarded_at=options.rewarded_at or "outcome_at",
        context=options.context if options.context is not None else [each.name for each in rows],
        costs=options.costs if options.costs is not None else [each.name for each in costs],
        features=options.features if options.features is not None else [each.name for each in features],
    )
    return Scan(frame.lazy(), scan.text, scan.place, tuple(notes)), options


def frame_of(rows: Iterable[Mapping[str, object]]) -> "pl.DataFrame":
    """Rows of an export as a frame; what has parts is written as JSON, as in the files of an export."""
    plain = [
        {name: json.dumps(value) if isinstance(value, dict | list | tuple) else value for name, value in row.items()}
        for row in rows
    ]
    for row in plain:
        row["action"] = None if row.get("action") is None else str(row["action"])
    if not plain:
        raise LogError("the deployment has made no decisions")
    return pl.DataFrame(plain, infer_schema_length=None)


def log_of_service(url: str, deployment: str, key: str | None) -> "Log":
    """The decisions that a deployment has made so far; `key` is an API key or token, else that of the environment."""
    from driftwise.evaluate.log import Log

    if not url.startswith(("http://", "https://")):
        raise ParameterError(f"url={url} is not http://... or https://...")
    request = urllib.request.Request(
        f"{url.rstrip('/')}/v1/deployments/{urllib.parse.quote(deployment, '')}/log?format=jsonl"
    )
    if key := key or next(filter(None, map(os.environ.get, KEYS)), None):
        request.add_header("authorization", f"Bearer {key}")
    with tempfile.TemporaryDirectory(prefix="driftwise-") as folder:
        path = Path(folder) / "log.jsonl"
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer, path.open("wb") as file:
                while chunk := answer.read(CHUNK):
                    file.write(chunk)
        except urllib.error.HTTPError as error:
            hint = (
                "; give an API key that may read it, or put it into DRIFTWISE_KEY" if error.code in (401, 403) else ""
            )
            raise DriftwiseError(f"the service answered {error.code} for deployment {deployment!r}{hint}") from None
        except urllib.error.URLError as error:
            raise DriftwiseError(f"no answer from {url}: {error.reason}") from None
        if not path.stat().st_size:
            raise ParameterError(f"the deployment {deployment!r} has made no decisions")
        log = Log.read(path)
        log.name = shlex.join([f"--deployment={deployment}", f"--url={url}"])
        return log


def _action(column: "pl.Series", text: bool) -> "pl.Series":
    """Names of arms; a cell of a CSV that a spreadsheet would take for a formula is marked by an apostrophe."""
    if column.dtype == pl.List or (column.dtype == pl.String and column.str.starts_with("[").any()):
        raise LogError(
            "this deployment chooses several things at once, or points: only logs of single arms can be read"
        )
    names = column.cast(pl.String)
    return names.str.replace(r"^'([=+\-@\t\r])", "${1}") if text else names


def _context(column: "pl.Series") -> list["pl.Series"]:
    """The context of every request, a column per number, where all have one of the same length."""
    found = [_part(cell, "context") for cell in column]
    lengths = {len(each) if isinstance(each, list) else 0 for each in found}
    width = lengths.pop() if len(lengths) == 1 else 0
    return [pl.Series(f"context{i}", [each[i] for each in found], pl.Float64) for i in range(width)]  # type: ignore[index]


def _features(column: "pl.Series") -> list["pl.Series"]:
    """The rows of features that requests offer, in JSON, where all have some."""
    found = [_part(cell, "actions") for cell in column]
    return [pl.Series("features", [json.dumps(each) for each in found])] if all(found) else []


def _costs(frame: "pl.DataFrame") -> list["pl.Series"]:
    if "costs" not in frame.columns:
        return []
    found = [each if isinstance(each := _part(cell), dict) else {} for cell in frame["costs"]]
    names = sorted({name for each in found for name, value in each.items() if value is not None})
    return [pl.Series(f"cost {name}", [each.get(name, 0.0) for each in found], pl.Float64) for name in names]


def _part(cell: object, name: str | None = None) -> object:
    """A cell that is JSON or a mapping, or what it has under a name."""
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            return None
    if isinstance(cell, pl.Series):
        cell = cell.to_list()
    return cell if name is None else cell.get(name) if isinstance(cell, dict) else None
