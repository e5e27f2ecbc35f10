"""The map of ARCHITECTURE.md is the tree, class names are unique, and families are named in their own place only."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import driftwise.families  # noqa: F401  # fills the table
from driftwise.core.family import FAMILIES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "driftwise"
ONE_FILE_PER_IDEA = ("policies", "worlds", "oracles")
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
FILES = sorted(SOURCE.rglob("*.py"))


def on_the_map() -> set[str]:
    """Modules that ARCHITECTURE.md names, as paths."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"## The map\n.*?```\n(.*?)```", page, flags=re.DOTALL)
    names, folder = set(), ""
    for line in block.splitlines():
        words = line.split()
        if not line.startswith(" "):
            folder, *words = words
        names |= {f"{folder}{word}" for word in words}
    return names


def in_the_tree() -> set[str]:
    """Modules that there are, but for those of folders with one file per idea."""
    names = set()
    for path in FILES:
        *folders, _ = parts = path.relative_to(SOURCE).with_suffix("").parts
        listed = bool(folders) and folders[0] != "papers" and folders[-1] not in ONE_FILE_PER_IDEA
        if listed and not parts[-1].startswith("__"):
            names.add("/".join(parts))
    return names


def test_the_map_shows_every_module_and_nothing_else() -> None:
    assert on_the_map() == in_the_tree()


def test_a_class_name_is_used_once() -> None:
    owners = defaultdict(list)
    for path in FILES:
        for name in re.findall(r"^class ([^\W_]\w*)", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            owners[name].append(path.relative_to(SOURCE).as_posix())
    assert not {name: paths for name, paths in owners.items() if len(paths) > 1}


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_family_is_compared_by_name_in_its_own_package_only(name: str) -> None:
    comparison = re.compile(rf"""(==|!=|\bin \(|\bin \[|\bin \{{)[^\n]*["']{name}["']|["']{name}["'] *(==|!=)""")
    found = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in FILES
        if "families" not in path.relative_to(SOURCE).parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if comparison.search(line)
    ]
    assert not found


def test_msgpack_is_decoded_by_decoders_that_are_made_at_import() -> None:
    """Msgspec crashes when two threads use a type for the first time, and threads fold journals."""
    asked = re.compile(r"msgpack\.decode\([^\n]*type=")
    assert [path.name for path in FILES if asked.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_files_fit_in_the_head(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_functions_fit_on_a_screen(path: Path) -> None:
    functions = [each for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(each, FUNCTIONS)]
    assert not {each.name: n for each in functions if (n := own_lines(each)) > 60}


def own_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body, without the docstring and the functions inside."""
    body = function.body[bool(ast.get_docstring(function)) :]
    inside = [each for each in body if isinstance(each, FUNCTIONS)]
    lines = function.end_lineno - body[0].lineno + 1 if body and function.end_lineno else 0
    return lines - sum(each.end_lineno - each.lineno + 1 for each in inside if each.end_lineno)


def test_folders_fit_in_the_head() -> None:
    counts = {folder: len(list(folder.glob("*.py"))) for folder in SOURCE.rglob("*") if folder.is_dir()}
    assert not {folder.relative_to(SOURCE).as_posix(): n for folder, n in counts.items() if n > 30}
