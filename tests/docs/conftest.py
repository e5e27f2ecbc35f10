"""A console for one page, and the log that pages read."""

import doctest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.console import ROOT, Console


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    opened = Console(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def clicks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The month of clicks that docs/logs.md makes up, as `clicks.csv` in the folder of the console."""
    text = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
        if "write_text" in example.source:
            break
    return Path(names["file"]).rename(tmp_path / "clicks.csv")
