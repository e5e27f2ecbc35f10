"""What may be imported when: every module on Windows, and nothing slow before it is needed."""

import ast
import sys
from pathlib import Path

import pytest

import driftwise
from driftwise.errors import ParameterError

SLOW = {"scipy"}  # up to a second of a command
POSIX_ONLY = {"fcntl", "grp", "pwd", "resource", "termios", "uvloop"}


def imported_at_once(source: str) -> set[str]:
    """The packages that a module imports when it is imported: not those that a function imports when it is called."""
    names: set[str] = set()
    todo: list[ast.AST] = [ast.parse(source)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))
    return names


def test_imports_at_once_are_told_from_later_ones() -> None:
    source = "import fcntl\nif True:\n    from resource import x\ndef late():\n    import pwd"
    assert imported_at_once(source) == {"fcntl", "resource"}


def test_no_module_imports_at_once_what_only_posix_has() -> None:
    files = sorted(Path(driftwise.__file__).parent.rglob("*.py"))
    assert len(files) > 300
    assert {str(file): found for file in files if (found := imported_at_once(file.read_text()) & POSIX_ONLY)} == {}


def test_no_module_imports_at_once_what_is_slow_to_import() -> None:
    files = sorted(Path(driftwise.__file__).parent.rglob("*.py"))
    assert {str(file): found for file in files if (found := imported_at_once(file.read_text()) & SLOW)} == {}


def test_on_windows_the_service_says_where_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from driftwise.service.http.endpoint import Limits
    from driftwise.service.http.server import serve
    from driftwise.service.members.worker import WorkerSettings
    from driftwise.service.members.workers import serve_workers

    store = "postgresql://nobody@nowhere/nothing"
    settings = WorkerSettings(store, "127.0.0.1", 8000, "full", Limits(), False, True, 60.0, None, None)
    with monkeypatch.context() as patch:
        patch.setattr("os.name", "nt")
        with pytest.raises(ParameterError, match="runs on Linux and macOS: on Windows, run it in WSL"):
            serve(store)
        with pytest.raises(ParameterError, match="runs on Linux and macOS: on Windows, run it in WSL"):
            serve_workers(2, settings)


def test_a_file_is_closed_before_it_is_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Windows does not move an open file; Linux, which does, tells which files are open."""
    if sys.platform != "linux":
        pytest.skip("only Linux has /proc")
    moved: list[str] = []

    def replace(path: Path, target: Path) -> Path:
        files = {str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()}
        assert str(path) not in files, f"{path} is open"
        moved.append(str(path))
        return target

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        driftwise.Agent(driftwise.UCB1(), 2).save(tmp_path / "an.agent")
    assert len(moved) == 1
