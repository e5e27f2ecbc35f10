"""Without extras: what does not need them works, and what does says in one sentence which to install."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from driftwise.core.extras import EXTRAS, needed_for
from driftwise.errors import ExtraError
from tests.base_install import CASES, CLIENT, Case, wrong

ROOT = Path(__file__).parents[2]
BARE = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(name for names in EXTRAS.values() for name in names)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


@pytest.mark.system
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_the_base_install_is_enough_or_says_what_is_missing(case: Case, tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"{BARE}\nfrom driftwise.cli import main\nmain(prog_name='driftwise')"]
    assert wrong(case, command, tmp_path) == ""


@pytest.mark.system
def test_the_client_without_its_extra_is_one_sentence() -> None:
    code = f"{BARE}\nimport driftwise.service.client.client"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert CLIENT in done.stderr.splitlines()[-1]


def test_a_package_that_another_one_needs_has_its_sentence_too() -> None:
    """Polars imports pyarrow itself, and raises an error of its own."""
    with (
        pytest.raises(ExtraError, match=r"a frame needs pyarrow: run pip install -e '.\[parquet\]'"),
        needed_for("a frame"),
    ):
        raise ImportError("pyarrow is required for converting a pandas dataframe to Polars")
    with pytest.raises(ImportError, match="cannot import name"), needed_for("a frame"):
        raise ImportError("cannot import name 'x' from 'y'")


def test_every_package_of_an_extra_is_known() -> None:
    """The table in the code has what pyproject.toml lists; extras for work on driftwise itself need no sentence."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {extra: {re.split(r"[\[<>=;\s]", each)[0] for each in listed[extra]} for extra in EXTRAS}
    named = {extra: {name.replace("-", "_") for name in each} - {"driftwise"} for extra, each in names.items()}
    assert named == {extra: set(packages) - {"markupsafe"} for extra, packages in EXTRAS.items()}
    assert set(listed) - set(EXTRAS) == {"dev", "docs"}


def test_hints_come_from_one_place() -> None:
    """No index has driftwise: nothing tells anyone to install it from there."""
    texts = {path: path.read_text() for folder in ("src", "docs") for path in (ROOT / folder).rglob("*.[pm][yd]")}
    texts[ROOT / "README.md"] = (ROOT / "README.md").read_text()
    assert [str(path) for path, text in texts.items() if re.search(r"pip install ['\"]?driftwise", text)] == []
