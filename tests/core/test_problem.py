"""Frames and series of pandas whose index names arms, resources or states are read by name, at every entrance."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import driftwise as dw
from driftwise.core.problem import labels_of
from driftwise.errors import DriftwiseError

ROWS = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
FRAME = pd.DataFrame(ROWS.values(), index=list(ROWS), columns=["x", "y"])
SWAPPED = FRAME[::-1]
BUDGETS = {"euros": 100.0, "units": 50.0}
LEVELS = ["low", "high"]
MIXED = {"a": pd.Series({"x": 1.0, "y": 0.0}), "b": pd.Series({"y": 1.0, "x": 0.0})}
LINEAR = dw.SlidingLinUCB(window=50)


def series(values: dict[Any, Any]) -> pd.Series:
    """A series in the other order."""
    return pd.Series(dict(reversed(values.items())))


def contextual(arms: Any = ("a", "b"), policy: Any = LINEAR, **budgets: Any) -> dw.Agent:
    """An agent whose rows come with every decision."""
    kind = dw.ContextualKnapsack if budgets else dw.Contextual
    return dw.Agent(policy, kind(arms, n_features=2, **budgets), seed=0)


def restless(**more: Any) -> dw.Restless:
    problem: dict[str, Any] = {"arms": ["a", "b"], "n_active": 1, "states": LEVELS, "state_rewards": [0.0, 1.0]}
    return dw.Restless(**(problem | more))


def test_the_rows_of_actions_are_those_of_their_arms() -> None:
    for actions in (FRAME, SWAPPED, FRAME.reset_index(drop=True), pl.DataFrame(FRAME), FRAME.to_numpy()):
        agent = contextual()
        for arm, row in ROWS.items():
            decision = agent.decide(actions=actions, override=(arm, 0.5))
            assert decision.context == tuple(row)


def test_whole_numbers_without_a_name_count_rows() -> None:
    """What pandas leaves behind that filters or sorts names no arms."""
    table = pd.DataFrame({"arm": [2, 0, 1], "x": [20.0, 0.5, 10.0], "day": [1, 1, 1]})
    in_order = table.sort_values("arm")[["x"]]  # its index is 1, 2, 0
    agent = dw.Agent(LINEAR, dw.Contextual(3, n_features=1), seed=0)
    assert agent.decide(actions=in_order, override=(0, 0.5)).context == (0.5,)
    by_arm = table.set_index("arm")[["x"]]  # its index has a name
    assert agent.decide(actions=by_arm, override=(0, 0.5)).context == (0.5,)
    later = pd.DataFrame(np.eye(4)[:, 2:])[2:]  # rows 2 and 3 of a longer frame
    assert contextual().decide(actions=later, override=("b", 0.5)).context == (0.0, 1.0)
    agent = dw.Agent(dw.AdaptiveWhittle(), restless(arms=3), seed=0)
    states = pd.DataFrame({"arm": [2, 0, 1], "state": ["high", "low", "low"]}).sort_values("arm")["state"]
    agent.decide(states=states, override=([0], 1.0))
    assert {each.arm: each.state for each in agent.ranking} == {0: "low", 1: "low", 2: "high"}
    slates, decision = slate_of_two()
    clicks = pd.Series([0.0, 0.5, 1.0, 1.0])
    assert slates.learn(decision, rewards=clicks[[0, 3]]) == "learned"


def test_what_has_no_names_goes_by_its_order() -> None:
    amounts = pd.Series([0.0, 5.0, 2.0])
    for pair in (amounts.quantile([0, 1]), amounts.agg(["min", "max"])):
        assert dw.MultiArmed(2, reward_range=pair).reward_range == (0.0, 5.0)
    point = pd.Series({"a": 0.5, "b": 0.25, "c": 0.25})
    assert dw.Convex(dw.simplex(3), initial_point=point).initial_point == [0.5, 0.25, 0.25]


def test_actions_without_arms_are_rows_in_their_order() -> None:
    agent = dw.Agent(LINEAR, dw.Contextual(n_features=2), seed=0)
    assert agent.decide(actions=SWAPPED, override=(0, 0.5)).context == (0.0, 1.0)


def test_features_that_have_names_are_in_the_order_of_the_first_row() -> None:
    arms: Any
    for arms in (MIXED, FRAME, {name: {"x": x, "y": y} for name, (x, y) in ROWS.items()}):
        assert dw.Contextual(arms).arms == ROWS
        assert dw.ContextualKnapsack(arms, budgets=BUDGETS, horizon=100).arms == ROWS


def test_features_of_a_contextual_knapsack_are_those_of_their_arms() -> None:
    agent = contextual(policy=dw.LinPacing(), budgets=BUDGETS, horizon=100)
    assert agent.decide(actions=SWAPPED, override=("b", 0.5)).context[:2] == (0.0, 1.0)


def test_amounts_and_costs_are_those_of_their_resources() -> None:
    problem = dw.Knapsack(
        ["a", "b"], budgets=series(BUDGETS), max_cost=series({"euros": 2.0, "units": 1.0}), horizon=99
    )
    assert problem.budgets == BUDGETS and problem.max_cost == {"euros": 2.0, "units": 1.0}
    agent = dw.Agent(dw.PrequentialPacing(), problem, seed=0)
    agent.learn(agent.decide(), reward=1.0, costs=series({"euros": 2.0, "units": 0.5}))
    agent.change(budgets=series({"euros": 10.0, "units": 20.0}))
    assert agent.remaining == {"euros": 8.0, "units": 19.5}


def test_what_is_known_of_restless_arms_is_by_arm_and_state() -> None:
    moves = pd.DataFrame([[0.9, 0.1], [0.2, 0.8]], index=LEVELS, columns=LEVELS)
    problem = restless(
        state_rewards=series({"low": 0.0, "high": 1.0}),
        activation_cost=series({"a": 2.0, "b": 1.0}),
        arm_types=series({"a": "old", "b": "new"}),
        transitions={"passive": moves.loc[::-1, ::-1]},
    )
    plain = restless(
        activation_cost=[2.0, 1.0], arm_types=["old", "new"], transitions={"passive": moves.to_numpy().tolist()}
    )
    by_frame, by_list = (dw.Agent(dw.AdaptiveWhittle(), each, seed=0) for each in (problem, plain))
    for name, array in by_list._adapter.problem.structure._asdict().items():
        assert np.array_equal(getattr(by_frame._adapter.problem.structure, name), array), name


def test_states_and_rewards_of_restless_arms_are_those_of_their_arms() -> None:
    agents = [dw.Agent(dw.AdaptiveWhittle(), restless(), seed=0) for _ in range(2)]
    for wrap in (series, dict):
        agent = agents.pop()
        decision = agent.decide(states=wrap({"a": "low", "b": "high"}), override=(["a"], 1.0))
        assert decision.context == (0, 1) or decision.context == ("low", "high")
        agent.learn(decision, states=wrap({"a": "high", "b": "low"}))
        assert {each.arm: each.state for each in agent.ranking} == {"a": "low", "b": "high"}


def test_names_of_arms_may_be_a_series() -> None:
    names = pd.Series(["b", "x", "a"])[lambda each: each != "x"]  # its index is 0, 2
    assert dw.MultiArmed(names).arms == ["b", "a"]
    assert restless(arms=names, states=pd.Series(LEVELS, index=[5, 7])).states == LEVELS


def slate_of_two() -> tuple[dw.Agent, Any]:
    agent = dw.Agent(dw.SlidingSlateUCB(window=50), dw.Slate(["a", "b", "c"], slate_size=2), seed=0)
    return agent, agent.decide()


def rewards_by_item() -> None:
    agent, decision = slate_of_two()
    agent.learn(decision, rewards=pd.Series([0.0, 1.0], index=decision.action[::-1]))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: contextual().decide(actions=FRAME.set_axis(["a", "c"])),
            "the index of actions names 'c', which is no arm: there are 'a', 'b'; without an index",
        ),
        (
            lambda: contextual(2).decide(actions=FRAME),
            "the index of actions names 'a', which is no arm: there are 0, 1; without an index",
        ),
        (lambda: contextual().decide(actions=MIXED), "the features of 'b' are ['y', 'x'], those of 'a' ['x', 'y']"),
        (lambda: contextual().decide(actions={"a": {"x": 1.0}, "b": {"x": 2.0}}), "actions is not made of numbers"),
        (
            lambda: dw.Contextual(pd.DataFrame(np.eye(2), index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))),
            "the index has 2 levels",
        ),
        (lambda: contextual().decide(actions=FRAME[:1]), "actions has no row for the arm 'b'"),
        (lambda: contextual().decide(actions=FRAME.set_axis(["a", "a"])), "the index names 'a' twice"),
        (
            lambda: dw.Contextual({"a": pd.Series({"x": 1.0}), "b": pd.Series({"z": 1.0})}),
            "the features of 'b' are named 'z'; those of 'a' are 'x'",
        ),
        (
            lambda: dw.Agent(dw.Auto(), restless()).decide(states=pd.Series(LEVELS, index=["a", "c"])),
            "there is no arm 'c'",
        ),
        (
            lambda: dw.Agent(dw.Auto(), restless(activation_cost=pd.Series({"a": 1.0, "c": 2.0}))),
            "activation_cost names 'c', which is not one of the arms",
        ),
        (rewards_by_item, "is not a list of 2, one per item"),
    ],
)
def test_any_other_names_are_refused_in_one_sentence(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(DriftwiseError) as refused:
        call()
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_labels_are_those_of_pandas_unless_they_count() -> None:
    assert labels_of(FRAME) == ["a", "b"]
    assert labels_of(FRAME.set_axis([9.99, 12.5])) == [9.99, 12.5]
    assert labels_of(FRAME.set_axis(pd.Index([20, 10], name="price"))) == [20, 10]
    assert labels_of(FRAME.set_axis([20, 10])) is None
    for values in (FRAME.reset_index(drop=True), pl.DataFrame(FRAME), FRAME.to_numpy(), [1.0], (1.0,), ROWS, "a", 1.0):
        assert labels_of(values) is None
