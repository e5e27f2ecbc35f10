"""Studies: the same bits however they are run, and they go on after being killed."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.seeding import key
from driftwise.errors import ParameterError
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.measure.levels import Levels
from driftwise.study.results import Results
from driftwise.study.run import missing

WORLDS = {
    "abrupt": dw.worlds.Abrupt(n_arms=4),
    "late": dw.worlds.Delayed(world=dw.worlds.RandomWalk(n_arms=4), delay=9, kind="geometric"),
}
POLICIES = {"ucb": dw.SlidingUCB(window=100), "ts": dw.SlidingThompson(window=100), "guess": dw.Uniform()}


def study(**changes: object) -> dw.Study:
    facts = {"name": "s", "worlds": WORLDS, "policies": POLICIES, "horizon": 500, "runs": 4, "seed": 3} | changes
    return dw.Study(**facts)  # type: ignore[arg-type]


def curves(a_study: dw.Study, results: dw.Results) -> np.ndarray:
    rounds, values = results.curves(a_study.cells())
    assert rounds[0] == 1 and rounds[-1] == a_study.horizon
    return values


def test_the_same_bits_on_one_thread_and_on_many() -> None:
    one, many = (curves(study(), dw.run(study(), threads=threads)) for threads in (1, 4))
    np.testing.assert_array_equal(one, many)


def test_a_policy_more_or_less_changes_no_other_result() -> None:
    alone = study(policies={"another label": dw.SlidingThompson(window=100)})
    together = dw.run(study())
    lonely = dw.run(alone)
    for world in WORLDS:
        np.testing.assert_array_equal(
            lonely.column(alone.cells_of(world, "another label"), "regret"),
            together.column(study().cells_of(world, "ts"), "regret"),
        )


def test_only_missing_cells_are_played(tmp_path: Path) -> None:
    file = tmp_path / "results.sqlite"
    dw.run(study(runs=2), dw.Results(file))
    results = dw.Results(file)
    assert missing(study(runs=2), results) == []
    assert sum(map(len, missing(study(runs=3), results))) == len(WORLDS) * len(POLICIES)
    assert sum(map(len, missing(study(runs=2, seed=4), results))) == 2 * len(WORLDS) * len(POLICIES)
    new = {"ucb": dw.SlidingUCB(window=100), "wide": dw.SlidingUCB(window=200)}
    assert {cell.policy for cells in missing(study(runs=2, policies=new), results) for cell in cells} == {"wide"}


@pytest.mark.system
def test_a_killed_study_goes_on_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "results.sqlite"
    script = f"""
