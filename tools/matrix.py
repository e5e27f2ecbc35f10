"""Build the package and try it with every Python there is, the oldest and the newest packages: `make matrix`.

Each row has an environment of its own under .matrix/, with the wheel and nothing else. It runs the first commands (as
`make base` does), the contracts of one policy of each family, and a study per family, whose numbers are compared over
all rows. A Python that is not installed is named and left out. The row `sources` is the source distribution, unpacked
beside no clone: tests of the documentation and of the release run there, with the extra `dev`.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".matrix"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SOURCES = "sources"
QUICK = ("tests/docs", "tests/core/test_release.py", "tests/core/test_architecture.py", "tests/core/test_extras.py")


class Row(NamedTuple):
    """An interpreter and which versions of the dependencies it gets."""

    version: str
    python: str
    packages: str  # "newest" or "oldest"

    @property
    def name(self) -> str:
        return f"{self.version}-{self.packages}"


class Result(NamedTuple):
    """What a row came to: the versions it used, the numbers of its studies, and what failed."""

    versions: str
    numbers: dict[str, float]
    why: str


def interpreter(version: str) -> str | None:
    """The path of a Python of this version: this one, one on the path, or one of pyenv's."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
        return found
    own = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    return str(own[-1]) if own else None


def oldest() -> list[str]:
    """The lower bounds of the dependencies, as exact versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = (re.fullmatch(r"([\w-]+)>=([\d.]+)", need) for need in project["dependencies"])
    return [f"{bound[1]}=={bound[2]}.*" for bound in bounds if bound]


def run(*words: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)


def build() -> Path:
    """The wheel, made from the source distribution, as an index would have it."""
    made = FOLDER / "build"
    shutil.rmtree(made, ignore_errors=True)
    tool = environment(sys.executable, FOLDER / "tool", "build")
    done = run(tool, "-m", "build", "--outdir", made, ROOT)
    if done.returncode:
        sys.exit(f"the package could not be built:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return next(made.glob("*.whl"))


def environment(python: str, folder: Path, *packages: str | Path) -> Path:
    """A fresh environment with these packages; returns its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    own = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    done = run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    if done.returncode:
        raise RuntimeError(f"pip: {done.stderr.strip().splitlines()[-1]}")
    return own


def attempt(row: Row, wheel: Path) -> Result:
    """Install the wheel for one row, and try it."""
    try:
        python = environment(row.python, FOLDER / row.name, wheel, *(oldest() if row.packages == "oldest" else ()))
    except RuntimeError as error:
        return Result("", {}, str(error))
    for script in ("tests/base_install.py", "tools/matrix_probe.py"):
        done = run(python, ROOT / script, cwd=FOLDER)
        if done.returncode:
            return Result("", {}, f"{script}:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
    said = json.loads(done.stdout)
    return Result(said["versions"], said["numbers"], "")


def try_sources(archive: Path) -> str:
    """Unpack the source distribution and run tests in it, in an environment of its own; what failed, or nothing."""
    folder = FOLDER / SOURCES
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    constraints = ("--constraint", unpacked / "constraints.txt")
    try:
        python = environment(sys.executable, folder / "environment", *constraints, f"{unpacked}[dev]")
    except RuntimeError as error:
        return str(error)
    done = run(python, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "not system and not deep", *QUICK, cwd=unpacked)
    return f"{done.stdout[-3000:]}\n{done.stderr[-1500:]}" if done.returncode else ""


def main() -> int:
    """All rows, a line each as they end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", metavar="ROW", help=f"e.g. 3.11-oldest or {SOURCES}; all if not given")
    only = parser.parse_args().only
    FOLDER.mkdir(exist_ok=True)
    found = {version: interpreter(version) for version in VERSIONS}
    rows = [Row(version, python, "newest") for version, python in found.items() if python]
    rows += [row._replace(packages="oldest") for row in rows[:1]]
    rows = [row for row in rows if not only or row.name in only]
    print(f"not installed: {', '.join(v for v, python in found.items() if not python) or 'none'}", flush=True)
    wheel, failed = build(), 0
    first: dict[str, float] = {}
    for row in rows:
        result = attempt(row, wheel)
        first = first or result.numbers
        same = "same numbers" if result.numbers == first else f"other numbers: {result.numbers}"
        failed += bool(result.why) or result.numbers != first
        print(f"{'FAILED' if result.why else 'ok'}: {row.name} {result.versions} {result.why or same}", flush=True)
    if sys.platform == "linux" and (not only or SOURCES in only):  # its tests are written for Linux
        why = try_sources(next(wheel.parent.glob("*.tar.gz")))
        failed += bool(why)
        print(f"{'FAILED' if why else 'ok'}: {SOURCES} {why or 'its tests of pages and release'}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
