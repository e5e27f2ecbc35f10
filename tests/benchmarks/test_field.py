"""Comparisons with other libraries, in small and without them: tapes, regret, ticks of the table of features."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import bench, live_linear, regret_against_peers
from benchmarks.peers import features, timing
from benchmarks.peers.regret_file import RegretFile
from benchmarks.peers.timing import Case, Options
from benchmarks.regret_against_peers import DEFAULTS, EQUAL, LINEAR, Duel
from benchmarks.sizes import QUICK
from benchmarks.table import Row
from benchmarks.tapes import DrawnWorld, draw_arms, draw_contexts, play
from driftwise.families import Abrupt, Uniform

ROOT = Path(__file__).resolve().parents[2]


class Turns:
    """A library that takes turns, and remembers the rewards it was told."""

    def __init__(self) -> None:
        self.rewards: list[float] = []

    def play(self, rounds: Any) -> list[int]:
        """As a peer's script does: one reward a round is read, that of the arm chosen."""
        chosen = []
        for t, (uniform, means) in enumerate(rounds):
            arm = t % len(means)
            self.rewards.append(1.0 if uniform < means[arm] else 0.0)
            chosen.append(arm)
        return chosen


@pytest.fixture(scope="module")
def abrupt() -> DrawnWorld:
    return draw_arms(Abrupt(n_arms=3, phases=2), horizon=60, runs=2)


def test_a_peer_meets_the_rewards_that_were_drawn(abrupt: DrawnWorld, tmp_path: Path) -> None:
    file = tmp_path / "tape.npz"
    abrupt.write(file)
    assert set(np.load(file)) == {"rewards"}  # the means stay on our side
    players: list[Turns] = []

    def fresh() -> Turns:
        players.append(Turns())
        return players[-1]

    options = Options(rounds=50, arms=3, window=10, seed=0, tape=str(file))
    actions = timing.play_tape("turns", options, lambda _: {"turns": Case(fresh, "")}, Turns.play)
    assert actions == [[t % 3 for t in range(60)]] * 2
    for run, player in enumerate(players):
        assert player.rewards == [abrupt.rewards[run, t, t % 3] for t in range(60)]


def test_contexts_come_with_the_rewards_in_the_form_a_library_takes(tmp_path: Path) -> None:
    drawn = draw_contexts(n_arms=2, phases=2, horizon=20, runs=1)
    assert drawn.contexts is not None
    drawn.write(tmp_path / "tape.npz")

    def alone(policy: None, rounds: Any) -> list[int]:
        assert [context for _, _, context in rounds] == list(map(tuple, drawn.contexts[0].tolist()))  # type: ignore[index]
        assert [row[1] + noise for noise, row, _ in rounds] == drawn.rewards[0, :, 1].tolist()
        return [1 for _ in rounds]

    options = Options(rounds=10, arms=2, window=10, seed=0, tape=str(tmp_path / "tape.npz"))
    case = Case(lambda: None, "", form=tuple, play=alone)
    assert timing.play_tape("alone", options, lambda _: {"alone": case}, alone) == [[1] * 20]


def test_regret_is_what_the_best_arm_of_every_round_earns_more(abrupt: DrawnWorld) -> None:
    best = abrupt.means.argmax(axis=2)
    assert abrupt.regret(best).tolist() == [0.0, 0.0]
    assert (abrupt.regret(abrupt.means.argmin(axis=2)) > 0).all()
    assert len(abrupt.first(1).regret(best[:1])) == 1


def test_our_side_plays_the_same_tape_twice_alike(abrupt: DrawnWorld) -> None:
    actions = play(Uniform(), abrupt)
    assert actions.shape == (2, 60) and set(actions.ravel()) == {0, 1, 2}
    assert (actions == play(Uniform(), abrupt)).all()


@pytest.mark.parametrize(
    ("theirs", "winner"),
    [([11.0, 12.0, 11.5], "ours"), ([9.0, 8.0, 8.5], "river"), ([9.0, 11.0, 10.1], "")],
)
def test_a_side_is_better_only_beyond_luck(theirs: list[float], winner: str) -> None:
    duel = Duel("abrupt", "ucb1", "river", np.array([10.0, 10.0, 10.0]), np.array(theirs))
    assert duel.winner == winner


