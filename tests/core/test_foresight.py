"""Words that stand for numbers: from the problem, and in studies from the world."""

from typing import Any

import pytest
from click.testing import CliRunner

import driftwise as dw
from driftwise.cli import main
from driftwise.core.family import drift_of
from driftwise.core.foresight import NAMED_VALUES, Foresight, has_names, with_numbers
from driftwise.core.seeding import key
from driftwise.core.spec import describe, parse
from driftwise.core.types import Problem
from driftwise.core.validation import cast
from driftwise.errors import ParameterError
from driftwise.families import POLICIES
from driftwise.service.deployments.spec import policy_of
from driftwise.service.http.schemas.requests import DeploymentSpec
from driftwise.study.study import with_foresight


def test_every_word_of_every_policy_is_read_written_and_refused_alike() -> None:
    for name, kind in POLICIES.items():
        for parameter, words in NAMED_VALUES.get(kind, {}).items():
            for word in words:
                policy = parse(f"{name}:{parameter}={word}", POLICIES, "policy")
                assert parse(describe(policy, POLICIES), POLICIES, "policy") == policy == cast(policy)
                assert has_names(policy)
                with pytest.raises(ParameterError):
                    policy.init(Problem(n_arms=3, horizon=1000, dim=2))  # whoever forgets to ask for the number
            with pytest.raises(
                ParameterError, match=f"{parameter}=nonsense is not a number, or one of {next(iter(words))}"
            ):
                parse(f"{name}:{parameter}=nonsense", POLICIES, "policy")


def test_a_study_tells_the_variation_of_every_run() -> None:
    """REXP3 with `true` has the batch for the drift of its run, and nothing else changes."""
    world = dw.worlds.ACMAB(n_arms=5)
    study = dw.Study(name="x", worlds={"w": world}, policies={"r": dw.REXP3(variation="true")}, horizon=500, runs=2)
    found = dw.run(study).column(study.cells(), "regret")
    for run in range(2):
        seed = int(key(study.seed, run, "world"))
        policy = with_foresight(study.policies["r"], world, 500, seed)
        assert policy._asdict() == {"variation": drift_of(world, 500, seed)["sup"], "horizon": 0, "batch": 0}
    assert len(set(found)) == 2


def test_the_variation_is_unknown_outside_studies() -> None:
    with pytest.raises(ParameterError, match="known in studies only"):
        dw.Agent(dw.REXP3(variation="true"), dw.MultiArmed(3, horizon=100))
    with pytest.raises(ParameterError, match="true has no 'a', it takes nothing"):
        with_numbers(dw.REXP3(variation="true(a=1)"), Foresight(Problem(3), lambda measure: 1.0))


def test_a_world_that_stands_still_has_one_batch() -> None:
    state: Any = with_foresight(dw.REXP3(variation="true"), dw.worlds.Abrupt(phases=1), 100, 0).init(
        Problem(3, horizon=100)
    )
    assert state.batch[0] > 100


WINDOWS = {
    "corollary1": 100,
    "corollary1(alpha=0.5)": 10,
    "corollary2(rate=0.001)": 83,
    "corollary3": 100,
    "corollary4(beta=0.25)": 1000,
    "corollary5(sigma=0.0001)": 1000,
    "corollary6": 100,
    "corollary7(alpha=0.5)": 10,
    "corollary8(rate=0.0001)": 10,
    "abrupt": 1213,
    "smooth(sigma=0.001)": 251,
}


def test_the_windows_of_the_corollaries() -> None:
    """By hand for N = 10,000, in agents as in studies; all words of the window are here."""
    for word, rounds in WINDOWS.items():
        agent = dw.Agent(dw.SlidingThompson(window=word), dw.MultiArmed(3, horizon=10_000))
        assert agent.policy.window == rounds
    assert {word.partition("(")[0] for word in WINDOWS} == set(NAMED_VALUES[dw.SlidingThompson]["window"])
    for word, problem in (
        ("corollary2", "needs rate: write corollary2"),
        ("corollary1(beta=1)", "corollary1 has no 'beta', it takes alpha"),
        ("corollary1(alpha=x)", "alpha=x is not a number"),
        ("corollary1(alpha=1)", "alpha=1.0 is outside"),
        ("corollary5(sigma=2)", "sigma=2.0 is outside"),
    ):
        with pytest.raises(ParameterError, match=problem):
            dw.Agent(dw.SlidingThompson(window=word), dw.MultiArmed(3, horizon=10_000))
    with pytest.raises(ParameterError, match="follows from the horizon, which is not known"):
        dw.Agent(dw.SlidingThompson(window="corollary1"), 3)


