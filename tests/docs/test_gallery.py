"""The notebooks of the gallery run, say what their text says, and show no bar of progress that stays.

All of them are built, and checked, by `make docs`.
"""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.fixtures.everyday import deep_unless
from tools.build_gallery import PHRASES, ROOT, check, main, notebook_of, sources


def test_every_notebook_is_in_the_index() -> None:
    index = (ROOT / "docs" / "gallery" / "index.md").read_text(encoding="utf-8")
    names = {path.stem for path in sources()}
    assert names == set(PHRASES) == set(re.findall(r"\]\((\w+)\.py\)", index))


@pytest.mark.system
@pytest.mark.parametrize("name", [deep_unless(name == "own_policy", name) for name in sorted(PHRASES)])
def test_a_notebook_runs_and_says_what_it_should(name: str, tmp_path: Path) -> None:
    """In a process of its own: the client of notebooks leaves sockets open."""
    command = [sys.executable, str(ROOT / "tools" / "build_gallery.py"), str(tmp_path), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    nbformat.validate(nbformat.read(tmp_path / f"{name}.ipynb", as_version=4))
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith("# ") and "playing" not in page  # the bar has gone
    assert len(page) < 200_000


def test_a_notebook_that_does_not_say_what_it_should_is_refused() -> None:
    def executed(name: str, text: str) -> nbformat.NotebookNode:
        output = nbformat.v4.new_output("stream", name=name, text=text)
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", outputs=[output])])

    check(executed("stdout", "red wins"), ["red"], "small")
    with pytest.raises(SystemExit, match="the notebook small does not say 'blue'"):
        check(executed("stdout", "red wins"), ["red", "blue"], "small")
    with pytest.raises(SystemExit, match="the notebook small wrote to standard error: careful"):
        check(executed("stderr", "careful"), [], "small")


def test_a_source_becomes_cells(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    path.write_text("# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 1\nx\n")
    notebook = notebook_of(path)
    nbformat.validate(notebook)
    assert [(cell.cell_type, cell.source) for cell in notebook.cells] == [
        ("markdown", "# Title\n\nText."),
        ("code", "x = 1\nx"),
    ]


def test_bad_arguments_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="give the folder to write to"):
        main([])
    with pytest.raises(SystemExit, match="there is no notebook 'pricng': there are budget"):
        main([str(tmp_path), "pricng"])
