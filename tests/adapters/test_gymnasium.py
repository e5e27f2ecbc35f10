"""Worlds as environments: Gymnasium's own checker passes for all, and rewards are those of a study."""

import warnings
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import driftwise as dw
import driftwise.extend as dx
from driftwise.adapters.gymnasium import WorldEnv, env_id, make
from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.errors import ExtraError, ParameterError

HORIZON = 40


class ScriptState(NamedTuple):
    """What to do in every round."""

    actions: dx.Shared


class OneScript(NamedTuple):
    """Chooses what a script says: one arm."""


class ManyScript(NamedTuple):
    """Chooses what a script says: several arms, or a point."""


def problem_of(name: str) -> dx.Problem:
    """What policies may know of a world."""
    problem: dx.Problem = dw.WORLDS[name]().problem(HORIZON)
    return problem


@dx.kernel
def _one(policy: OneScript, state: ScriptState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return state.actions[t], 1.0


@dx.kernel
def _many(policy: ManyScript, state: ScriptState, t: int, context: Any, rng: Any) -> tuple[Any, float]:
    return state.actions[t], 1.0


@dx.kernel
def _learn(policy: Any, state: ScriptState, decision: Any, outcome: Any, now: int) -> None:
    pass


dx.register(OneScript, select=_one, update=_learn)
dx.register(ManyScript, select=_many, update=_learn)


@pytest.mark.parametrize("family", sorted({problem_of(name).family for name in dw.WORLDS}))
def test_every_world_of_a_family_is_an_environment(family: str) -> None:
    """One test per family: its worlds share their compiled tapes."""
    for name in dw.WORLDS:
        if problem_of(name).family == family:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*(render modes|infinity)")  # features have no bounds
                check_env(WorldEnv(name, horizon=HORIZON))
            check_rewards(name)


def check_rewards(name: str) -> None:
    """The same actions earn what they earn in a study."""
    env = make(name, HORIZON)
    env.action_space.seed(3)
    env.reset(seed=11)
    env.reset()  # run 1 of the study
    actions, rewards = [], []
    over = False
    while not over:
        action = env.action_space.sample()
        _, reward, terminated, truncated, _ = env.step(action)
        actions.append(env.read_action(action))
        rewards.append(reward)
        over = terminated or truncated
    script = np.array([*actions, *([actions[-1]] * (HORIZON - len(actions)))])
    tape, nature = env.world.draw(HORIZON, int(key(11, 1, "world")))
    trace = trace_for(env.problem, 0, HORIZON)
    policy = OneScript() if script.ndim == 1 else ManyScript()
    assert play(policy, ScriptState(script), tape, nature, key(0), trace, HORIZON) == len(rewards)
    np.testing.assert_array_equal(trace.rewards[: len(rewards)], rewards)


def test_the_sum_of_rewards_is_that_of_a_run() -> None:
    study = dw.Study(name="s", worlds={"w": dw.worlds.Abrupt()}, policies={"p": dw.Uniform()}, horizon=HORIZON, runs=1)
    (total,) = dw.run(study).column(study.cells(), "reward")
    tape, nature = study.worlds["w"].draw(HORIZON, int(key(0, 0, "world")))
    trace = trace_for(study.worlds["w"].problem(HORIZON), 0, HORIZON)
    (cell,) = study.cells()
    stream = key(0, 0, "policy", sorted(cell.facts["policy"].items()))
    play(dw.Uniform(), dw.Uniform().init(study.worlds["w"].problem(HORIZON)), tape, nature, stream, trace, HORIZON)
    env = make(dw.worlds.Abrupt(), HORIZON)
    env.reset(seed=0)
    assert sum(env.step(int(action))[1] for action in trace.actions) == total


def test_registered_by_name_with_parameters_of_the_world() -> None:
    env = gymnasium.make(env_id("abrupt"), horizon=30, n_arms=3)
    assert env.action_space == gymnasium.spaces.Discrete(3)
    env.reset(seed=1)
    steps = [env.step(0) for _ in range(30)]
    assert [step[3] for step in steps] == [False] * 29 + [True]
    assert {env_id(name) for name in dw.WORLDS} <= set(gymnasium.registry)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make("abrpt"), "there is no world called 'abrpt'; did you mean abrupt"),
        (lambda: make(3), "world=3 is not a world"),  # type: ignore[arg-type]
        (lambda: make("abrupt", 0), "horizon=0 is not a whole number of at least 1"),
        (lambda: make(dw.worlds.Delayed(world=dw.worlds.Abrupt(), delay=5)), "Gymnasium has no late rewards"),
        (lambda: make("abrupt").step(0), "the episode is over: call reset"),
        (lambda: _started().step(7), r"action=7 is not in Discrete\(5\)"),
        (lambda: gymnasium.make(env_id("abrupt"), arms=3), "world abrupt has no parameter 'arms': it takes"),
    ],
)
def test_bad_input_is_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises((ParameterError, ExtraError), match=sentence):
        call()


def _started() -> WorldEnv:
    env = make("abrupt", 10)
    env.reset(seed=0)
    return env
