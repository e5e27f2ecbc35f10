"""The benchmarks lose nothing: every section is written as it is measured, and one that fails leaves the others."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import against_linear_peers, bench
from benchmarks.peers.timing import Options
from benchmarks.report import Curve
from benchmarks.scaling import cost_by_arms
from benchmarks.sizes import QUICK
from benchmarks.table import row
from driftwise.core.family import check_fit


def test_the_games_against_peers_are_for_the_policies_that_play_them() -> None:
    game = against_linear_peers.game(Options(rounds=4, arms=against_linear_peers.ARMS, window=4, seed=0))
    check_fit(game.policy, game.problem)


def broken() -> Any:
    raise AttributeError("no domain")


def stopped() -> Any:
    raise KeyboardInterrupt


SECTIONS: dict[str, Any] = {
    "speed": lambda: [row("speed", unit="s", ours=1.0)],
    "broken": broken,
    "costs": lambda: Curve("costs", "costs", "K", {"uniform": {2: 10.0}}),
}


def measured(file: Path) -> Any:
    return json.loads(file.read_text())


def test_a_section_that_fails_is_reported_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_sections", lambda sizes, peers: SECTIONS)
    file = tmp_path / "new" / "bench.json"
    assert bench.main(["--quick", "--out", str(file)]) == 1
    found = measured(file)
    assert found["finished"] and found["failures"] == {"broken": "AttributeError: no domain"}
    assert [each["name"] for each in found["rows"]] == ["speed", "broken"]
    assert found["costs"] == {"uniform": {"2": 10.0}}
    assert "not measured: broken: AttributeError: no domain" in " ".join(capsys.readouterr().out.split())


def test_what_was_measured_is_written_though_the_rest_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "_sections", lambda sizes, peers: {"speed": SECTIONS["speed"], "stopped": stopped})
    file = tmp_path / "bench.json"
    with pytest.raises(KeyboardInterrupt):
        bench.main(["--quick", "--out", str(file)])
    found = measured(file)
    assert not found["finished"] and [each["name"] for each in found["rows"]] == ["speed"]


def test_sections_are_measured_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_sections", lambda sizes, peers: SECTIONS)
    file = tmp_path / "bench.json"
    assert bench.main(["--quick", "--only", "costs", "speed", "--out", str(file)]) == 0
    found = measured(file)
    assert [each["name"] for each in found["rows"]] == ["speed"] and "costs" in found
    with pytest.raises(SystemExit) as stop:
        bench.main(["--only", "spede"])
    assert stop.value.code == 2
    assert "unknown sections: spede; known: speed, broken, costs" in capsys.readouterr().err


def test_policies_that_do_not_fit_are_left_out_of_the_costs(capsys: pytest.CaptureFixture[str]) -> None:
    misfits = "virtual-queue", "sliding-slate-ucb", "sliding-lin-ucb", "greedy-ratio", "wiql"
    costs = cost_by_arms(QUICK._replace(policies=("uniform", *misfits)))
    assert list(costs) == ["uniform"]
    assert f"left out of these costs, made for other problems: {', '.join(sorted(misfits))}" in capsys.readouterr().err
