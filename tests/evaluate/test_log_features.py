"""Contexts of text, and features of every arm that come with every decision: read, replayed, predicted and fed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftwise as dw
from driftwise.core.verbs import observe
from driftwise.errors import DriftwiseError, LogError
from driftwise.evaluate.logged_problem import problem_of, tape_of
from driftwise.evaluate.logged_rows import rows_as_logged
from driftwise.evaluate.reward_model import design, fit_rewards

ARMS = ("plain", "photo", "video")
DEVICES = ("phone", "tablet", "desk")


def priced(n: int = 3000, seed: int = 0) -> tuple[dw.Log, np.ndarray[Any, Any]]:
    """Prices of all arms change with every decision; whoever shows the cheapest sells most."""
    rng = np.random.default_rng(seed)
    prices, actions = rng.random((n, 3, 1)), rng.integers(0, 3, n)
    means = 0.9 - 0.8 * prices[:, :, 0]
    rewards = (rng.random(n) < means[np.arange(n), actions]).astype(float)
    features = np.concatenate([np.ones((n, 3, 1)), prices], axis=2)
    log = dw.Log.from_arrays(
        actions,
        rewards,
        arms=ARMS,
        features=features,
        feature_names=["one", "price"],
        times=1.79e9 + np.arange(n),
        propensities=np.full(n, 1 / 3),
    )
    return log, means


def same_features(log: dw.Log, other: dw.Log) -> bool:
    assert log.features is not None and other.features is not None
    places = [other.arms.index(arm) for arm in log.arms]
    return log.feature_names == other.feature_names and np.array_equal(log.features, other.features[:, places])


# ---- in ----


def test_a_column_for_every_arm_and_feature_is_guessed_and_written(tmp_path: Path) -> None:
    log, _ = priced(200)
    path = tmp_path / "log.csv"
    log.frame().write_csv(path)
    again = dw.Log.read(path)
    assert same_features(again, log) and again.arms == tuple(sorted(ARMS))
    assert any("features 'plain.one', 'plain.price', 'photo.one'" in note for note in again.notes)
    assert same_features(dw.Log.from_frame(log.frame(), features=["price"]), dw.Log.from_arrays(
        log.actions, log.rewards, arms=ARMS, features=log.features[:, :, 1:], feature_names=["price"]  # type: ignore[index]
    ))  # fmt: skip
    assert dw.Log.read(path, features=[]).features is None


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("form", ["rows by arm", "numbers by name", "rows"])
def test_one_column_may_have_all_features(tmp_path: Path, form: str, kind: str) -> None:
    log, _ = priced(50)
    assert log.features is not None
    cells = {
        "rows by arm": [dict(zip(ARMS, table, strict=True)) for table in log.features.tolist()],
        "numbers by name": [
            {arm: dict(zip(log.feature_names, row, strict=True)) for arm, row in zip(ARMS, table, strict=True)}
            for table in log.features.tolist()
        ],
        "rows": log.features.tolist(),
    }[form]
    actions = [str(k) if form == "rows" else ARMS[k] for k in log.actions]
    frame = {"action": actions, "reward": log.rewards, "features": cells}
    path = tmp_path / f"log.{kind}"
    if kind == "csv":
        pl.DataFrame(frame | {"features": [json.dumps(cell) for cell in cells]}).write_csv(path)
    elif kind == "jsonl":
        pl.DataFrame(frame).write_ndjson(path)
    else:
        pl.DataFrame(frame).write_parquet(path)
    again = dw.Log.read(path)
    assert again.features is not None
    order = [int(arm) if form == "rows" else ARMS.index(arm) for arm in again.arms]
    np.testing.assert_allclose(again.features, log.features[:, order])
    assert again.feature_names == (("one", "price") if form == "numbers by name" else ("feature0", "feature1"))


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        ("action,reward,a.x\na,1,2\nb,0,3\n", {"features": ["x"]}, "'b' was chosen and has no features: a have"),
        ("action,reward,a.x,a.y,b.x\na,1,2,1,2\nb,0,3,1,2\n", {"features": ["x", "y"]}, "'b' has no column b.y"),
        ("action,reward,a.x,b.x\na,1,2,1\nb,0,3,1\n", {"features": ["z"]}, "features='z' is neither a column nor"),
        ("action,reward,f\na,1,2\nb,0,3\n", {"features": "f"}, "column 'f' has no features: a cell is"),
        ("action,reward,a.x,b.x\na,1,u,1\nb,0,v,1\n", {}, "column 'a.x' holds no numbers"),
    ],
)  # fmt: skip
def test_features_that_cannot_be_read_get_a_sentence(
    tmp_path: Path, text: str, options: dict[str, Any], why: str
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(LogError, match=why):
        dw.Log.read(path, **options)


def test_rows_that_lack_features_of_an_arm_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = [
        {"action": "ab"[i % 2], "reward": i % 3, "features": {"a": [1.0], "b": [2.0], "c": [3.0]}} for i in range(9)
    ]
    rows[4]["features"] = {"a": [1.0]}
    path.write_text("\n".join(json.dumps(row | {"features": json.dumps(row["features"])}) for row in rows))
    log = dw.Log.read(path)
    assert log.features is not None and log.features[0, :, 0].tolist() == [1.0, 2.0] and len(log) == 8
    assert any("1 row has not the same features for every arm" in note and "line 5" in note for note in log.notes)
    assert any("never chosen are left out: c" in note for note in log.notes)


def test_columns_with_dots_that_name_no_arms_are_left_alone() -> None:
    frame = pl.DataFrame({"action": ["a", "b"], "reward": [0, 1], "page.size": [1, 2], "site.size": [3, 4]})
    log = dw.Log.from_frame(frame)
    assert log.features is None and any("not used: page.size, site.size" in note for note in log.notes)


def test_the_export_of_a_deployment_has_the_features_of_its_requests() -> None:
    log, _ = priced(30)
    assert log.features is not None
    rows = [
        {
            "id": i,
            "decided_at": f"2026-09-01T10:00:{i:02d}Z",
            "action": ARMS[k],
            "propensity": 0.5,
            "status": "learned",
            "reward": float(log.rewards[i]),
            "outcome_at": f"2026-09-01T10:00:{i:02d}Z",
            "unit": None,
            "request": {"actions": dict(zip(ARMS, log.features[i].tolist(), strict=True))},
        }
        for i, k in enumerate(log.actions)
    ]
    again = dw.Log.from_deployment(rows)
    assert again.features is not None
    np.testing.assert_allclose(again.features, log.features[:, [ARMS.index(arm) for arm in again.arms]])


# ---- replay ----


def test_a_tape_shows_what_an_agent_is_asked_with() -> None:
    log, _ = priced(20)
    log.context = np.random.default_rng(1).random((20, 2))
    rows, policy = rows_as_logged(log), dw.LinUCB()
    value = problem_of(policy, rows, (0.0, 1.0), 20)
    problem, tape = tape_of(policy, value, rows)
    agent = dw.Agent(policy, dw.Contextual(list(ARMS), n_features=2, context_dim=2))
    nature = np.zeros((3, problem.dim))
    for row in (0, 7):
        assert log.features is not None
        request = {"actions": log.features[row], "context": log.context[row]}
        np.testing.assert_allclose(observe(tape, nature, row)[0], agent.adapter.read_request(row, request))


def test_policies_that_read_features_earn_more_and_the_interval_has_the_truth() -> None:
    log, means = priced()
    found = log.evaluate(["auto", "discounted-lin-ucb", "thompson", "fixed:plain"])
    best, value = float(means.max(axis=1).mean()), {name: each.value for name, each in found.policies.items()}
    assert value["auto"] is not None and value["discounted-lin-ucb"] is not None and value["thompson"] is not None
    assert value["auto"].low > 0.6 and value["discounted-lin-ucb"].low > 0.6  # best and uniform: 0.7, 0.5
    assert value["auto"].low <= best and value["thompson"].high < 0.6
    plain = value["fixed:plain"]
    assert plain is not None and plain.low <= float(means[:, 0].mean()) <= plain.high
    scaled = log.evaluate(["discounted-lin-ucb"], standardise=True).policies["discounted-lin-ucb"].value
    assert scaled is not None and scaled.low > 0.6


def test_a_problem_may_say_how_many_features_there_are() -> None:
    log, _ = priced(500)
    problem = dw.Contextual(list(ARMS), n_features=2)
    assert log.evaluate(["lin-ucb"], problem=problem) == log.evaluate(["lin-ucb"], reward_range=(0.0, 1.0))
    with pytest.raises(DriftwiseError, match="n_features=3, and the log has 2 features"):
        log.evaluate(["lin-ucb"], problem=dw.Contextual(list(ARMS), n_features=3))
    with pytest.raises(DriftwiseError, match="has the arm 'other', and the log has no features of it"):
        log.evaluate(["lin-ucb"], problem=dw.Contextual([*ARMS, "other"], n_features=2))


def test_predictions_read_the_features_of_the_arm() -> None:
    log, means = priced(6000)
    model = fit_rewards(3, log.actions, log.rewards, design(None, len(log), log.features))
    late = slice(3000, 6000)
    for arm in range(3):
        assert np.abs(model.predict(np.full(len(log), arm)) - means[:, arm])[late].mean() < 0.05
    mixed = model.expect(np.array([0.5, 0.5, 0.0]))
    assert np.abs(mixed - means[:, :2].mean(axis=1))[late].mean() < 0.05


def test_an_agent_learns_from_the_features_of_a_log() -> None:
    log, _ = priced(600)
    for problem in (dw.Contextual(list(ARMS[::-1]), n_features=2), dw.Contextual(n_features=2)):
        numbered = dw.Log.from_arrays(log.actions, log.rewards, arms=["0", "1", "2"], features=log.features)
        agent = dw.Agent(dw.LinUCB(), problem)
        assert (log if agent.arms else numbered).feed(agent) == 600
        decision = agent.decide(actions=[[1.0, 0.9], [1.0, 0.1], [1.0, 0.8]])
        assert decision.action == ("photo" if agent.arms else 1)
    with pytest.raises(LogError, match="a context of 2 numbers; the log has 0 columns"):
        log.feed(dw.Agent(dw.LinUCB(), dw.Contextual(list(ARMS), context_dim=2)))


# ---- text ----


def test_text_becomes_a_column_for_each_category(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    lines = [f"{'ab'[i % 2]},{i % 3 == 0:d},{DEVICES[i % 3] if i != 7 else ''},{i}" for i in range(30)]
    path.write_text("\n".join(["action,reward,context_device,context_age", *lines]))
    log = dw.Log.read(path)
    assert log.context_names == (*(f"context_device={name}" for name in sorted(DEVICES)), "context_age")
    assert log.context is not None and log.context[:3, :3].tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert log.context[7, :3].tolist() == [0, 0, 0] and log.context[7, 3] == 7
    assert any("'context_device' is text: a column of 0 and 1 for each of 3 categories" in note for note in log.notes)
    assert any("1 row without one has 0 in all" in note for note in log.notes)
    assert log.diagnose().rows == 30


def test_too_many_categories_are_refused_or_left_out() -> None:
    frame = pl.DataFrame(
        {"action": ["a", "b"] * 200, "reward": [0, 1] * 200, "context_page": [f"page {i}" for i in range(400)]}
    )
    with pytest.raises(LogError, match="'context_page' is text with 400 different values, more than 100: group"):
        dw.Log.from_frame(frame, context=["context_page"])
    log = dw.Log.from_frame(frame)
    assert log.context is None and any("more than 100: it is left out" in note for note in log.notes)


def test_categories_serve_as_an_intercept() -> None:
    rng = np.random.default_rng(0)
    device, action = rng.integers(0, 3, 2000), rng.integers(0, 2, 2000)
    reward = (rng.random(2000) < np.where(device == 0, np.where(action == 0, 0.8, 0.1), 0.4)).astype(int)
    frame = pl.DataFrame(
        {"action": [("a", "b")[k] for k in action], "reward": reward, "d": [DEVICES[k] for k in device]}
    )
    log = dw.Log.from_frame(frame, context="d")
    found = log.evaluate(["auto", "fixed:a"])
    assert not any("intercept" in note for note in found.notes)
    assert found.policies["auto"].value is not None and found.policies["auto"].value.mean > 0.45
