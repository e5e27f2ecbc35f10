"""Links in files of the root lead to files and headings that exist; MkDocs checks those between pages of the site."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def headings(text: str) -> set[str]:
    """The anchors of a page."""
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in found}


@pytest.mark.parametrize("name", FILES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / name).read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if path.startswith("http"):
            continue
        file = ROOT / path if path else ROOT / name
        assert file.exists(), f"{name}: there is no {path}"
        assert not anchor or anchor in headings(file.read_text(encoding="utf-8")), f"{name}: there is no #{anchor}"