class FirstArm:
    """River and pymab as libraries that always play the first arm; what was asked of them is remembered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, world: DrawnWorld) -> None:
        self.world, self.requests = world, list[tuple[str, str]]()
        self.missing: tuple[str, ...] = ()  # libraries that cannot be installed
        self.broken: tuple[str, ...] = ()  # cases that raise
        self.last: str | None = None  # the case at which the user stops the program
        monkeypatch.setattr(regret_against_peers, "python_of", self.python_of)
        monkeypatch.setattr(regret_against_peers, "ask", self.ask)
        monkeypatch.setattr(regret_against_peers, "our_policy", lambda case, horizon: Uniform())

    def python_of(self, peer: str) -> None:
        if peer in self.missing:
            raise RuntimeError("no wheel")

    def ask(self, peer: str, *words: str) -> dict[str, Any]:
        case = words[words.index("--cases") + 1]
        if case == self.last:
            raise KeyboardInterrupt
        self.requests.append((peer, case))
        return {"cases": {} if case in self.broken else {case: np.zeros((2, 60), int).tolist()}}

    def compare(self, file: Path | None = None) -> list[Row]:
        return regret_against_peers.compare({"abrupt": self.world}, ["river", "pymab"], RegretFile(file, 60))


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch, abrupt: DrawnWorld) -> FirstArm:
    return FirstArm(monkeypatch, abrupt)


def test_peers_that_do_not_run_are_said_so_and_the_others_play(libraries: FirstArm) -> None:
    libraries.missing, libraries.broken = ("pymab",), ("sliding-thompson",)
    found = libraries.compare()
    names = [each.name for each in found if each.ratio is not None]
    assert names == [
        "regret, ucb1, river's / ours",
        "regret, thompson, river's / ours",
        "regret, abrupt, river default / auto",
    ]
    failures = {each.name: each.note for each in found if each.ratio is None}
    assert failures == {
        "regret, abrupt, river sliding-thompson / sliding-thompson": "not measured: river's breaks",
        "regret, pymab's / ours": "not measured: pymab does not run here",
    }


def test_a_comparison_that_was_stopped_plays_only_what_is_missing(libraries: FirstArm, tmp_path: Path) -> None:
    file = tmp_path / "new" / "regret.json"
    libraries.last = "kl-ucb"
    with pytest.raises(KeyboardInterrupt):
        libraries.compare(file)
    before = set(libraries.requests)
    libraries.last, libraries.requests = None, []
    assert libraries.compare(file) == libraries.compare()
    assert before == {*(("river", case) for case in _of_arms("river")), ("pymab", "ucb1")}
    after = libraries.requests[: -len(_of_arms("river") + _of_arms("pymab"))]  # the last were asked without the file
    assert after == [("pymab", case) for case in _of_arms("pymab") if case != "ucb1"]


def _of_arms(peer: str) -> list[str]:
    return [case for case in (*EQUAL[peer], *DEFAULTS[peer]) if not case.startswith("lin")]


def test_a_file_of_regrets_is_of_one_horizon(tmp_path: Path) -> None:
    file = tmp_path / "regret.json"
    RegretFile(file, 60).of("abrupt", "driftwise auto", 1, lambda: np.ones(1))
    assert RegretFile(file, 60).of("abrupt", "driftwise auto", 1, lambda: np.zeros(1)) == [1.0]
    assert len(RegretFile(file, 60).of("abrupt", "driftwise auto", 2, lambda: np.zeros(2))) == 2
    with pytest.raises(ValueError, match="is of horizon 60, not 70; name another file"):
        RegretFile(file, 70)


def test_every_case_of_equal_settings_has_a_policy_of_ours() -> None:
    for case in {case for cases in EQUAL.values() for case in cases}:
        assert regret_against_peers.our_policy(case, 3000) is not None
    assert LINEAR in regret_against_peers.worlds(600, 2)


def test_sections_against_the_field_are_in_the_bench() -> None:
    assert {"regret", "agent with features"} <= set(bench._sections(QUICK, peers=True))
    assert set(live_linear.PEERS) >= {"vowpalwabbit", "bayesianbandits"}


def test_ticks_of_ours_are_tests_and_the_documentation_has_the_table() -> None:
    assert features.missing_tests() == []
    assert features.table() in (ROOT / "docs" / "field.md").read_text(encoding="utf-8")


def test_a_name_that_is_missing_is_found() -> None:
    names = ["json:dumps", "json:dumps(indent)", "json:dump_all", "json:dumps(colour)", "no_such_library:x"]
    assert features.unresolved(names) == names[2:]
    assert features.unresolved(["pathlib:Path.read_text"]) == []
