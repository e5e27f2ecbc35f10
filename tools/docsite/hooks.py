"""What MkDocs calls while it builds: pages that are made from the package, and files of the root as pages.

`GENERATED name` in the navigation of mkdocs.yml stands for the pages of one kind.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from driftwise.families import ORACLES, POLICIES, WORLDS
from tools.docsite.api_pages import api_pages, modules
from tools.docsite.catalogue_pages import by_family, policy_pages, world_pages

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
ROOT_LINK = re.compile(r"\]\((?:docs/|(?=[A-Z]+\.md))([\w./-]+)")
Nav = list[object]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation, and the gallery at its end, if there is one."""
    config.nav = _filled(config.nav or [])
    if (Path(config.docs_dir) / "gallery" / "index.md").exists():
        pages = sorted(
            path.name for path in (Path(config.docs_dir) / "gallery").glob("*.md") if path.name != "index.md"
        )
        config.nav.append({"Gallery": ["gallery/index.md", *(f"gallery/{name}" for name in pages)]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every page that is not written by hand."""
    pages = policy_pages() | world_pages() | api_pages()
    pages |= {page: root_page(source) for source, page in ROOT_PAGES.items()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def root_page(source: str) -> str:
    """A file of the root as a page: its links lead to pages of the site."""
    text = (ROOT / source).read_text(encoding="utf-8")
    head = "---\nsearch: {exclude: true}\n---\n\n" if source == "CHANGELOG.md" else ""  # it would answer every search
    return head + ROOT_LINK.sub(lambda match: f"]({ROOT_PAGES.get(match[1], match[1])}", text)


def _filled(nav: Nav) -> Nav:
    filled: Nav = []
    for entry in nav:
        if entry == "GENERATED reference":
            filled += [
                "reference/index.md",
                *({each.title: f"reference/{path}.md"} for path, each in modules().items()),
            ]
        elif isinstance(entry, dict):
            ((title, value),) = entry.items()
            filled.append({title: _filled(value) if isinstance(value, list) else _generated(value)})
        else:
            filled.append(entry)
    return filled


def _generated(value: str) -> str | Nav:
    """The pages of a catalogue by family, or the page itself."""
    tables = {"GENERATED policies": ("policies", POLICIES | ORACLES), "GENERATED worlds": ("worlds", WORLDS)}
    if value not in tables:
        return value
    folder, table = tables[value]
    groups = [{family: [{name: f"{folder}/{name}.md"} for name in names]} for family, names in by_family(table).items()]
    return [f"{folder}/index.md", *groups]
