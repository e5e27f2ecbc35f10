"""Links lead to files and headings that exist where the folder is read, and to pages on the site."""

import re
from pathlib import Path

import pytest

from driftwise.families import ORACLES, POLICIES, WORLDS
from tools.build_gallery import sources
from tools.docsite.api_pages import modules
from tools.docsite.hooks import ROOT_PAGES, on_page_markdown

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FILES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
FILES += sorted(str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md"))


def headings(text: str) -> set[str]:
    """The anchors of a page."""
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in found}


def targets(text: str) -> list[str]:
    """Where links lead."""
    return re.findall(r"\]\(([^)\s]+)\)", text)


@pytest.mark.parametrize("name", FILES)
def test_links_lead_somewhere(name: str) -> None:
    for target in targets((ROOT / name).read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        if path.startswith("http"):
            continue
        assert file.exists(), f"{name}: there is no {path}"
        assert not anchor or anchor in headings(file.read_text(encoding="utf-8")), f"{name}: there is no #{anchor}"


def site_pages() -> set[Path]:
    """Where the site has a page or a file."""
    made = {f"gallery/{path.stem}.md" for path in sources()} | {*ROOT_PAGES.values()}
    made |= {f"policies/{name}.md" for name in (*POLICIES, *ORACLES, "index")}
    made |= {f"worlds/{name}.md" for name in (*WORLDS, "index")}
    made |= {f"reference/{name}.md" for name in (*modules(), "index")}
    return {path.resolve() for path in (*DOCS.rglob("*"), *(DOCS / name for name in made))}


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_to_pages_of_the_site(page: Path) -> None:
    """Both readers arrive: what leads out of the folder is turned to the page that the site has of it."""
    pages = site_pages()
    for target in targets(on_page_markdown(page.read_text(encoding="utf-8"))):
        path = target.partition("#")[0]
        if path and not path.startswith("http"):
            assert (page.parent / path).resolve() in pages | {DOCS / "gallery"}, f"the site has no {path}"
