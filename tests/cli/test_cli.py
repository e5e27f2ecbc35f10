"""The command line as people and programs use it: what it prints, where to, and its exit code.

Most commands run in this process; some of every kind in a process of their own.
"""

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from driftwise.cli import main
from driftwise.cli.docstrings import parameter_rows
from driftwise.core.spec import parameters
from driftwise.families import ORACLES, POLICIES, WORLDS
from tests.fixtures.command_line import driftwise

SIMULATE = ["simulate", "--world", "abrupt", "--horizon", "500", "--runs", "3"]


def in_a_process(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "driftwise.cli", *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.system
def test_help_teaches() -> None:
    text = in_a_process("--help").stdout
    for word in ("demo", "simulate", "policies", "worlds", "driftwise simulate --world abrupt"):
        assert word in text


def test_policies_and_worlds_are_listed_with_what_they_need() -> None:
    text = driftwise("policies", "--long").stdout
    assert "sliding-ucb" in text and "a window fit for the drift" in text and "Garivier & Moulines 2011" in text
    assert "phases=5" in driftwise("worlds", "--long").stdout
    assert "index_k = mean_k + span sqrt(xi ln(min(t, w)) / n_k)" in driftwise("policies", "sliding-ucb").stdout


def test_every_parameter_is_described_those_of_the_classes_above_too() -> None:
    kinds = WORLDS | POLICIES | ORACLES
    assert not [(name, row.name) for name in kinds for row in parameter_rows(kinds[name]) if not row.text]
    text = driftwise("worlds", "abrupt").stdout
    for name, default, meaning in parameter_rows(WORLDS["abrupt"]):
        (line,) = (line for line in text.splitlines() if line.split()[:2] == [name, default])
        assert meaning in line
    assert not [name for name in kinds if f"{name}` lists them" in (kinds[name].__doc__ or "")]


@pytest.mark.system
def test_lists_are_short_grouped_by_family_and_filtered() -> None:
    lines = in_a_process("policies").stdout.splitlines()
    assert lines[0] == "any" and lines[1].split()[0] == "auto" and "multi-armed" in lines
    assert "sliding-ucb" not in driftwise("policies", "--family", "restless").stdout
    needs_nothing = json.loads(driftwise("policies", "--needs", "nothing", "--json").stdout)
    assert needs_nothing and all("nothing" in entry["needs"] for entry in needs_nothing)
    found = driftwise("policies", "whittle").stdout
    assert "sliding-whittle" in found and "sliding-ucb" not in found
    assert "no family of problems called 'banana'" in driftwise("policies", "--family", "banana", code=2).stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--needs", "foo"], "no policy must know 'foo'; words in use: reward, range, drift, horizon,"),
        (["--needs", "foo", "--json"], "no policy must know 'foo'"),
        (["--needs", "foo", "--family", "knapsack"], "no policy of the family knapsack must know 'foo'; words in use:"),
        (["whittle", "--family", "slate"], "no policy called 'whittle'; did you mean"),
    ],
)
def test_a_list_without_an_entry_is_bad_input(words: list[str], says: str) -> None:
    done = driftwise("policies", *words, code=2)
    assert says in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.parametrize("oracle", ORACLES)