import driftwise as dw
worlds, policies = {{"w": dw.worlds.Abrupt()}}, {{"p": dw.SlidingThompson()}}
study = dw.Study(name="long", worlds=worlds, policies=policies, horizon=200_000, runs=60)
dw.run(study, dw.Results({str(file)!r}), threads=2)
"""
    process = subprocess.Popen([sys.executable, "-c", script])
    deadline = time.monotonic() + 60
    while rows(file) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = rows(file)
    assert 3 <= before < 60, "the study should have been killed half-way"
    long = dw.Study(
        name="long",
        worlds={"w": dw.worlds.Abrupt()},
        policies={"p": dw.SlidingThompson()},
        horizon=200_000,
        runs=before + 2,
    )
    resumed = dw.Results(file)
    assert len(missing(long, resumed)) <= 3
    cells = list(long.cells())
    np.testing.assert_array_equal(
        dw.run(long, resumed).column(cells, "regret")[-3:],
        dw.run(long, threads=1).column(cells, "regret")[-3:],
    )


def rows(file: Path) -> int:
    if not file.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            return int(connection.execute("select count(*) from cells").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_regret_is_that_of_the_tape() -> None:
    one = study(runs=1, worlds={"abrupt": WORLDS["abrupt"]}, policies={"guess": dw.Uniform()})
    results = dw.run(one)
    tape, _ = dw.worlds.Abrupt(n_arms=4).draw(500, int(key(3, 0, "world")))
    means = tape.levels.table[tape.levels.rows]
    expected = (means.max(axis=1) - means.mean(axis=1)).sum()
    (regret,) = results.column(one.cells(), "regret")
    assert abs(regret - expected) < 6 * np.sqrt(500) / 2  # six standard deviations of bounded gaps


def test_nonsense_is_refused_before_the_first_round(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="horizon=0 is not a whole number of at least 1"):
        study(horizon=0)
    with pytest.raises(ParameterError, match="runs=0"):
        study(runs=0)
    with pytest.raises(ParameterError, match="needs at least one world and one policy"):
        study(policies={})
    with pytest.raises(ParameterError, match="phases=5 does not fit the horizon 3"):
        study(horizon=3)
    with pytest.raises(ParameterError, match="thompson needs rewards in a bounded range"):
        study(worlds={"g": dw.worlds.Abrupt(rewards="gaussian")}, policies={"t": dw.Thompson()})
    (tmp_path / "notes.txt").write_text("this is not a database, though it is long enough to be looked at as one")
    with pytest.raises(ParameterError, match="cannot be used as a results file: file is not a database"):
        dw.Results(tmp_path / "notes.txt")
    with pytest.raises(ParameterError, match="'regrets' is not an outcome"):
        dw.Results().column([], "regrets")


def test_what_is_no_study_is_refused() -> None:
    for thing in ("abrupt", dw.Study):
        with pytest.raises(ParameterError, match="is not a Study: give Study"):
            dw.run(thing)  # type: ignore[arg-type]


def test_numbers_of_any_kind_are_taken_and_things_of_the_wrong_kind_refused(tmp_path: Path) -> None:
    odd = study(horizon=np.int64(500), runs=2.0, worlds={"w": dw.worlds.Abrupt(n_arms=np.int64(4))})  # type: ignore[arg-type]
    assert dw.run(odd, tmp_path / "r.sqlite").column(odd.cells(), "rounds").tolist() == [500.0] * 6
    with pytest.raises(ParameterError, match="policies is a list: it maps labels to policies"):
        study(policies=[dw.UCB1()])
    with pytest.raises(ParameterError, match="give an instance, not a class or a name"):
        study(worlds={"a": dw.worlds.Abrupt})
    with pytest.raises(ParameterError, match="24 of 24 cells are missing"):
        dw.Results().column(study().cells(), "regret")
    with pytest.raises(ParameterError, match="threads=-1"):
        dw.run(study(), threads=-1)


MEANS = {
    "[[0.2, 0.4, 0.6]]": "Crooked gave means of shape (1, 3): a row holds n_arms=2 numbers",
    "[[0.2, float('nan')]]": "Crooked gave a mean that is not finite",
    "[[0.2, 1.7]]": "Crooked gave means from 0.2 to 1.7: Bernoulli means lie in [0, 1]",
}


@pytest.mark.parametrize("means", MEANS)
def test_a_crooked_world_is_refused(means: str) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Crooked(ArmedWorld):
        n_arms: int = 2

        def drift(self, horizon: int, seed: int) -> Any:
            table = np.array(eval(means))
            return lambda start, stop: Levels(table, np.zeros(stop - start, np.int32))

    with pytest.raises(ParameterError, match=re.escape(MEANS[means])):
        dw.run(study(worlds={"crooked": Crooked()}))


@pytest.mark.system
def test_a_world_edited_is_played_again(tmp_path: Path) -> None:
    """The tag knows a user's own file, though it holds no kernel, and the constants it imports."""
    world = """
from dataclasses import dataclass
import numpy as np
from settings import LEVEL
from driftwise.measure.levels import Levels
from driftwise.families.multi_armed.worlds.base import ArmedWorld

@dataclass(frozen=True, kw_only=True)
class Mine(ArmedWorld):
    n_arms: int = 2
    def drift(self, horizon, seed):
        return lambda start, stop: Levels(np.array([[0.1, LEVEL + {more}]]), np.zeros(stop - start, np.int32))
"""
    script = """
import driftwise as dw
from mine import Mine
study = dw.Study(name="m", worlds={"m": Mine()}, policies={"u": dw.Uniform()}, horizon=100, runs=1)
print(dw.run(study, "r.sqlite").column(study.cells(), "regret")[0])
"""
    regrets = []
    for more, level in ((0.0, 0.5), (0.25, 0.5), (0.25, 0.625)):
        (tmp_path / "mine.py").write_text(world.format(more=more))
        (tmp_path / "settings.py").write_text(f"LEVEL = {level}")
        env = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        )
        regrets.append(float(done.stdout))
    assert len(set(regrets)) == 3


