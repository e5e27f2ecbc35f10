"""A policy as an estimator: scikit-learn checks, clones and pickles it, and frames go in."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

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
    before = fitted.agent_.dumps()
    assert fitted.predict(ROWS[:2]).tolist() == ["sun", "rain"]
    assert fitted.decision_function(ROWS[:2]).shape == (2, 2)
    assert fitted.agent_.dumps() == before
    fitted.partial_fit([[0.5, 0.5]], ["snow"], [1.0])
    assert fitted.classes_.tolist() == ["sun", "rain", "snow"]
    assert fitted.fit(ROWS, ACTIONS, REWARDS).classes_.tolist() == ["sun", "rain"]


def test_learns_what_an_agent_learns() -> None:
    fitted = estimator().fit(ROWS, ACTIONS, REWARDS)
    agent = dw.Agent(dw.SlidingLinUCB(window=100), dw.Contextual(["sun", "rain"], context_dim=2))
    for row, arm, reward in zip(ROWS, ACTIONS, REWARDS, strict=True):
        agent.learn(agent.decide(context=row, override=(arm, float("nan"))), reward)
    assert fitted.agent_.dumps() == agent.dumps()


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_and_series_go_in(library: Any) -> None:
    frame = library.DataFrame({"x": ROWS[:, 0], "y": ROWS[:, 1]})
    fitted = estimator().fit(frame, library.Series(ACTIONS), library.Series(REWARDS))
    assert fitted.predict(frame[:2]).tolist() == ["sun", "rain"]


def test_scikit_learn_clones_it() -> None:
    fitted = estimator().partial_fit(ROWS, ACTIONS, REWARDS)
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params() and not hasattr(fresh, "agent_")
    assert fresh.set_params(policy__window=20, seed=5).get_params()["policy"] == dw.SlidingLinUCB(window=20)


class Rewarded(BanditEstimator):
    """An estimator whose rewards are all 1: scikit-learn's checks have none."""

    def fit(self, X: Any, y: Any) -> Any:  # type: ignore[override]
        return super().fit(X, y, np.ones(X.shape[0]))

    def partial_fit(self, X: Any, y: Any, rewards: Any = None) -> Any:
        return super().partial_fit(X, y, np.ones(X.shape[0]) if rewards is None else rewards)


LEFT_OUT = {
    "check_estimators_dtypes": "one of its contexts is all zeros, which no policy can learn from",
    "check_dtype_object": "it wants a TypeError where a context holds an object; a FeatureError is a ValueError",
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [Rewarded("sliding-lin-ucb:window=100")], expected_failed_checks=lambda estimator: LEFT_OUT
)
def test_scikit_learn_finds_nothing_wrong(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def pipeline() -> Pipeline:
    return make_pipeline(StandardScaler(), estimator())


def test_it_stands_at_the_end_of_a_pipeline() -> None:
    fitted = pipeline().fit(ROWS, ACTIONS, banditestimator__rewards=REWARDS)
    assert fitted.predict(ROWS[:2]).tolist() == ["sun", "rain"]
    assert clone(fitted).set_params(banditestimator__policy__window=7)[-1].policy == dw.SlidingLinUCB(window=7)
    assert "BanditEstimator" in fitted._repr_html_()
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), estimator().set_fit_request(rewards=True))
        assert routed.fit(ROWS, ACTIONS, rewards=REWARDS).predict(ROWS[:2]).tolist() == ["sun", "rain"]


def test_its_parameters_are_searched() -> None:
    def earned(fitted: Any, X: Any, y: Any) -> float:
        return float(np.mean(fitted.predict(X) == y))

    search = GridSearchCV(estimator(), {"policy__window": [5, 50]}, scoring=earned, cv=2)
    assert search.fit(ROWS, ACTIONS, rewards=np.array(REWARDS)).best_estimator_.n_features_in_ == 2


def test_it_is_fitted_once_it_has_learned() -> None:
    fresh = estimator()
    for unfitted in (fresh, pipeline()):
        with pytest.raises(NotFittedError):
            check_is_fitted(unfitted)
    with pytest.raises(NotFittedError, match="nothing was learned yet"):
        fresh.predict(ROWS)
    check_is_fitted(fresh.fit(ROWS, ACTIONS, REWARDS))
    assert not hasattr(fresh.set_params(seed=3), "classes_")


def fitted_frame() -> BanditEstimator:
    return estimator().fit(pd.DataFrame(ROWS, columns=["x", "y"]), ACTIONS, REWARDS)


def test_features_have_names_where_columns_do() -> None:
    fitted = fitted_frame()
    assert fitted.n_features_in_ == 2 and fitted.feature_names_in_.tolist() == ["x", "y"]
    assert not hasattr(fitted.fit(ROWS, ACTIONS, REWARDS), "feature_names_in_")


@pytest.mark.parametrize("copy", [deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_know_what_was_learned_and_go_on_alike(copy: Callable[[Any], Any]) -> None:
    fitted = fitted_frame()
    again = copy(fitted)
    for each in (fitted, again):
        each.partial_fit(ROWS, ACTIONS, REWARDS)
    assert again.agent_ is not fitted.agent_ and again.agent_.dumps() == fitted.agent_.dumps()
    assert copy(estimator()).get_params() == estimator().get_params()


def test_rows_are_learned_all_or_none() -> None:
    fitted = estimator().fit(ROWS, ACTIONS, REWARDS)
    before = fitted.agent_.dumps()
    with pytest.raises(DriftwiseError, match="reward=7"):
        fitted.partial_fit(ROWS[:2], ["sun", "snow"], [1.0, 7.0])
    assert fitted.agent_.dumps() == before


def test_numbers_stay_numbers_beside_text() -> None:
    fitted = estimator().fit(ROWS, [3, "rain"] * 30, REWARDS)
    assert fitted.classes_.tolist() == [3, "rain"]


@pytest.mark.system
def test_scikit_learn_is_not_needed() -> None:
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from driftwise.adapters.sklearn import BanditEstimator\n"
        "e = BanditEstimator('sliding-lin-ucb:window=9').fit([[1.0], [2.0]], ['a', 'b'], [0.0, 1.0])\n"
        "print(e.set_params(seed=1), e.fit([[1.0]], ['a'], [1.0]).predict([[2.0]]))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "BanditEstimator('sliding-lin-ucb:window=9', arms=None) ['a']", run.stderr


def test_bad_input_is_one_sentence() -> None:
    cases: list[tuple[Any, type[DriftwiseError], str]] = [
        (lambda: estimator().predict(ROWS), ParameterError, "nothing was learned yet"),
        (lambda: estimator().fit(ROWS, ACTIONS[:3], REWARDS), DriftwiseError, "60 contexts, 3 actions and 60 rewards"),
        (lambda: estimator().fit(["a"], ["a"], [1.0]), DriftwiseError, "contexts are not made of numbers"),
        (lambda: estimator().fit([1.0], ["a"], [1.0]), DriftwiseError, r"contexts have shape \(1,\)"),
        (lambda: estimator().fit([[1.0], [np.nan]], ["a", "a"], [1.0, 1.0]), DriftwiseError, "contexts hold nan"),
        (lambda: estimator().fit([[1j]], ["a"], [1.0]), DriftwiseError, "contexts are complex numbers"),
        (lambda: fitted_frame().predict(ROWS[:, :1]), DriftwiseError, "X has 1 features, but BanditEstimator is"),
        (
            lambda: fitted_frame().predict(pd.DataFrame(ROWS, columns=["y", "x"])),
            DriftwiseError,
            "contexts have the columns y, x; the first had x, y",
        ),
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
