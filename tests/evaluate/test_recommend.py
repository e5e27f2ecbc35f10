"""A recommendation for everything there is, from the table alone; and the command that asks."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path

import msgspec
import pytest

import driftwise as dw
from driftwise.core.family import FAMILIES, resolve
from driftwise.core.spec import parse
from driftwise.core.verbs import ABOUT
from driftwise.errors import ParameterError
from driftwise.evaluate.measured_losses import DRIFTS, mean_losses, read_table
from driftwise.families import POLICIES, WORLDS
from tests.fixtures.command_line import driftwise

COMMAND = [sys.executable, "-m", "driftwise.cli", "recommend"]
KNOWN = list(product([None, *DRIFTS], [None, 500, 10_000, 10**7], [None, 200.0], [False, True]))


@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_every_kind_of_problem_has_a_recommendation_whatever_is_known(kind: str) -> None:
    family = FAMILIES[kind]
    for drift, horizon, delay, propensities in KNOWN:
        found = dw.recommend(kind, drift=drift, horizon=horizon, delay=delay, needs_propensities=propensities)
        problem = next(iter(family.fixtures.of().usages.values())).problem
        problem = msgspec.structs.replace(problem, horizon=horizon or problem.horizon)
        policy = resolve(found.build(), kind)
        policy.init(family.adapter.of(policy, problem).problem)  # refuses what does not fit
        assert found.policy in POLICIES and found.kind == kind
        assert set(found.cost_if_wrong) <= DRIFTS.keys() - {drift}
        assert all(cost.best <= cost.loss for cost in found.cost_if_wrong.values())
        assert all(len(line) > 10 for line in str(found).splitlines())
        json.dumps(found.as_dict(), allow_nan=False)


@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_the_command_names_a_world_and_policies_of_the_kind(kind: str) -> None:
    words = shlex.split(dw.recommend(kind, drift="fast").command)
    assert words[:3] == ["driftwise", "simulate", "--world"]
    world = parse(words[3], WORLDS, "world")
    assert world.problem(1000).family == kind
    policies = [word for before, word in pairwise(words) if before == "--policy"]
    assert parse(policies[0], POLICIES, "policy") == dw.recommend(kind, drift="fast").build()


def test_costs_and_choice_follow_from_the_table() -> None:
    rows = [row for row in read_table() if (row.kind, row.delay, row.horizon) == ("multi-armed", "0", 10_000)]
    found = dw.recommend("multi-armed", horizon=10_000, drift="slow")

    def mean(policy: str, drift: str) -> float:
        losses = [row.loss for row in rows if row.policy == policy and row.drift == drift]
        return sum(losses) / len(losses)

    for drift, cost in found.cost_if_wrong.items():
        least = min({row.policy for row in rows}, key=lambda policy: mean(policy, drift))
        assert cost[:2] == pytest.approx((mean(found.spec, drift), mean(least, drift)))
        assert cost.best_policy == least
    scores = {
        row.policy: 0.7 * mean(row.policy, "slow") + 0.3 * sum(mean(row.policy, d) for d in DRIFTS if d != "slow") / 3
        for row in rows
    }
    assert scores[found.spec] <= min(scores.values()) + 0.005


def test_a_problem_that_a_candidate_refuses_has_another_recommendation() -> None:
    unbounded = dw.recommend(dw.MultiArmed(3, reward_range=None, noise=2.0), drift="abrupt", horizon=10_000)
    agent = dw.Agent(unbounded.build(), dw.MultiArmed(3, reward_range=None, noise=2.0))
    assert agent.decide().action in agent.arms
    assert dw.recommend(["red", "blue"]).kind == dw.recommend(2).kind == "multi-armed"


@pytest.mark.parametrize("kind", ["multi-armed", "contextual"])
@pytest.mark.parametrize("horizon", [None, 1000, 10_000, 30_000])
def test_auto_with_a_floor_has_propensities_with_and_without_features(kind: str, horizon: int | None) -> None:
    found = dw.recommend(kind, horizon=horizon, needs_propensities=True)
    assert found.spec == "auto:floor=0.05" and found.notes == ()


@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_a_policy_of_several_names_is_one_candidate(kind: str) -> None:
    def player(spec: str) -> str:
        return repr(resolve(parse(spec, POLICIES, "policy"), kind))

    for drift, horizon in product([None, *DRIFTS], [None, 10_000]):
        found = dw.recommend(kind, drift=drift, horizon=horizon)
        one, *others = re.findall(r"--policy (\S+)", found.command)
        assert player(one) not in map(player, others)
        for cost in found.cost_if_wrong.values():
            assert player(cost.best_policy) != player(one) or cost.best_policy == found.spec
        candidates = {player(name) for name in mean_losses(kind, horizon=horizon or 0)}
        count = re.search(r"\((\d+) candidates", found.reason)
        assert count and int(count[1]) <= len(candidates)


def test_signs_and_words_agree() -> None:
    lines = str(dw.recommend("convex")).splitlines()
    (slow,) = (line for line in lines if line.startswith("if slow"))
    assert re.search(r"it earns 1\.\d% more than the comparator \(virtual-queue:\S+ earns 1\.9% more\)", slow)
    assert not [line for line in lines if re.search(r"-\d", line)]
    assert any("(no candidate earns more)" in line for line in lines)
    assert "(no candidate loses less)" in str(dw.recommend("restless"))
    assert "-1." not in dw.recommend("convex")._repr_html_()


@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_what_a_policy_was_told_in_the_measured_worlds_is_a_note(kind: str) -> None:
    for drift, horizon, delay, propensities in KNOWN:
        found = dw.recommend(kind, drift=drift, horizon=horizon, delay=delay, needs_propensities=propensities)
        needs = ABOUT[type(resolve(found.build(), kind))].needs
        told = [each for each in needs.split("; ") if "nothing" not in each and "fit for the drift" not in each]
        notes = [note for note in found.notes if note.startswith("in the measured worlds it was told")]
        assert len(notes) == bool(told)
        assert all(f"({'; '.join(told)})" in note and note in str(found) for note in notes)


def test_where_the_noise_is_not_known_auto_is_named() -> None:
    told = "in the measured worlds it was told what it needs to know (the reward range, or the noise)"
    found = dw.recommend("contextual", horizon=10_000)
    assert (found.spec, found.notes) == ("kalman-mixture", (f"{told}; where you do not know that, run auto",))
    late = dw.recommend("contextual", horizon=10_000, delay=100.0, needs_propensities=True)
    measured = "late rewards were measured with delays in rounds that are geometric:100"
    assert late.notes == (f"{told}; where you do not know that, run auto:floor=0.05", measured)
    assert dw.recommend("knapsack").notes == (
        f"{told.partition(' (')[0]} (horizon and budgets)",
    )  # auto needs them too


def test_propensities_are_those_of_a_policy_that_draws() -> None:
    random = {row.policy for row in read_table() if row.propensities != "none"}
    found = dw.recommend("multi-armed", needs_propensities=True, drift="abrupt")
    assert found.spec in random
    assert "override" in dw.recommend("slate", needs_propensities=True).notes[-1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"problem": "multi-arm"}, "there is no kind of problem called 'multi-arm'; did you mean multi-armed?"),
        ({"drift": "quick"}, "drift=quick is not one of unknown, none, slow, fast, abrupt"),
        ({"horizon": -1}, "horizon=-1 is not a whole number of at least 0"),
        ({"delay": -2.0}, "delay=-2.0 is outside"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        dw.recommend(**options)  # type: ignore[arg-type]


@pytest.mark.system
def test_the_command_without_a_terminal_takes_defaults_and_prints_one_document() -> None:
    done = subprocess.run([*COMMAND, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == json.loads(json.dumps(dw.recommend().as_dict()))
    refused = driftwise("recommend", "--kind", "roulette", code=2)
    assert "no kind of problem called 'roulette'" in refused.stderr


def on_a_terminal(*answers: str) -> "subprocess.CompletedProcess[str]":
    """What the command prints to somebody who types these answers."""
    ours, theirs = pty.openpty()
    os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
    done = subprocess.run(COMMAND, stdin=theirs, capture_output=True, text=True, check=True, timeout=60)
    os.close(ours)
    os.close(theirs)
    return done


@pytest.mark.system
def test_on_a_terminal_it_asks_for_what_is_missing() -> None:
    done = on_a_terminal("", "10000", "", "abrupt", "y")  # the usual kind, a horizon, no delay, a drift, propensities
    asked = dw.recommend(horizon=10_000, drift="abrupt", needs_propensities=True)
    assert done.stdout.strip() == str(asked)
    assert "How does it drift?" in done.stderr and "one arm, without features" in done.stderr


@pytest.mark.system
def test_a_kind_has_a_name_and_a_number_and_a_bad_answer_is_asked_for_again() -> None:
    rule = f"neither a number from 1 to {len(FAMILIES)} nor one of {', '.join(FAMILIES)}"
    refusals = [
        f"kind=0 is {rule}",
        f"kind=multi-arm is {rule}",
        "horizon=soon is not a whole number of at least 0",
        "horizon=-3 is not a whole number of at least 0",
        "delay=later is not a number of at least 0",
        "delay=-2 is not a number of at least 0",
        "drift=quick is not one of unknown, none, slow, fast, abrupt",
    ]
    done = on_a_terminal(
        *("0", "multi-arm", "contextual"), *("soon", "-3", "1e4"), *("later", "-2", "100"), *("quick", "slow"), "n"
    )
    assert re.findall(r"Error: (.*)", done.stderr) == refusals
    assert done.stdout.strip() == str(dw.recommend("contextual", horizon=10_000, delay=100.0, drift="slow"))
    by_number = on_a_terminal(str(list(FAMILIES).index("contextual") + 1), "1e4", "100", "slow", "n")
    assert by_number.stdout == done.stdout


def test_the_numbers_of_the_readme_are_those_of_the_table() -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"Measured over worlds .*?choosing at random [\d.]+ %", page, re.DOTALL)
    losses = {name: sum(by_drift.values()) / 4 for name, by_drift in mean_losses(horizon=10_000).items()}
    best = min(loss for name, loss in losses.items() if not name.startswith("auto"))
    named = (losses["auto"], best, losses["thompson"], losses["bandit-over-bandit:policy=sliding-thompson"])
    written = [f"{loss:.1%}".replace("%", " %") for loss in (*named, losses["uniform"])]
    assert re.findall(r"\d+\.\d %", sentence) == written


@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_auto_is_measured_in_every_kind_and_loses_what_the_policy_loses_that_it_stands_for(kind: str) -> None:
    stands_for = resolve(dw.Auto(), kind)
    rows = {row[:7]: row for row in read_table() if row.kind == kind and row.policy == "auto"}
    assert {row.drift for row in rows.values()} == DRIFTS.keys()
    for row in read_table():
        if row.kind == kind and row.policy != "auto" and parse(row.policy, POLICIES, "policy") == stands_for:
            auto = rows[row[:7]]  # another name is another stream of luck, where a policy draws
            assert abs(row.loss - auto.loss) <= row.ci95 + auto.ci95, row
