"""What may be imported when: every module on Windows, and nothing slow before it is needed."""

import ast
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
    from driftwise.service.http.server import serve

    with monkeypatch.context() as patch:
        patch.setattr("os.name", "nt")
        with pytest.raises(ParameterError, match="runs on Linux and macOS: on Windows, run it in WSL"):
            serve("sqlite:///nothing.db")
