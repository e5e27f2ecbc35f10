"""Links lead to files and headings that exist where the folder is read; on the site, MkDocs checks them again."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FILES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
FILES += sorted(str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md"))
MADE = {DOCS / name for name in ("policies", "worlds", "reference", "gallery")}  # folders that the site alone has


def headings(text: str) -> set[str]:
    """The anchors of a page."""
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in found}


@pytest.mark.parametrize("name", FILES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / name).read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        if path.startswith("http") or file.resolve().parent in MADE:
            continue
        assert file.exists(), f"{name}: there is no {path}"
        assert not anchor or anchor in headings(file.read_text(encoding="utf-8")), f"{name}: there is no #{anchor}"
