"""Bars of progress: where somebody looks, and nowhere else."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

import driftwise as dw
from driftwise.study import progress
from driftwise.study.progress import NotebookProgress, displayed, in_notebook, terminal_bar


@pytest.fixture
def study() -> dw.Study:
    worlds, policies = {"abrupt": dw.worlds.Abrupt()}, {"guess": dw.Uniform()}
    return dw.Study(name="s", worlds=worlds, policies=policies, horizon=300, runs=3)


def test_nothing_is_said_where_nobody_looks(study: dw.Study, capfd: pytest.CaptureFixture[str]) -> None:
    dw.run(study)
    assert capfd.readouterr() == ("", "")


def test_a_bar_in_a_terminal(
    study: dw.Study, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    dw.run(study)
    shown = capfd.readouterr().err
    assert "playing rounds of 3 runs" in shown and "900/900" in shown
    dw.run(study, progress=False)
    assert capfd.readouterr() == ("", "")


def test_a_bar_in_a_notebook_comes_and_goes(study: dw.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures: list[str] = []

    class Shown:
        def update(self, content: dict[str, str], raw: bool) -> None:
            pictures.append(content["text/html"])

    def display(content: dict[str, str], raw: bool, display_id: bool) -> Shown:
        pictures.append(content["text/html"])
        return Shown()

    shell = type("ZMQInteractiveShell", (), {})()
    ipython, functions = ModuleType("IPython"), ModuleType("IPython.display")
    vars(ipython)["get_ipython"], vars(functions)["display"] = lambda: shell, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", functions)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    assert in_notebook()
    dw.run(study, threads=2)
    assert "compiling" in pictures[0] and "playing 3 runs" in pictures[-2] and pictures[-1] == ""
    with displayed(False) as silent:
        assert not isinstance(silent, NotebookProgress)


def test_a_progress_of_your_own_is_called(study: dw.Study) -> None:
    counts = SimpleNamespace(rounds=0)

    class Counting(progress.Progress):
        def played(self, rounds: int) -> None:
            counts.rounds += rounds

    dw.run(study, progress=Counting(), threads=1)
    assert counts.rounds == 900


def test_no_bar_where_nothing_is_missing(study: dw.Study, capfd: pytest.CaptureFixture[str]) -> None:
    """As where a study is played for a second time."""
    results = dw.run(study, progress=False)
    capfd.readouterr()
    with terminal_bar() as bar:
        dw.run(study, results, progress=progress.BarProgress(bar))
    assert "0/0" not in capfd.readouterr().err and not bar.tasks
