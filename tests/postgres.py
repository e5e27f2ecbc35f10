"""A PostgreSQL server of one's own, from the binaries that are installed, in a folder that goes away."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def binary(name: str) -> str | None:
    """Where a program of PostgreSQL is."""
    return next((str(folder / name) for folder in FOLDERS if (folder / name).exists()), None) or shutil.which(name)


def missing() -> str:
    """Why there can be no server here; empty when there can."""
    if not (binary("initdb") and binary("postgres")):
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    if os.getuid() == 0 and not shutil.which("runuser"):
        return "PostgreSQL will not run as root, and there is no runuser"
    return ""


@contextmanager
def server() -> Iterator[str]:
    """A running server; the URL of its database. It listens on a socket in its folder only."""
    with tempfile.TemporaryDirectory(prefix="dw-pg-", dir="/tmp") as name:
        folder = Path(name)
        become: list[str] = []
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            become = ["runuser", "-u", "nobody", "--"]
            shutil.chown(folder, "nobody")
        data = str(folder / "data")
        initdb, postgres = binary("initdb"), binary("postgres")
        assert initdb and postgres
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
        options = ["-U", "driftwise", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run([*become, initdb, "-D", data, *options], check=True, **quiet)  # type: ignore[call-overload]
        process = subprocess.Popen([*become, postgres, "-D", data, "-k", name, "-h", ""], **quiet)  # type: ignore[call-overload]
        try:
            url = f"postgresql://driftwise@/postgres?host={name}"
            for _ in range(600):  # its socket is there before it takes connections
                try:
                    psycopg.connect(url).close()
                    break
                except psycopg.OperationalError:
                    time.sleep(0.05)
            yield url
        finally:
            process.terminate()
            process.wait(30)
