"""The site: a page for everything public, curves that are up to date, and search without a network."""

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from playwright.sync_api import sync_playwright

import driftwise
from driftwise.families import ORACLES, POLICIES, WORLDS
from tools.docsite import recorded
from tools.docsite.api_pages import api_pages, modules
from tools.docsite.catalogue_pages import policy_pages, world_pages

ROOT = Path(__file__).parents[2]
CHROMIUM = Path("/usr/bin/chromium")
FACTS = ("Family", "Must know in advance", "Guarantee", "Source", "Cost")


def test_every_policy_has_a_recorded_curve() -> None:
    """After a change run `python tools/record_docs_plots.py`."""
    curves = recorded.read()
    assert sorted(curves) == recorded.specs()
    for spec, curve in curves.items():
        facts = recorded.identity(recorded.study_of(spec))
        stale = [name for name, value in facts.items() if name != "code" and dict(curve)[name] != value]
        assert not stale, f"{spec}: {stale} changed since its curve was recorded"


@pytest.mark.parametrize("spec", ["sliding-thompson", "sliding-ucb", "auto"])
def test_curves_can_be_played_again(spec: str) -> None:
    again, kept = recorded.play(recorded.study_of(spec)), recorded.read()[spec]
    np.testing.assert_array_equal(again["regret"], kept["regret"])


@pytest.mark.deep
@pytest.mark.parametrize("spec", [spec for spec in recorded.specs() if spec != "sliding-gp-ucb"])
def test_every_curve_can_be_played_again(spec: str) -> None:
    np.testing.assert_array_equal(recorded.play(recorded.study_of(spec))["regret"], recorded.read()[spec]["regret"])


def test_every_policy_has_a_page() -> None:
    pages = policy_pages()
    for name, kind in (POLICIES | ORACLES).items():
        page = pages[f"policies/{name}.md"]
        for fact in FACTS:
            assert re.search(rf"^\| \*\*{fact}\*\* \| \S.*\|$", page, re.MULTILINE), f"{name}: {fact} is missing"
        assert "<svg" in page and "## How it works" in page and "## Parameters" in page
        for parameter in getattr(kind, "_fields", ()):
            described = re.search(rf"^\| `{parameter}` \| `.*?` \| \S.*\|$", page, re.MULTILINE)
            assert described, f"{name}: the docstring does not describe {parameter}"
        assert f"[`{name}`]({name}.md)" in pages["policies/index.md"]


def test_every_world_has_a_page() -> None:
    pages = world_pages()
    for name in WORLDS:
        assert "<svg" in pages[f"worlds/{name}.md"]
        assert f"[`{name}`]({name}.md)" in pages["worlds/index.md"]


def test_the_reference_has_every_public_name() -> None:
    pages = api_pages()
    index = pages["reference/index.md"]
    missing = [name for name in dir(driftwise) if f"`{name}`" not in index and f"dw.{name}" not in index]
    assert not set(missing) - {"extend", "worlds"}
    for path, page in pages.items():
        assert "numpy.ndarray[" not in page and "<class" not in page and " at 0x" not in page, path


def test_every_entry_of_the_reference_says_what_it_is_for() -> None:
    """Names of `driftwise` itself; those for authors of policies are short lists of one sentence each."""
    names = [name for module in modules().values() if module.home == "driftwise" for name in module.names]
    described = {name: inspect.getdoc(getattr(driftwise, name)) or "" for name in names}
    assert not {name: text for name, text in described.items() if len(text.split()) < 8}


@pytest.mark.system
def test_search_works_without_a_server_and_code_is_not_cut(tmp_path: Path) -> None:
    """A small site with the settings of the real one, opened from a folder, with no network."""
    if not CHROMIUM.exists():
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    docs = tmp_path / "docs"
    (docs / "assets").mkdir(parents=True)
    for name in ("iframe-worker.js", "site.css"):
        (docs / "assets" / name).write_bytes((ROOT / "docs" / "assets" / name).read_bytes())
    code = [f"```\n{'x' * width}\n```\n" for width in (5, 100, 200)]
    (docs / "index.md").write_text("\n".join(["# Home\n", *code]))
    (docs / "tides.md").write_text("# Tides\n\nThe moon moves the sea.\n")
    settings: dict[str, Any] = {
        "docs_dir": str(docs),
        "site_dir": str(tmp_path / "site"),
        "hooks": [],
        "nav": ["index.md"],
    }
    build(load_config(str(ROOT / "mkdocs.yml"), **settings))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto((tmp_path / "site" / "index.html").as_uri())
        page.set_viewport_size({"width": 1300, "height": 900})
        blocks = page.locator("pre > code")
        assert blocks.evaluate_all("all => all.every((each) => each.scrollWidth <= each.clientWidth)")
        one_line, hundred, longer = blocks.evaluate_all("all => all.map((each) => each.clientHeight)")
        assert one_line == hundred < longer  # which wraps
        page.locator("input.md-search__input").click()
        page.keyboard.type("moon")
        page.locator(".md-search-result__link", has_text="Tides").first.wait_for(timeout=60_000)
        browser.close()
    assert all(url.startswith(("file:", "data:", "about:", "blob:")) for url in requests)
