"""The notebooks of the gallery run, say what their text says, and show no bar of progress that stays."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tools.build_gallery import ROOT, main, notebook_of, sources

KEYS = {
    "pricing": ["while it falls", "after the jump", "Agent(FilterBankUCB(alertness=4.0"],
    "click_log": ["It drifts (p <= 0.002): 1 sudden change.", "remembers all", "gain_mean"],
    "visits": ["with indices", "taking turns", "next week:"],
    "budget": ["prequential pacing", "greedy ratio", "pacing: 2,000 rounds, 8 runs"],
    "own_policy": ["Decision(id=0, action='red', propensity=0.95)", "running step=0.03", "regret_ci95"],
}


def test_every_notebook_is_in_the_index() -> None:
    index = (ROOT / "docs" / "gallery" / "index.md").read_text(encoding="utf-8")
    names = {path.stem for path in sources()}
    assert names == set(KEYS) == set(re.findall(r"\]\((\w+)\.md\)", index))


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_notebook_runs_and_says_what_it_should(name: str, tmp_path: Path) -> None:
    """In a process of its own: the client of notebooks leaves sockets open."""
    command = [sys.executable, str(ROOT / "tools" / "build_gallery.py"), str(tmp_path), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    notebook = nbformat.read(tmp_path / f"{name}.ipynb", as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    texts = "\n".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)
    for key in KEYS[name]:
        assert key in texts
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith("# ") and "playing" not in page  # the bar has gone
    assert len(page) < 200_000


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
