"""Parameters that were swept are columns of results and of summaries, in frames of every library."""

from pathlib import Path
from typing import Any

import pytest

import driftwise as dw
from driftwise.core.protocols import Policy
from driftwise.display.frames import MAKERS

WORLDS = {"w": dw.worlds.Abrupt(n_arms=3)}


def study(policies: dict[str, Policy], runs: int = 1) -> dw.Study:
    return dw.Study(name="s", worlds=WORLDS, policies=policies, horizon=300, runs=runs)


def table_of(frame: Any) -> dict[str, list[Any]]:
    """The columns of a frame; missing values are None."""
    columns = frame.to_pydict() if hasattr(frame, "to_pydict") else {name: [*frame[name]] for name in frame.columns}
    return {name: [None if each != each else each for each in values] for name, values in columns.items()}


@pytest.mark.parametrize("library", MAKERS)
def test_every_run_of_a_sweep_has_its_parameters(library: str) -> None:
    whole = study({"ts": dw.SlidingThompson(window=100), "guess": dw.Uniform()}, runs=2)
    sweep = whole.sweep(window=[20, 50], prior_a=[1, 2.5])
    table = table_of(dw.run(sweep).frame(library))
    assert [*table][:6] == ["key", "study", "world", "policy", "window", "prior_a"]
    assert len(table["key"]) == 10
    for label, window, prior in zip(table["policy"], table["window"], table["prior_a"], strict=True):
        assert {"window": window, "prior_a": prior} == sweep.parameters_of(label)


@pytest.mark.parametrize("library", MAKERS)
def test_words_numbers_and_policies_inside_policies_are_columns(library: str) -> None:
    inner = [dw.SlidingUCB(window=50), dw.SlidingUCB(window=60)]
    policies: dict[str, Policy] = {"bob": dw.BanditOverBandit(policy=inner[0]), "ts": dw.SlidingThompson(window=100)}
    sweep = study(policies).sweep(policy=inner, window=["corollary1(alpha=0.5)", 50])
    results = dw.run(sweep)
    for frame in (results.frame(library), results.summary(sweep).frame(library)):
        table = table_of(frame)
        assert sorted(table["policy"]) == sorted(sweep.policies), "the parameter of that name does not hide the label"
        inside = dict(zip(table["policy"], table["parameter_policy"], strict=True))
        assert [inside[f"bob policy={each}"] for each in inner] == [str(each) for each in inner]
        windows = dict(zip(table["policy"], table["window"], strict=True))
        assert windows["ts window=corollary1(alpha=0.5)"] == "corollary1(alpha=0.5)"
        assert windows["ts window=50"] == "50"


def test_cells_that_an_earlier_study_played_have_their_parameters(tmp_path: Path) -> None:
    whole = study({"ts": dw.SlidingThompson(window=20)})
    results = dw.run(whole, tmp_path / "results.sqlite")
    assert "window" not in results.frame(), "nothing varies"
    dw.run(whole.sweep(window=[20, 50]), results)
    table = table_of(results.frame())
    assert table["policy"] == ["ts", "ts window=20", "ts window=50"]
    assert table["window"] == [20, 20, 50]


def test_cells_that_another_study_played_have_the_labels_of_each(tmp_path: Path) -> None:
    file = tmp_path / "results.sqlite"
    first = dw.Study(
        name="first", worlds={"here": WORLDS["w"]}, policies={"mine": dw.SlidingUCB(window=20)}, horizon=300, runs=2
    )
    dw.run(first, file).close()
    sweep = study({"ucb": dw.SlidingUCB(window=30)}, runs=2).sweep(window=[20, 50])
    results = dw.run(sweep, file)
    table = table_of(results.frame())
    rows = list(zip(table["study"], table["world"], table["policy"], table["window"], table["run"], strict=True))
    labels = [("first", "here", "mine", 20), ("s", "w", "ucb window=20", 20), ("s", "w", "ucb window=50", 50)]
    assert rows == [(*each, run) for each in labels for run in range(2)]
    assert table["key"][:2] == table["key"][2:4] and len(set(table["key"])) == 4
    groups = {(each.study, each.world, each.policy): len(each.rows) for each in results.groups()}
    assert groups == {each[:3]: 2 for each in labels}
    assert "ucb window=20" in repr(results) and "4 runs" in results._repr_html_()
    assert sorted(results.summary(sweep).frame()["policy"]) == ["ucb window=20", "ucb window=50"]


def test_a_study_that_is_complete_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "results.sqlite"
    whole = study({"ts": dw.SlidingThompson(window=20)})
    dw.run(whole, file).close()
    before = file.read_bytes()
    dw.run(whole, file).close()
    assert file.read_bytes() == before


def test_no_results_are_an_empty_frame() -> None:
    assert dw.Results().frame().shape[0] == 0