def test_words_work_inside_other_policies_and_after_a_dump() -> None:
    inner = parse("bandit-over-bandit:policy=(sliding-thompson:window=abrupt(scale=2))", POLICIES, "policy")
    assert with_numbers(inner, Foresight(Problem(3, horizon=10_000))).policy.window == 606
    agent = dw.Agent(dw.SlidingThompson(window="corollary1"), dw.MultiArmed(3, horizon=400))
    assert dw.Agent.loads(agent.dumps()).policy == agent.policy == dw.SlidingThompson(window=20)


def test_words_work_in_the_service() -> None:
    problem = dw.MultiArmed(3, horizon=10_000)
    for fields in ({"policy": "sliding-thompson:window=corollary1"}, {"parameters": {"window": "corollary1"}}):
        spec = DeploymentSpec(name="shop", problem=problem, **{"policy": "sliding-thompson"} | fields)
        assert policy_of(spec)._asdict() == dw.SlidingThompson(window=100)._asdict()
    with pytest.raises(ParameterError, match="known in studies only"):
        policy_of(DeploymentSpec(name="shop", problem=problem, policy="rexp3:variation=true"))
    with pytest.raises(ParameterError, match="window='x' is not a number"):
        policy_of(DeploymentSpec(name="shop", problem=problem, policy="sliding-thompson", parameters={"window": "x"}))


def test_words_work_on_the_command_line() -> None:
    line = [
        "simulate",
        "--world",
        "ac-mab:n_arms=5",
        "--policy",
        "rexp3:variation=true",
        "--horizon",
        "300",
        "--runs",
        "2",
    ]
    answer = CliRunner().invoke(main, [*line, "--json"])
    assert answer.exit_code == 0, answer.output
    bad = CliRunner().invoke(main, [*line[:4], "rexp3:variation=false", *line[5:]])
    assert bad.exit_code == 2 and "variation=false is not a number, or one of true" in bad.output


def test_windows_of_hedging_the_drift_by_name() -> None:
    """With the variation of the world, in its units, or with a number; as their constructors have them."""
    world, horizon = dw.worlds.PiecewiseLinear(instance=3), 2_000
    moved, d = drift_of(world, horizon, 0)["l2"], world.dim
    assert moved is not None
    for policy, known in (
        (dw.SlidingLinUCB(window="optimal", ridge=2.0), dw.SlidingLinUCB.optimal(horizon, d, moved, 0.1, ridge=2.0)),
        (dw.SlidingLinUCB(window="optimal(variation=9)"), dw.SlidingLinUCB.optimal(horizon, d, 9.0, 0.1)),
        (dw.SlidingLinUCB(window="oblivious"), dw.SlidingLinUCB.oblivious(horizon, d, 0.1)),
        (dw.SlidingLinUCB(window="theorem3", scale=0.5), dw.SlidingLinUCB.theorem3(horizon, d, moved)),
        (dw.SlidingLinUCB(window="theorem3(variation=1)"), dw.SlidingLinUCB.theorem3(horizon, d)),
        (dw.SlidingGLMUCB(window="theorem9"), dw.SlidingGLMUCB.theorem9(horizon, d, moved)),
    ):
        assert with_foresight(policy, world, horizon, 0)._asdict()["window"] == known.window
    arms, pair = dw.worlds.SinePair(variation=4.0), drift_of(dw.worlds.SinePair(variation=4.0), horizon, 0)
    assert pair["l2"] is not None and pair["sup"] is not None
    armed = with_foresight(dw.SlidingArmedUCB(window="theorem6"), arms, horizon, 0)
    assert armed == dw.SlidingArmedUCB.theorem6(horizon, 2, pair["l2"])
    shared = with_foresight(dw.EXP3S(gamma="for_variation"), arms, horizon, 0)
    assert shared._asdict()["gamma"] == dw.EXP3S.for_variation(horizon, pair["sup"], 2).gamma
    faded = with_foresight(dw.DiscountedLinUCB(gamma="for_variation"), world, horizon, 0)
    assert faded == dw.DiscountedLinUCB.for_variation(horizon, d, moved)


def test_a_window_by_name_needs_a_horizon_and_outside_studies_a_variation() -> None:
    with pytest.raises(ParameterError, match="it follows from the horizon, which is not known"):
        dw.Agent(dw.SlidingLinUCB(window="theorem3(variation=2)"), dw.Contextual(n_features=2, noise=0.1))
    with pytest.raises(ParameterError, match="known in studies only: give a number"):
        dw.Agent(dw.SlidingLinUCB(window="theorem3"), dw.Contextual(n_features=2, noise=0.1, horizon=100))
    with pytest.raises(ParameterError, match=r"variation=-1 is outside \[0, inf\)"):
        dw.Agent(dw.SlidingLinUCB(window="theorem3(variation=-1)"), dw.Contextual(n_features=2, horizon=100))
