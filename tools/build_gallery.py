"""Notebooks of the gallery, from their sources: executed, and as pages of the documentation.

    python tools/build_gallery.py OUT           every notebook as OUT/NAME.ipynb (with outputs) and OUT/NAME.md
    python tools/build_gallery.py OUT NAME      one of them

A source is a Python file in docs/gallery: a cell begins with `# %%`, a cell of text with `# %% [markdown]`. A notebook
that prints a warning, or that does not say what its text says, is not written, and building fails.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "docs" / "gallery"
TIMEOUT = 600  # seconds that a cell may take on a busy machine
PHRASES = {  # what each notebook says, at least
    "pricing": ["while it falls", "after the jump", "in all", "Agent(auto (here FilterBankUCB(alertness=4.0"],
    "click_log": ["It drifts (p <= 0.002): 1 sudden change.", "remembers all", "gain_mean"],
    "visits": ["with indices", "taking turns", "next week:"],
    "budget": ["prequential pacing", "greedy ratio", "pacing: 2,000 rounds, 8 runs"],
    "own_policy": [
        "RunningGreedy has no window",
        "Decision(id=0, action='red', propensity=0.95)",
        " 0.003 ",
        "regret_ci95",
        "step=0.1 has the lowest mean regret",
    ],
}


def sources() -> list[Path]:
    """Every notebook's source."""
    return sorted(path for path in SOURCES.glob("*.py") if path.name != "conftest.py")


def notebook_of(path: Path) -> NotebookNode:
    """A source as a notebook without outputs."""
    cells = []
    for part in re.split(r"^# %%", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        kind, _, body = part.partition("\n")
        if kind.strip() == "[markdown]":
            text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
            cells.append(nbformat.v4.new_markdown_cell(text))
        else:
            cells.append(nbformat.v4.new_code_cell(body.strip()))
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"  # the same in every build
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": spec})


def execute(notebook: NotebookNode) -> NotebookNode:
    """Run all cells in a kernel of their own; an error of a cell is raised."""
    files_not_ports = Config({"KernelManager": {"transport": "ipc"}})
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=TIMEOUT, record_timing=False, config=files_not_ports
    )
    executed: NotebookNode = client.execute()
    return executed


def check(notebook: NotebookNode, phrases: Sequence[str], name: str) -> None:
    """Refuse an executed notebook that wrote to standard error, or that lacks one of the phrases."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    for output in outputs:
        if output.output_type == "stream" and output.name == "stderr":
            sys.exit(f"the notebook {name} wrote to standard error: {output.text.strip()}")
    text = "\n".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)
    for phrase in phrases:
        if phrase not in text:
            sys.exit(f"the notebook {name} does not say {phrase!r}")


def page_of(notebook: NotebookNode, name: str) -> str:
    """An executed notebook as a page of Markdown, outputs as HTML or text."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [shown for output in cell.outputs if (shown := shown_output(output))]
    title, *rest = parts
    return "\n\n".join([title, f"[Download the notebook]({name}.ipynb)", *rest]) + "\n"


def shown_output(output: NotebookNode) -> str:
    """One output: HTML where there is some, else text."""
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    data = output.get("data", {})
    if "text/html" in data:
        return "\n".join(line for line in data["text/html"].splitlines() if line.strip())  # a blank line would end it
    return f"```text\n{data['text/plain'].rstrip()}\n```" if data.get("text/plain") else ""


def build(out: Path, names: Sequence[str] = ()) -> Iterator[Path]:
    """Execute notebooks, all unless some are named, and write each and its page into a folder; the pages."""
    out.mkdir(parents=True, exist_ok=True)
    for path in sources():
        if names and path.stem not in names:
            continue
        notebook = execute(notebook_of(path))
        check(notebook, PHRASES[path.stem], path.stem)
        nbformat.write(notebook, out / f"{path.stem}.ipynb")
        page = out / f"{path.stem}.md"
        page.write_text(page_of(notebook, path.stem), encoding="utf-8")
        yield page


def main(arguments: Sequence[str]) -> None:
    """The command."""
    if not arguments:
        sys.exit("give the folder to write to, and perhaps names of notebooks")
    unknown = set(arguments[1:]) - {path.stem for path in sources()}
    if unknown:
        sys.exit(f"there is no notebook {min(unknown)!r}: there are {', '.join(path.stem for path in sources())}")
    for page in build(Path(arguments[0]), arguments[1:]):
        print(page, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
