"""`auto` in agents, studies, deployments and on the command line: one word, and the policy of the family plays."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import driftwise as dw
from driftwise.cli.command import main
from driftwise.core.family import FAMILIES, family_of, resolve
from driftwise.core.spec import describe, parse
from driftwise.core.verbs import VERBS
from driftwise.errors import ParameterError
from driftwise.families import POLICIES
from driftwise.service.deployments import queries
from driftwise.study.study import values
from tests.fixtures.engine import create, decide, learn, running


def test_every_family_has_a_policy_for_auto_and_it_can_play() -> None:
    for family in FAMILIES.values():
        player = resolve(dw.Auto(), family.name)
        assert family.accepts(family_of(player)) and type(player) in VERBS["select"].kernels


def test_an_agent_of_auto_is_saved_as_the_policy_that_plays() -> None:
    agent = dw.Agent(dw.Auto(alertness=3, floor=0.1), ["a", "b"], seed=1)
    assert agent.policy == dw.FilterBankUCB(alertness=3.0, floor=0.1)
    for _ in range(20):
        agent.learn(agent.decide(), reward=0.5)
    again = dw.Agent.loads(agent.dumps())
    assert again.policy == agent.policy and again.decide() == agent.decide()


def test_an_option_that_the_family_lacks_is_refused_in_one_sentence() -> None:
    problem = dw.Knapsack(["low", "high"], {"units": 50}, horizon=100)
    with pytest.raises(ParameterError, match=r"^floor=0.1 is not possible in a knapsack problem: .* has no floor$"):
        dw.Agent(dw.Auto(floor=0.1), problem)
    for wrong in (-0.1, 1.5, float("nan")):
        with pytest.raises(ParameterError, match="floor"):
            dw.Agent(dw.Auto(floor=wrong), 3)
    with pytest.raises(ParameterError, match="alertness=-1"):
        dw.Agent(dw.Auto(alertness=-1), 3)


def test_auto_cannot_be_inside_another_policy() -> None:
    with pytest.raises(ParameterError, match="cannot be restarted"):
        dw.Agent(dw.BanditOverBandit(policy=dw.Auto()), 3)


def test_auto_is_text_like_any_policy() -> None:
    policy = parse("auto:alertness=4", POLICIES, "policy")
    assert policy == dw.Auto(alertness=4.0) and describe(policy, POLICIES) == "auto:alertness=4.0"


def test_a_study_names_its_results_auto_and_tells_code_of_families_apart() -> None:
    worlds: dict[str, Any] = {"arms": dw.worlds.Abrupt(n_arms=3), "again": dw.worlds.Stationary(n_arms=3)}
    study = dw.Study(name="s", worlds=worlds, policies={"auto": dw.Auto()}, horizon=200, runs=2)
    results = dw.run(study)
    assert (results.column(study.cells_of("arms", "auto"), "rounds") == 200).all()
    assert study.cells_of("arms", "auto")[0].facts["policy"] == values(dw.Auto())
    assert study.player("arms", "auto") == dw.FilterBankUCB()


def test_simulate_takes_auto() -> None:
    words = ["simulate", "--world", "abrupt:n_arms=3", "--policy", "auto", "--horizon", "200", "--runs", "2", "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "auto" in json.loads(done.stdout)["policies"]


def test_a_deployment_of_auto_replays_exactly(tmp_path: Path) -> None:
    async def serve() -> None:
        async with running(tmp_path / "store.db") as engine:
            created = await create(engine, policy="auto", parameters={"floor": 0.2})
            assert created["policy"] == "auto:floor=0.2"
            for _ in range(12):
                decision = await decide(engine)
                assert 0 < decision["propensity"] <= 1
                await learn(engine, decision["id"])
            assert (await queries.verify(engine, "shop")).identical
        async with running(tmp_path / "store.db") as engine:
            await queries.describe(engine, "shop")
            live = engine.entry("shop").live
            assert live is not None and live.agent.policy == dw.FilterBankUCB(floor=0.2)

    asyncio.run(serve())
