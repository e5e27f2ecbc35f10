"""One virtual environment per peer library, made once and reused.

The peers cannot share an environment: SMPyBandits stopped in 2019 and needs a NumPy older than the
one river needs. Each lives in ``.bench/<peer>/`` at the root of the repository, so that none of
them ever touches the environment the project itself is developed in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / ".bench"

_LEARNING = (
    "numpy==2.4.6",
    "scipy==1.17.1",
    "scikit-learn==1.9.1",
    "pandas==3.1.1",
    "joblib==1.6.0",
    "cloudpickle==3.1.2",
    "narwhals==2.28.0",
    "python-dateutil==4.0.0",
    "threadpoolctl==3.8.0",
    "tzdata==2026.6",
)
_PLOTTING = (
    "matplotlib==3.11.2",
    "contourpy==1.3.3",
    "cycler==0.12.1",
    "fonttools==4.68.0",
    "kiwisolver==1.5.1",
    "packaging==26.3",
    "pillow==13.0.0",
    "pyparsing==3.3.3",
)

#: Every list is complete and exact and is installed without following dependencies: the same
#: versions are timed next year, and what a peer declares but never imports here stays out
#: (SMPyBandits: scikit-learn, scikit-optimize, joblib; it does import seaborn and matplotlib).
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "smpybandits": (
        "SMPyBandits==0.9.7",
        "numpy==1.23.5",
        "scipy==1.10.1",
        "matplotlib==3.7.5",
        "seaborn==0.12.2",
        "pandas==1.5.3",
        "contourpy==1.1.1",
        "cycler==0.12.1",
        "fonttools==4.53.1",
        "kiwisolver==1.4.5",
        "packaging==23.2",
        "pillow==10.4.0",
        "pyparsing==3.1.4",
        "python-dateutil==2.9.0.post0",
        "pytz==2024.1",
        "six==1.16.0",
    ),
    "pymab": ("pymab==2.0.1", "numpy==2.4.6"),
    "river": ("river==0.26.1", "numpy==2.4.6", "scipy==1.17.1", "narwhals==2.28.0"),
    "mabwiser": ("mabwiser==2.7.4", "seaborn==0.13.2", *_LEARNING, *_PLOTTING),
    "obp": ("obp==0.4.1", "PyYAML==6.0.3", "tqdm==4.70.1", "seaborn==0.13.2", *_LEARNING, *_PLOTTING),
    "contextualbandits": ("contextualbandits==0.3.30", *_LEARNING),
    "bayesianbandits": ("bayesianbandits==1.5.0", "attrs==25.4.0", "typing-extensions==4.15.0", *_LEARNING),
    "vowpalwabbit": ("vowpalwabbit==9.11.9", "numpy==2.4.6", "scipy==1.17.1"),
    "markovianbandit": (
        "markovianbandit-pkg==0.4",
        "numpy==2.4.6",
        "scipy==1.17.1",
        "numba==0.68.1",
        "llvmlite==0.50.0",
    ),
}

#: Those that offer no wheel are built here, by gcc, as their users have to.
BUILT = {"contextualbandits"}


def python_of(name: str) -> Path:
    """Return the python of a peer's environment, making the environment when it is not there.

    It is made again when its requirements, or the version of the running Python, have changed.
    """
    if name not in REQUIREMENTS:
        raise ValueError(f"unknown peer {name!r}; known: {', '.join(REQUIREMENTS)}")
    folder = ROOT / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "requirements.stamp"
    version = "{}.{}".format(*sys.version_info)
    wanted = "\n".join((f"python {version}", *REQUIREMENTS[name])) + "\n"
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python

    print(f"peers: installing {name} into .bench/{name} (once)", file=sys.stderr, flush=True)
    ROOT.mkdir(exist_ok=True)
    (ROOT / ".gitignore").write_text("*\n", encoding="utf-8")
    _run([sys.executable, "-m", "venv", "--clear", str(folder)], doing=f"making {name}'s venv")
    # Wheels where there are any: a build from source needs compilers, and times other flags than users get.
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-input", "--no-deps", "--only-binary", ":all:"]
    pip += ["--no-binary", name] if name in BUILT else []
    _run([*pip, *REQUIREMENTS[name]], doing=f"installing {name}")
    stamp.write_text(wanted, encoding="utf-8")  # last, so that a broken install is made again
    return python


def _run(command: list[str], *, doing: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-12:])
        raise RuntimeError(f"{doing} failed (exit code {done.returncode}):\n{tail}")
