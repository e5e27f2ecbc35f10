"""The log of a deployment, from its service over HTTP: its export in JSON lines."""

import os
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from driftwise.errors import DriftwiseError, ParameterError

if TYPE_CHECKING:
    from driftwise.evaluate.log import Log

CHUNK = 1 << 20
TIMEOUT_S = 300
KEYS = ("DRIFTWISE_KEY", "DRIFTWISE_TOKEN")  # variables of the environment


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
        return Log.read(path)
