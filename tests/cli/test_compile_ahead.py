"""`driftwise compile`, and layers of compiled code: shipped, read-only, damaged, of another user."""

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftwise.core.compilation import kernel_cache
from tests.fixtures.command_line import driftwise

SRC = Path(__file__).parents[2] / "src"
NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
DECIDE = """
import driftwise as dw
from driftwise.core.random import stream
from driftwise.core.kernel import load_numba
load_numba()
from numba.core import event
seen = event.RecordingListener()
event.register("numba:compile", seen)
agent = dw.Agent(dw.UCB1(), ["red", "blue"])
agent.learn(agent.decide(), reward=1.0)
agent.summary()
print(len(seen.buffer))
"""
STREAM = """
import numpy as np
from driftwise.core.random import stream
from driftwise.core.kernel import load_numba
loop = stream.entry(np.uint64, int)
print(stream(np.uint64(7), 3), sum(loop.stats.cache_hits.values()))
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can read, and in it a folder that every user can write."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def python(code: str, *before: str, **environment: str) -> str:
    """What a fresh process prints."""
    command = [*before, sys.executable, "-c", code]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def compiled_into(layer: Path) -> list[str]:
    """What the command prints, in a process of its own: in this one numba may have been set up for this machine."""
    command = [sys.executable, "-m", "driftwise.cli", "compile", "ucb1", "--out", str(layer)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.system
def test_a_layer_serves_another_user_who_can_write_nowhere(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled by one user; loaded by another, from another copy of driftwise, with nothing left behind."""
    monkeypatch.setenv("DRIFTWISE_CACHE_DIR", str(public / "own"))
    layer = public / "layer"
    first, again = (compiled_into(layer) for _ in range(2))
    files = sorted(each.name for each in layer.iterdir())
    assert first[0].startswith(f"ucb1: {len(files)} functions") and first[0].endswith(f"{len(files)} new")
    assert again[0].endswith(", 0 new") and str(layer) in again[1]
    layer.chmod(0o555)
    assert not (public / "own").exists(), "what goes to a layer goes nowhere else"
    shutil.copytree(SRC, public / "src", ignore=shutil.ignore_patterns("__pycache__"))
    user = NOBODY if os.geteuid() == 0 and shutil.which("setpriv") else []
    if user and subprocess.run([*user, sys.executable, "-c", "import numba"], check=False).returncode:
        user = []  # this Python is in a folder of root's own
    there = {"HOME": "/nonexistent", "PYTHONPATH": str(public / "src"), "TMPDIR": str(public / "tmp")}
    there["DRIFTWISE_CACHE_DIR"] = "/proc/nothing"
    assert python(DECIDE, *user, **there, DRIFTWISE_CACHE_PATH=f"{public / 'tmp'}{os.pathsep}{layer}") == "0"
    assert list((public / "tmp").iterdir()) == []
    assert sorted(each.name for each in layer.iterdir()) == files
    if not user:
        pytest.skip("no other user can run this Python: tried as this one")


@pytest.mark.system
def test_without_a_folder_to_write_code_stays_in_memory(tmp_path: Path) -> None:
    own = tmp_path / "own"
    assert python(STREAM, DRIFTWISE_CACHE_DIR=str(own)).split()[1] == "0"
    value, hits = python(STREAM, DRIFTWISE_CACHE_DIR=str(own)).split()
    assert hits == "1"
    nowhere = {"DRIFTWISE_CACHE_DIR": "/proc/nothing", "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    assert python(STREAM, **nowhere) == f"{value} 0"
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.system
def test_a_damaged_file_is_compiled_anew(tmp_path: Path) -> None:
    value, _ = python(STREAM, DRIFTWISE_CACHE_DIR=str(tmp_path)).split()
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert python(STREAM, DRIFTWISE_CACHE_DIR=str(tmp_path)) == f"{value} 0"
    assert len(file.read_bytes()) == len(whole)
    assert python(STREAM, DRIFTWISE_CACHE_DIR=str(tmp_path)) == f"{value} 1"


def test_what_cannot_be_compiled_or_written_is_one_sentence(tmp_path: Path) -> None:
    assert "no policy called 'nobody'" in driftwise("compile", "nobody", code=2).stderr
    assert "no family of problems called 'nobody'" in driftwise("compile", "--family", "nobody", code=2).stderr
    assert "no world called 'nobody'" in driftwise("compile", "ucb1", "--world", "nobody", code=2).stderr
    assert "/proc/x cannot be created" in driftwise("compile", "ucb1", "--out", "/proc/x", code=2).stderr


def test_a_named_policy_that_does_not_fit_the_world_is_refused_before_anything_is_compiled(tmp_path: Path) -> None:
    words = ["compile", "uniform", "lin-ucb", "ucb1", "--world", "abrupt", "--out", str(tmp_path / "layer")]
    done = driftwise(*words, code=2)
    assert done.stderr.startswith("driftwise: lin-ucb in abrupt: LinUCB chooses one row") and not done.stdout
    assert not (tmp_path / "layer").exists()


def test_of_all_policies_those_are_compiled_that_fit_the_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for task in ("_use", "_play"):
        monkeypatch.setattr(f"driftwise.cli.compile_ahead.{task}", lambda *_: None)
    done = driftwise("compile", "--all", "--world", "abrupt", "--out", str(tmp_path))
    assert "\nucb1 in abrupt: 0 functions" in done.stdout and "lin-ucb in abrupt" not in done.stdout
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("skipped in abrupt, which they do not fit")]
    assert " lin-ucb," in line and " ucb1," not in line
    done = driftwise("compile", "--all", "ucb1", "lin-ucb", "--world", "abrupt", code=2)
    assert "lin-ucb in abrupt: LinUCB chooses" in done.stderr


def test_a_window_may_be_longer_than_what_is_played_to_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIFTWISE_CACHE_DIR", str(tmp_path))
    done = driftwise("compile", "sliding-ucb:window=30000", "--world", "abrupt")
    assert done.stdout.splitlines()[-1].startswith("all, in ")


def test_the_folders_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIFTWISE_CACHE_PATH", f"/one{os.pathsep}/two")
    monkeypatch.setenv("DRIFTWISE_CACHE_DIR", str(tmp_path))
    environment = Path(sys.prefix, "share", "driftwise", "kernels")
    assert kernel_cache.layers() == [Path("/one"), Path("/two"), environment, tmp_path]


def test_code_is_for_a_level_of_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    from llvmlite import binding

    features = dict.fromkeys(kernel_cache.LEVEL_3, True)
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: features | {"avx512f": True})
    assert kernel_cache.cpu_level(avx=True) == "x86-64-v3"
    assert kernel_cache.cpu_level(avx=False) == "generic"
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: features | {"fma": False})
    assert kernel_cache.cpu_level(avx=True) == "generic"


def test_code_unused_for_a_month_is_swept_away_and_nothing_else(tmp_path: Path) -> None:
    """The folder may be one where the user keeps other things."""
    old, new = (kernel_cache.KernelCache(name, "tag")._file("(int64,)", ("cpu",)) for name in ("old", "new"))
    part = f"{old}.{uuid.uuid4().hex}.part"
    others = ["shop.db", "old.kernel", "linux.kernel.tar", "thesis"]
    (tmp_path / "thesis").mkdir()
    for name in (old, new, part, *others):
        if name != "thesis":
            (tmp_path / name).touch()
        os.utime(tmp_path / name, None if name == new else (0, 0))
    kernel_cache.sweep(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([new, *others])
