"""The number of cores under an affinity and under limits of a container."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from driftwise.core import cores


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("5000 100000", 1), ("1600000 100000", 8), ("", 8)],
)
def test_a_container_allows_fewer(limit: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(limit)
    monkeypatch.setattr(cores, "CONTAINER_LIMIT", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    assert cores.available_cores() == expected


@pytest.mark.system
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity")
def test_a_process_on_one_core_uses_one() -> None:
    one = min(os.sched_getaffinity(0))
    lines = ["import os", f"os.sched_setaffinity(0, {{{one}}})", "from driftwise.core.cores import available_cores"]
    code = "\n".join([*lines, "print(available_cores())"])
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"
