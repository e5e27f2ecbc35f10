"""A policy as an estimator: scikit-learn clones it, and frames go in."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import driftwise as dw
from driftwise.adapters.sklearn import BanditEstimator
from driftwise.errors import ArmError, DriftwiseError, ParameterError

ROWS = np.array([[1.0, 0.0], [0.0, 1.0]] * 30)
ACTIONS = ["sun", "rain", "rain", "sun"] * 15
REWARDS = [1.0, 1.0, 0.0, 0.0] * 15


def estimator(arms: list[str] | None = None) -> BanditEstimator:
    return BanditEstimator(dw.SlidingLinUCB(window=100), arms)


def test_learns_and_predicts_without_changing() -> None:
    fitted = estimator().partial_fit(ROWS, ACTIONS, REWARDS)
    before = fitted._fitted().dumps()
    assert fitted.predict(ROWS[:2]).tolist() == ["sun", "rain"]
    assert fitted.decision_function(ROWS[:2]).shape == (2, 2)
    assert fitted._fitted().dumps() == before
    fitted.partial_fit([[0.5, 0.5]], ["snow"], [1.0])
    assert fitted.classes_.tolist() == ["sun", "rain", "snow"]
    assert fitted.fit(ROWS, ACTIONS, REWARDS).classes_.tolist() == ["sun", "rain"]


def test_learns_what_an_agent_learns() -> None:
    fitted = estimator().fit(ROWS, ACTIONS, REWARDS)
    agent = dw.Agent(dw.SlidingLinUCB(window=100), dw.Contextual(["sun", "rain"], context_dim=2))
    for row, arm, reward in zip(ROWS, ACTIONS, REWARDS, strict=True):
        agent.learn(agent.decide(context=row, override=(arm, float("nan"))), reward)
    assert fitted._fitted().dumps() == agent.dumps()


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_and_series_go_in(library: Any) -> None:
    frame = library.DataFrame({"x": ROWS[:, 0], "y": ROWS[:, 1]})
    fitted = estimator().fit(frame, library.Series(ACTIONS), library.Series(REWARDS))
    assert fitted.predict(frame[:2]).tolist() == ["sun", "rain"]


def test_scikit_learn_clones_it() -> None:
    fitted = estimator().partial_fit(ROWS, ACTIONS, REWARDS)
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params() and fresh.agent_ is None
    assert fresh.set_params(policy__window=20, seed=5).get_params()["policy"] == dw.SlidingLinUCB(window=20)


def test_bad_input_is_one_sentence() -> None:
    cases: list[tuple[Any, type[DriftwiseError], str]] = [
        (lambda: estimator().predict(ROWS), ParameterError, "nothing was learned yet"),
        (lambda: estimator().fit(ROWS, ACTIONS[:3], REWARDS), DriftwiseError, "60 contexts, 3 actions and 60 rewards"),
        (lambda: estimator().fit(["a"], ["a"], [1.0]), DriftwiseError, "contexts are not made of numbers"),
        (lambda: estimator().fit([1.0], ["a"], [1.0]), DriftwiseError, r"contexts have shape \(1,\)"),
        (lambda: estimator().set_params(windw=3), ParameterError, "'windw' is not a parameter"),
        (lambda: estimator().set_params(policy__windw=3), ParameterError, "policy__windw is not a parameter"),
        (
            lambda: estimator(["a"]).fit(ROWS, ACTIONS, REWARDS),
            ArmError,
            "action 'sun' is not one of the arms a",
        ),
        (lambda: BanditEstimator("sliding-lin").fit(ROWS, ACTIONS, REWARDS), ParameterError, "no policy called"),
    ]
    for call, kind, sentence in cases:
        with pytest.raises(kind, match=sentence):
            call()
