"""What a family promises of `auto`: one word works in every problem of it."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np

from driftwise.agent import Agent
from driftwise.checks.contract import agent_for, learn, require
from driftwise.core.family import FAMILIES, Family, check_fit, resolve
from driftwise.core.fixtures import HORIZON, Fixtures, Usage
from driftwise.errors import DriftwiseError, ParameterError
from driftwise.families import Auto
from driftwise.study.run import run
from driftwise.study.study import Study

ROUNDS, SHORT = 30, 5
UNKNOWN = 0.125  # an option that few policies have, at no default


def auto_fits(family: Family) -> None:
    """`auto` is a policy of this family, or of one that plays its problems; options that it lacks are refused."""
    problem = family.fixtures.of().problem
    player = resolve(Auto(), family.name)
    check_fit(player, problem)
    for name in Auto._fields:
        has, error = name in player._fields, None
        try:
            resolve(Auto()._replace(**{name: UNKNOWN}), family.name)
        except ParameterError as refusal:
            error = str(refusal)
        require(has == (error is None), f"{player} of {family.name} {'has' if has else 'lacks'} {name}: {error}")
        require(error is None or name in error, f"the refusal does not name {name}: {error}")


def auto_decides(family: Family) -> None:
    """An agent of `auto` decides as one of the family's policy does, and goes on exactly when saved and loaded."""
    fixtures = family.fixtures.of()
    for how, usage in fixtures.usages.items():
        auto, plain = (agent_for(each, usage, seed=4) for each in (Auto(), resolve(Auto(), family.name)))
        rng = np.random.default_rng(3)
        for i in range(ROUNDS):
            request = usage.request(rng, plain.arms)
            decision, other = auto.decide(**request), plain.decide(**request)
            require(decision == other, f"auto ({family.name}, {how}) decided {decision}, and {plain.policy} {other}")
            outcome = fixtures.outcome(rng, plain.arms)
            for agent in (auto, plain):
                learn(agent, decision, outcome)
            if i == ROUNDS // 2:
                auto = Agent.loads(auto.dumps())
        plain.adapter.name = auto.adapter.name  # errors tell them apart, and nothing else
        require(auto.dumps() == plain.dumps(), f"auto ({family.name}, {how}) ended in a state of its own")


def auto_plays_short_runs(family: Family) -> None:
    """However short the horizon, nothing must be set."""
    fixtures = family.fixtures.of()
    for how, usage in fixtures.usages.items():
        if "horizon" not in usage.problem.__struct_fields__:
            continue
        agent, rng = agent_for(Auto(), usage, seed=7, horizon=SHORT), np.random.default_rng(8)
        for _ in range(SHORT):
            learn(agent, agent.decide(**usage.request(rng, agent.arms)), fixtures.outcome(rng, agent.arms))
        require(agent.t == SHORT, f"auto ({family.name}, {how}) decided {agent.t} of {SHORT} rounds")


def auto_is_studied(family: Family) -> None:
    """A study has results under the name `auto`."""
    world = family.fixtures.of().world
    study = Study(name="auto", worlds={"world": world}, policies={"auto": Auto()}, horizon=HORIZON, runs=1)
    rounds = run(study).column(study.cells_of("world", "auto"), "rounds")
    require(len(rounds) == 1 and rounds[0] > 0, f"auto played {rounds} rounds in {world}")


def auto_is_named_in_errors(family: Family) -> None:
    """An error of an agent of `auto` names the policy of the family, which its user never chose, only beside `auto`."""
    fixtures, inner = family.fixtures.of(), type(resolve(Auto(), family.name)).__name__
    told = [text for how in fixtures.usages.values() for text in _errors(_mistakes(fixtures, how))]
    alone = [text for text in told if inner in re.sub(rf"auto (\(here|is) {inner}\b", "", text)]
    require(not alone, f"errors of auto ({family.name}) name {inner} alone: {alone}")
    require(any(inner in text for text in told), f"no mistake of auto ({family.name}) has an error that names {inner}")


def _mistakes(fixtures: Fixtures, usage: Usage) -> Iterator[Callable[[], Any]]:
    """Calls that an agent refuses: problems without what they need, and arguments that nothing can be done with."""
    rng, problem = np.random.default_rng(5), usage.problem
    for name, default in zip(reversed(problem.__struct_fields__), reversed(problem.__struct_defaults__), strict=False):
        if default is not msgspec.NODEFAULT:
            yield partial(agent_for, Auto(), usage, seed=6, **{name: default})
    agent = agent_for(Auto(), usage, seed=6)
    yield from _refused_calls(agent, fixtures, usage, rng)
    if usage.named:  # arms that come bring another adapter, and so do changes and bytes
        agent.add_arm("one more", **usage.new_arm)
        yield from _refused_calls(agent, fixtures, usage, rng)
    agent.change(horizon=agent.t + HORIZON)
    yield from _refused_calls(agent, fixtures, usage, rng)
    yield from _refused_calls(Agent.loads(agent.dumps()), fixtures, usage, rng)


def _refused_calls(
    agent: Agent, fixtures: Fixtures, usage: Usage, rng: np.random.Generator
) -> Iterator[Callable[[], Any]]:
    yield agent.decide
    yield from (partial(agent.decide, **request) for request in usage.bad_requests)
    decision = agent.decide(**usage.request(rng, agent.arms))
    yield partial(agent.learn, decision)
    yield partial(agent.learn, decision, reward=0.5, rewards=[0.5], costs=0.5, states=[0], gradient=[0.5])
    yield from (partial(agent.learn, decision, **outcome) for outcome in fixtures.bad_outcomes(rng))
    yield partial(agent.add_arm, "surplus", unknown=1.0)
    yield partial(agent.change, unknown=1.0)
    yield from (partial(getattr, agent, name) for each in FAMILIES.values() for name in each.adapter.view_names)


def _errors(calls: Iterator[Callable[[], Any]]) -> Iterator[str]:
    for call in calls:
        try:
            call()
        except (DriftwiseError, AttributeError) as error:
            yield str(error)


FAMILY_CHECKS = (auto_fits, auto_decides, auto_plays_short_runs, auto_is_studied, auto_is_named_in_errors)
