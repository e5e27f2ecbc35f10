"""Metrics in the text format of Prometheus, and the log: a JSON object a line."""

import json
import logging
import resource
import time
from collections.abc import Iterator, Sequence
from typing import Any

from driftwise.service.deployments.engine import Engine
from driftwise.service.http.middleware import BOUNDS, HttpMetrics


def metrics(engine: Engine, http: HttpMetrics, size: int | None) -> str:
    """All metrics; `size` is that of the store, if it is known."""
    return "\n".join([*_engine(engine, size), *_http(http), ""])


def _engine(engine: Engine, size: int | None) -> Iterator[str]:
    writer, entries = engine.writer, engine.catalogue.entries
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield from _metric("ready", "gauge", "1 when requests are served", [("", int(engine.ready))])
    yield from _metric("damaged", "gauge", "deployments whose journal is damaged", [("", len(engine.damaged_names))])
    yield from _metric("deployments", "gauge", "deployments, retired ones too", [("", len(entries))])
    yield from _metric("commits_total", "counter", "commits to the store", [("", writer.commits)])
    yield from _metric("commit_failures_total", "counter", "commits that failed", [("", writer.failures)])
    yield from _metric("events_total", "counter", "events committed", [("", writer.written)])
    yield from _metric("commits_waiting", "gauge", "requests that wait for a commit", [("", writer.waiting)])
    yield from _metric("store_bytes", "gauge", "bytes of the store", [] if size is None else [("", size)])
    yield from _metric("memory_peak_bytes", "gauge", "largest resident memory so far", [("", memory)])
    decided = [(f'deployment="{name}"', n) for (what, name), n in engine.counts.items() if what == "decided"]
    yield from _metric("decisions_total", "counter", "decisions made", decided)
    outcomes = [
        (f'deployment="{name}",status="{what}"', n)
        for (what, name), n in engine.counts.items()
        if name and what != "decided"
    ]
    yield from _metric("outcomes_total", "counter", "outcomes by status", outcomes)
    replayed = engine.counts["replayed", ""]
    yield from _metric(
        "replayed_total", "counter", "requests answered with a stored answer, by idempotency key", [("", replayed)]
    )
    pending = [(f'deployment="{name}"', len(each.live.pending)) for name, each in entries.items() if each.live]
    yield from _metric("pending", "gauge", "decisions without an outcome", pending)


def _http(http: HttpMetrics) -> Iterator[str]:
    answers = [(f'endpoint="{label}",status="{status}"', n) for (label, status), n in http.statuses.items()]
    yield from _metric("http_answers_total", "counter", "answers by endpoint and status", answers)
    yield "# HELP driftwise_http_seconds time to answer"
    yield "# TYPE driftwise_http_seconds histogram"
    for label, buckets in http.buckets.items():
        total = 0
        for bound, count in zip([*map(str, BOUNDS), "+Inf"], buckets, strict=True):
            total += count
            yield f'driftwise_http_seconds_bucket{{endpoint="{label}",le="{bound}"}} {total}'
        yield f'driftwise_http_seconds_sum{{endpoint="{label}"}} {http.sums[label]}'
        yield f'driftwise_http_seconds_count{{endpoint="{label}"}} {total}'


def _metric(name: str, kind: str, help: str, values: Sequence[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP driftwise_{name} {help}"
    yield f"# TYPE driftwise_{name} {kind}"
    for labels, value in values:
        yield f"driftwise_{name}{'{' + labels + '}' if labels else ''} {value}"


class Lines(logging.Formatter):
    """A JSON object a line: time, level, event, and facts."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {"logged_at": f"{when}.{int(record.msecs):03d}Z", "level": record.levelname.lower()}
        line |= {"event": record.getMessage()} | getattr(record, "facts", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps({key: value for key, value in line.items() if value is not None})


def log_to_stderr(level: str = "INFO") -> None:
    """Send the service's log, and its server's, to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    for name in ("driftwise.service", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level if name == "driftwise.service" else "WARNING")
