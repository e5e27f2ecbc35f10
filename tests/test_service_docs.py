"""Every example of docs/service.md is run, and answered as it says."""

import re
import subprocess
from pathlib import Path

from tests.service import Service

PAGE = Path(__file__).parents[1] / "docs" / "service.md"


def examples() -> list[tuple[str, str]]:
    """Commands and what they print; `...` stands for anything."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for part in block.split("$ ")[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed.strip()))
    return found


def test_the_examples_work(tmp_path: Path) -> None:
    with Service(tmp_path / "store.db") as service:
        assert len(examples()) > 15
        for command, expected in examples():
            told = subprocess.run(
                command.replace("http://127.0.0.1:8000", service.url),
                shell=True,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            pattern = re.escape(expected).replace(r"\.\.\.", ".*").replace("\\\n", r"\s+")
            assert re.fullmatch(pattern, told, re.DOTALL), f"{command}\nprinted {told}\nnot {expected}"
