"""The files that name the version agree."""

import re
from pathlib import Path

from driftwise import __version__

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+), ", changelog, re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", citation, re.MULTILINE)
    assert newest is not None and newest[1] == __version__
    assert cited is not None and cited[1] == __version__
