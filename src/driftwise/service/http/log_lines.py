"""The log of the service: a JSON object a line."""

import json
import logging
import time
from typing import Any


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