def test_an_error_in_a_run_is_told_and_stops_the_others() -> None:
    class Broken(dw.worlds.Abrupt):
        def tapes(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
            raise RuntimeError("no tape today")

    with pytest.raises(RuntimeError, match="no tape today"):
        dw.run(study(worlds={"broken": Broken()}))


def test_a_results_file_of_the_first_version_is_converted(tmp_path: Path) -> None:
    study = dw.Study(name="old", worlds={"w": dw.worlds.Abrupt()}, policies={"u": dw.Uniform()}, horizon=100, runs=2)
    file = tmp_path / "results.sqlite"
    cells, results = list(study.cells()), dw.run(study, file)
    rounds, values = results.curves(cells)
    results.close()
    with sqlite3.connect(file) as connection:  # as the first version wrote it
        points = connection.execute("select * from curves").fetchall()
        assert len(points) == values.size
        connection.executescript(
            """
            drop view curves; drop table curve_columns; drop table labels; pragma user_version = 0;
            create table curves (key text, t integer, regret real, reward real, optimal real, primary key (key, t));
            """
        )
        connection.executemany("insert into curves values (?, ?, ?, ?, ?)", points)
    again = Results(file)
    assert np.array_equal(again.curves(cells)[0], rounds) and np.array_equal(again.curves(cells)[1], values)
    assert np.array_equal(again.at(cells, int(rounds[-1])), values[:, -1])
    assert [*again.frame()["policy"]] == ["u", "u"]
    with pytest.raises(ParameterError, match="'nothing' is not a curve: there are regret, reward, optimal"):
        again.curves(cells, "nothing")
    again.close()
    with sqlite3.connect(file) as connection:
        connection.execute("pragma user_version = 4")
    with pytest.raises(ParameterError, match="cannot be used as a results file: it was written by a later driftwise"):
        Results(file)


def test_a_results_file_of_the_second_version_keeps_its_labels(tmp_path: Path) -> None:
    file = tmp_path / "results.sqlite"
    dw.run(study(runs=1), file).close()
    with sqlite3.connect(file) as connection:  # as the second version wrote it
        connection.executescript("drop table labels; pragma user_version = 2;")
    results = Results(file)
    labels = {(world, policy) for world in WORLDS for policy in POLICIES}
    assert set(results.frame()[["world", "policy"]].itertuples(index=False, name=None)) == labels
    assert missing(study(runs=1), results) == []


def test_the_repr_of_a_world_with_tables_is_short_and_no_part_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys(world: dw.worlds.LocalLevel) -> list[str]:
        study = dw.Study(name="log", worlds={"log": world}, policies={"p": dw.Uniform()}, horizon=100, runs=2)
        return [cell.key for cell in study.cells()]

    table = tuple((0.1 * row / 128,) * 5 for row in range(128))
    sizes: dict[str, Any] = {"counts": ((10.0,) * 5,) * 128, "labels": tuple("abcde")}
    sizes |= {"noise": (0.5,) * 5, "steps": (0.1,) * 5}
    one = dw.worlds.LocalLevel(means=table, rewards="gaussian", **sizes)
    other = dw.worlds.LocalLevel(means=table[::-1], rewards="gaussian", **sizes)
    assert repr(one) == repr(other) == "LocalLevel(5 arms, 128 bins, gaussian)"
    before = keys(one)
    assert before != keys(other)
    monkeypatch.setattr(dw.worlds.LocalLevel, "__repr__", object.__repr__)
    assert keys(one) == before
