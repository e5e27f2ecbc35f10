"""The notebooks of the gallery run, say what their text says, and show no bar of progress that stays."""

import re
from pathlib import Path

import nbformat
import pytest

from tools.build_gallery import ROOT, execute, notebook_of, page_of, sources

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
def test_a_notebook_runs_and_says_what_it_should(name: str) -> None:
    notebook = execute(notebook_of(ROOT / "docs" / "gallery" / f"{name}.py"))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    texts = "\n".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)
    for key in KEYS[name]:
        assert key in texts
    page = page_of(notebook, name)
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
