"""The files that name the version agree, and the source distribution has every file of the repository."""

import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

from driftwise import __version__

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"


def test_the_version_is_the_same_everywhere() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+), ", changelog, re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", citation, re.MULTILINE)
    assert newest is not None and newest[1] == __version__
    assert cited is not None and cited[1] == __version__


@pytest.mark.system
def test_the_source_distribution_has_every_file_of_the_repository(tmp_path: Path) -> None:
    """Built from a copy of what git tracks: setuptools would add what the list of an earlier build names."""
    if not (ROOT / ".git").exists():
        pytest.skip("these sources are not a clone")
    if int(version("setuptools").partition(".")[0]) < 77:
        pytest.skip("building needs setuptools>=77, which the extra dev installs")
    listed = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    tracked = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    files = {name for name in tracked if (ROOT / name).is_file()}
    assert {"mkdocs.yml", "Makefile", ".github/workflows/ci.yml", "tests/conftest.py"} <= files
    for name in files:
        (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "clone" / name)
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    subprocess.run(command, cwd=tmp_path / "clone", capture_output=True, text=True, check=True)
    with tarfile.open(tmp_path / f"driftwise-{__version__}.tar.gz") as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert sorted(files - packed) == []
