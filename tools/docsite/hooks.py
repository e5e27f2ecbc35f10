"""What MkDocs calls while it builds: pages that are made from the package, and files of the root as pages.

`GENERATED name` in the navigation of mkdocs.yml stands for the pages of one kind.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from driftwise.families import ORACLES, POLICIES, WORLDS
from tools.build_gallery import sources
from tools.docsite.api_pages import api_pages, modules
from tools.docsite.catalogue_pages import by_family, policy_pages, world_pages

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "out" / "gallery"
ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
ROOT_LINK = re.compile(r"\]\((?:docs/|(?=[A-Z]+\.md))([\w./-]+)")
FROM_DOCS = re.compile(r"\]\(\.\./((?:\.\./)*)(" + "|".join(map(re.escape, ROOT_PAGES)) + r")")
SITE_PAGES = {  # what stands for a page that only the site has, where the folder is read
    "README.md#policies": "policies/index.md",
    "src/driftwise/worlds.py": "worlds/index.md",
    "src/driftwise/__init__.py": "reference/index.md",
}
SOURCE_PAGES = re.compile(r"src/driftwise/families/\w+/(policies|worlds)/(\w+)\.py")
OUTSIDE = re.compile(r"\]\(\.\./((?:\.\./)*)((?:src/|README\.md#)[\w./#-]+)\)")
NOTEBOOK = re.compile(r"\]\((" + "|".join(path.stem for path in sources()) + r")\.py\)")
Nav = list[object]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation, and the gallery at its end."""
    config.nav = _filled(config.nav or [])
    config.nav.append({"Gallery": ["gallery/index.md", *(f"gallery/{path.stem}.md" for path in sources())]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every page that is not written by hand."""
    pages = policy_pages() | world_pages() | api_pages()
    pages |= {page: root_page(source) for source, page in ROOT_PAGES.items()}
    pages |= {f"gallery/{path.name}": path.read_text(encoding="utf-8") for path in executed_notebooks()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to files and sources, which are right where the folder is read, lead to their pages."""
    markdown = NOTEBOOK.sub(r"](\1.md)", markdown)
    markdown = OUTSIDE.sub(lambda match: f"]({match[1]}{_page_of(match[2])})", markdown)
    return FROM_DOCS.sub(lambda match: f"]({match[1]}{ROOT_PAGES[match[2]]}", markdown)


def _page_of(source: str) -> str:
    """The page about a source: that of a policy or world, or one that lists them."""
    if match := SOURCE_PAGES.fullmatch(source):
        return f"{match[1]}/{match[2].replace('_', '-')}.md"
    if source not in SITE_PAGES:
        raise PluginError(f"the site has no page about {source}")
    return SITE_PAGES[source]


def executed_notebooks() -> list[Path]:
    """The notebooks of the gallery and their pages, which `make docs` has built."""
    paths = [GALLERY / f"{path.stem}.{kind}" for path in sources() for kind in ("md", "ipynb")]
    if missing := [path for path in paths if not path.exists()]:
        raise PluginError(f"{missing[0]} is missing: run python tools/build_gallery.py {GALLERY} first")
    return paths


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