def test_an_oracle_is_said_to_be_for_simulations(oracle: str, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("action,reward\n" + "a,1\nb,0\n" * 20, encoding="utf-8")
    for words in (["compile", oracle], ["evaluate", str(log), "--policy", oracle]):
        said = driftwise(*words, code=2).stderr
        assert said == (
            f"driftwise: the policy {oracle} knows the world in advance: it works with `driftwise simulate` and in "
            "studies only\n"
        )
    assert oracle in driftwise("policies").stdout


@pytest.mark.parametrize("command", ["policies", "worlds"])
def test_lists_say_kernel_of_compiled_code_alone(command: str) -> None:
    """What moves a restless arm are its transitions; titles of papers, in italics, have words of their own."""
    entries = json.loads(driftwise(command, "--json").stdout)
    assert "kernel" not in driftwise(command, "--long").stdout.lower()
    for entry in entries:
        if entry["family"] in ("restless", "contextual"):
            page = driftwise(command, entry["name"]).stdout
            assert "kernel" not in re.sub(r"\*[^*]+\*", "", page).lower(), entry["name"]


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_has_the_parameters_that_its_list_shows(name: str) -> None:
    world = WORLDS[name]()
    assert {key: getattr(world, key) for key in parameters(WORLDS[name])} == parameters(WORLDS[name])


def test_lists_as_json() -> None:
    policies = {entry["name"]: entry for entry in json.loads(driftwise("policies", "--json").stdout)}
    assert policies["sliding-ucb"]["parameters"] == {"window": 1000, "xi": 0.6}
    assert set(policies["thompson"]) == {
        *("name", "class", "summary", "parameters"),
        *("needs", "bound", "paper", "drifts", "family", "learns_rewards", "disjoint"),
    }
    assert json.loads(driftwise("worlds", "abrupt", "--json").stdout)["class"] == "Abrupt"


@pytest.mark.system
def test_simulate_json_is_one_document_and_nothing_else() -> None:
    done = in_a_process(*SIMULATE, "--policy", "ucb1", "--policy", "sliding-ucb:window=100,xi=0.5", "--json")
    document = json.loads(done.stdout)
    assert document["world"] == "abrupt" and document["horizon"] == 500 and document["runs"] == 3
    assert list(document["policies"]) == ["ucb1", "sliding-ucb:window=100,xi=0.5"]
    for entry in document["policies"].values():
        assert entry["regret"]["mean"] > 0 and entry["regret"]["ci95"] > 0
        assert 0 < entry["optimal_rate"] < 1 and entry["seconds"] > 0


def test_one_seed_has_no_interval() -> None:
    words = "simulate --world stationary --policy ucb1 --runs 1 --horizon 1e2 --json"
    document = json.loads(driftwise(*words.split()).stdout)
    assert document["horizon"] == 100
    assert document["policies"]["ucb1"]["regret"]["ci95"] is None


@pytest.mark.system
def test_the_same_command_gives_the_same_numbers() -> None:
    def regret(*more: str, alone: bool = False) -> float:
        words = [*SIMULATE, "--policy", "thompson", "--json", *more]
        document = json.loads((in_a_process(*words) if alone else driftwise(*words)).stdout)
        return float(document["policies"]["thompson"]["regret"]["mean"])

    once = regret(alone=True)
    assert once == regret() == regret("--threads", "1")
    assert once != regret("--seed", "1")
    assert once != regret("--delay", "geometric:20", "--lost", "0.1")


def test_out_keeps_results_and_writes_a_report(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "folder"
    for policy in ("ucb1", "thompson"):
        driftwise(*SIMULATE, "--policy", policy, "--out", str(out))
    counts = sqlite3.connect(out / "results.sqlite").execute("select policy, count(*) from cells group by 1").fetchall()
    assert counts == [("thompson", 3), ("ucb1", 3)]
    assert "thompson" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--world", "abrubt", "--policy", "ucb1"], "no world called 'abrubt'; did you mean abrupt?"),
        (["--world", "abrupt", "--policy", "ucb9000"], "no policy called 'ucb9000'"),
        (["--world", "abrupt", "--policy", "ucb1:ksi=2"], "policy ucb1 has no parameter 'ksi': it takes xi"),
        (["--world", "abrupt", "--policy", "ucb1:xi"], "'xi' in 'ucb1:xi' is not param=value"),
        (["--world", "abrupt", "--policy", "ucb1:xi=much"], "xi=much is not a number"),
        (["--world", "abrupt", "--policy", "ucb1:xi=nan"], "xi=nan is not a finite number"),
        (["--world", "abrupt", "--policy", "sliding-ucb:window=0"], "window=0 is not a whole number of at least 1"),
        (["--world", "abrupt", "--policy", "sliding-ucb:window=1.5"], "window=1.5 is not a whole number"),
        (["--world", "abrupt", "--policy", "sliding-ucb", "--horizon", "9"], "window=1000 does not fit the horizon 9"),
        (["--world", "abrupt", "--policy", "sliding-ucb", "--horizon", "500"], "a shorter one, such as window=100\n"),
        (["--world", "abrupt:phases=0", "--policy", "ucb1"], "phases=0 is not a whole number of at least 1"),
        (["--world", "local-level:n_arms=7", "--policy", "ucb1"], "local-level has no parameter 'n_arms'"),
        (["--world", "abrupt:rewards=coins", "--policy", "ucb1"], "rewards=coins is not one of bernoulli, gaussian"),
        (["--world", "abrupt:rewards=gaussian", "--policy", "thompson"], "needs rewards in a bounded range"),
        (["--world", "abrupt", "--policy", "ucb1", "--horizon", "0"], "horizon=0 is not a whole number of at least 1"),
        (
            ["--world", "abrupt", "--policy", "ucb1", "--horizon", "-5"],
            "horizon=-5 is not a whole number of at least 1",
        ),
        (["--world", "abrupt", "--policy", "ucb1", "--horizon", "many"], "horizon=many is not a whole number"),
        (["--world", "abrupt", "--policy", "ucb1", "--runs", "0"], "runs=0 is not a whole number of at least 1"),
        (["--world", "abrupt", "--policy", "ucb1", "--threads", "0"], "threads=0"),
        (["--world", "abrupt", "--policy", "ucb1", "--threads", "2", "--cluster", "local"], "threads=2 goes with this"),
        (["--world", "abrupt", "--policy", "ucb1", "--lost", "1.5"], "lost=1.5 is outside [0, 1)"),
        (["--world", "abrupt", "--policy", "ucb1", "--delay", "soon"], "delay=soon is not a number of rounds"),
        (["--world", "abrupt", "--policy", "ucb1", "--delay", "2.5"], "delay=2.5 is not a whole number"),
        (["--world", "abrupt", "--policy", "ucb1", "--delay", "weekly:3"], "delay kind 'weekly' is not one of"),
        (["--world", "abrupt", "--policy", "ucb1", "--out", "/proc/nowhere"], "--out /proc/nowhere cannot be made"),
        (["--world", "abrupt"], "driftwise: missing option '--policy'. Help: driftwise simulate --help"),
        (["--world", "abrupt", "--policy", "ucb1", "--seed", "1e300"], "is not a whole number"),
        (
            ["--world", "abrupt", "--policy", "ucb1", "--horizon", "1e15"],
            "is not a whole number of at least 1 and at most",
        ),
        (["--world", "abrupt", "--policy", "ucb1", "--delay", "1e12"], "delay=1000000000000.0 is not a whole number"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(words: list[str], says: str) -> None:
    done = driftwise("simulate", *words, code=2)
    assert says in done.stderr and done.stderr.startswith("driftwise: ") and done.stderr.count("\n") == 1
    assert done.stdout == ""


def commands(group: click.Group, *words: str) -> Iterator[list[str]]:
    """The words of every command, and of groups of them."""
    yield [*words]
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *words, name)
        else:
            yield [*words, name]


@pytest.mark.parametrize("words", [*commands(main)], ids=" ".join)
def test_what_a_command_does_not_understand_is_one_line(words: list[str]) -> None:
    for wrong in ("--no-such-option", "-Q"):
        done = driftwise(*words, wrong, code=2)
        assert done.stderr == f"driftwise: no such option '{wrong}'. Help: {' '.join(['driftwise', *words])} --help\n"
        assert done.stdout == ""


def test_a_misspelt_word_is_answered_with_the_right_one() -> None:
    said = driftwise("simulat", code=2).stderr
    assert said == "driftwise: no such command 'simulat'. Did you mean 'simulate'? Help: driftwise --help\n"
    said = driftwise("simulate", "--hroizon", "5", code=2).stderr
    assert "no such option '--hroizon'. Did you mean '--horizon'? Help: driftwise simulate --help" in said


@pytest.mark.system
def test_a_process_that_refuses_ends_with_exit_code_2() -> None:
    done = in_a_process("simulate", "--world", "abrubt", "--policy", "ucb1", code=2)
    assert done.stderr == "driftwise: there is no world called 'abrubt'; did you mean abrupt?\n" and done.stdout == ""


def test_an_unknown_name_in_a_list_is_bad_input_too() -> None:
    assert "no policy called 'qqq': `driftwise policies` lists all" in driftwise("policies", "qqq", code=2).stderr


@pytest.mark.parametrize("command", ["diagnose", "evaluate"])
def test_a_command_that_is_stopped_says_so(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"driftwise.cli.{command}.read_log", stop)
    done = driftwise(command, "log.csv", *(["--policy", "auto"] if command == "evaluate" else []), code=1)
    assert done.stderr.endswith("driftwise: stopped\n") and "Aborted" not in done.output


def test_a_file_of_options_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    done = driftwise("serve", "--config", str(path), code=2)
    assert done.stderr == f"driftwise: --config {path} cannot be read: No such file or directory\n"
