"""What a family promises of `auto`: one word works in every problem of it."""

import numpy as np

from driftwise.agent import Agent
from driftwise.checks.contract import agent_for, learn, require
from driftwise.core.family import Family, check_fit, resolve
from driftwise.core.fixtures import HORIZON
from driftwise.errors import ParameterError
from driftwise.families import Auto
from driftwise.study.run import run
from driftwise.study.study import Study

ROUNDS = 30
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
        require(auto.dumps() == plain.dumps(), f"auto ({family.name}, {how}) ended in a state of its own")


def auto_is_studied(family: Family) -> None:
    """A study has results under the name `auto`."""
    world = family.fixtures.of().world
    study = Study(name="auto", worlds={"world": world}, policies={"auto": Auto()}, horizon=HORIZON, runs=1)
    rounds = run(study).column(study.cells_of("world", "auto"), "rounds")
    require(len(rounds) == 1 and rounds[0] > 0, f"auto played {rounds} rounds in {world}")


FAMILY_CHECKS = (auto_fits, auto_decides, auto_is_studied)
