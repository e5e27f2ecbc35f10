"""Every example of docs/service.md and of the README is run, and answered as it says."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.service_process import SOURCE, Service

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]


def examples(page: str) -> list[tuple[str, str]]:
    """Commands and what they print; `...` stands for anything."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
        for part in block.split("$ ")[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed.strip()))
    return found


@pytest.mark.parametrize(("page", "least"), [("docs/service.md", 15), ("README.md", 3)])
def test_the_examples_work(tmp_path: Path, page: str, least: int) -> None:
    here = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": SOURCE}

    def shell(command: str) -> str:
        line = command.replace("http://127.0.0.1:8000", service.url)
        words: dict[str, Any] = {"capture_output": True, "text": True, "check": True, "cwd": tmp_path, "env": here}
        return str(subprocess.run(line, shell=True, **words).stdout).strip()

    with Service(tmp_path / "driftwise.db", auth=True) as service:  # the store of those who name none
        assert len(examples(page)) >= least
        for command, expected in examples(page):
            if exported := re.match(r"export (\w+)=", command):
                here[exported[1]] = shell(f'{command}; echo "${exported[1]}"')
                continue
            told = shell(command)
            pattern = re.escape(expected).replace(r"\.\.\.", ".*").replace("\\\n", r"\s+")
            assert re.fullmatch(pattern, told, re.DOTALL), f"{command}\nprinted {told}\nnot {expected}"
