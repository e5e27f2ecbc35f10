"""Every example of docs/service.md and of the README is run, and answered as it says."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.service import Service

ROOT = Path(__file__).parents[1]


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
    with Service(tmp_path / "store.db") as service:
        assert len(examples(page)) >= least
        for command, expected in examples(page):
            told = subprocess.run(
                command.replace("http://127.0.0.1:8000", service.url),
                shell=True,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            pattern = re.escape(expected).replace(r"\.\.\.", ".*").replace("\\\n", r"\s+")
            assert re.fullmatch(pattern, told, re.DOTALL), f"{command}\nprinted {told}\nnot {expected}"
