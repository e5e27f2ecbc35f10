"""`Log.evaluate`: known truths, periods, comparisons, and one clear sentence for what cannot be evaluated."""

import json
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.cli.evaluation_table import show_evaluation
from driftwise.errors import DriftwiseError
from driftwise.evaluate.adaptivity import SURE, dependence
from driftwise.evaluate.evaluation import Evaluation
from driftwise.evaluate.off_policy import METHODS
from driftwise.evaluate.propensity_model import estimate_propensities

MEANS = np.array([0.2, 0.5, 0.35])
SHARES = np.array([0.6, 0.3, 0.1])
START = 1_772_323_200.0  # 2026-03-01, midnight in UTC


def draw(n: int = 4000, seed: int = 0, **options: Any) -> dw.Log:
    rng = np.random.default_rng(seed)
    actions = rng.choice(3, n, p=SHARES)
    rewards = (rng.random(n) < MEANS[actions]).astype(float)
    fields: dict[str, Any] = {"arms": ["a", "b", "c"], "propensities": SHARES[actions]} | options
    return dw.Log.from_arrays(actions, rewards, **fields)


def value(found: Evaluation, name: str) -> Any:
    each = found.policies[name].value
    assert each is not None
    return each


@pytest.mark.parametrize("method", ["dr", "ips", "snips", "switch-dr"])
def test_intervals_have_the_truth_of_fixed_policies(method: str) -> None:
    """Of 60 logs the interval misses the truth in 3 on average; more than 8 would come once in 200."""
    misses = {"fixed:a": 0, "fixed:c": 0, "uniform": 0}
    truths = {"fixed:a": 0.2, "fixed:c": 0.35, "uniform": MEANS.mean()}
    for seed in range(60):
        found = draw(1000, seed).evaluate(list(truths), method=method, periods=1)
        for name, truth in truths.items():
            misses[name] += not value(found, name).low <= truth <= value(found, name).high
    assert max(misses.values()) <= 8


def test_a_policy_that_learns_earns_more_than_the_log() -> None:
    found = draw(20_000).evaluate(["ucb1", "logged", "fixed:b"])
    learned, logged = found.policies["ucb1"], found.logged
    assert logged.value is not None
    assert logged.value.mean == pytest.approx(SHARES @ MEANS, abs=0.02)
    assert found.policies["logged"] == logged
    assert learned.acceptance == pytest.approx(0.1, abs=0.01)
    assert 0.4 < value(found, "ucb1").mean < 0.52
    gains = {(each.policy, each.against): each.difference for each in found.comparisons}
    assert set(gains) == {("ucb1", "logged"), ("fixed:b", "logged"), ("fixed:b", "ucb1")}
    assert gains["ucb1", "logged"].low > 0.1
    assert gains["ucb1", "logged"].mean == pytest.approx(value(found, "ucb1").mean - logged.value.mean)


def test_differences_are_narrower_than_values() -> None:
    rng = np.random.default_rng(0)
    probabilities = np.tile(SHARES, (4000, 1)) * 0.9
    probabilities[np.arange(4000), rng.integers(0, 3, 4000)] += 0.1
    found = draw().evaluate({"near": probabilities})
    (pair,) = found.comparisons
    width = value(found, "near").high - value(found, "near").low
    assert pair.difference.high - pair.difference.low < 0.5 * width


def test_drift_shows_by_period() -> None:
    rng = np.random.default_rng(0)
    n = 10_000
    actions = rng.integers(0, 2, n)
    early = np.arange(n) < n // 2
    means = np.where(early, np.where(actions == 0, 0.8, 0.2), np.where(actions == 0, 0.2, 0.8))
    times = START + np.arange(n) * 8640.0 / n * 20.0  # two days
    log = dw.Log.from_arrays(actions, rng.random(n) < means, arms=["x", "y"], times=times, propensities=np.full(n, 0.5))
    found = log.evaluate(["fixed:x"], periods="day")
    first, second = found.policies["fixed:x"].periods
    assert first.value is not None and second.value is not None
    assert first.value.low < 0.8 < first.value.high and second.value.low < 0.2 < second.value.high
    assert first.as_dict()["start_at"] == "2026-03-01T00:00:00+00:00"
    assert value(found, "fixed:x").low < 0.5 < value(found, "fixed:x").high
    assert len(log.evaluate(["fixed:x"], periods=4).policies["fixed:x"].periods) == 4


def test_late_and_lost_rewards() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    actions, times = rng.integers(0, 2, n), START + np.arange(n) * 60.0
    rewards = (rng.random(n) < np.where(actions == 0, 0.3, 0.6)).astype(float)
    rewards[rng.random(n) < 0.2] = np.nan
    late = times + rng.exponential(3600.0, n)
    log = dw.Log.from_arrays(actions, rewards, times=times, rewarded_at=late, propensities=np.full(n, 0.5))
    found = log.evaluate(["sliding-thompson:window=2000", "fixed:1"])
    assert value(found, "fixed:1").low < 0.6 < value(found, "fixed:1").high
    assert 0.45 < value(found, "sliding-thompson:window=2000").mean < 0.62
    assert any("rows without a reward" in note for note in found.notes)


def contextual_log(n: int = 4000, scale: float = 1.0) -> dw.Log:
    """The sign of the only column says which arm pays."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 1))
    actions = rng.integers(0, 2, n)
    pays = (x[:, 0] > 0.0) == (actions == 1)
    rewards = rng.random(n) < np.where(pays, 0.8, 0.2)
    return dw.Log.from_arrays(
        actions, rewards, arms=["n", "y"], context=scale * x, propensities=np.full(n, 0.5), context_names=["x"]
    )


def test_contextual_policies_use_the_context() -> None:
    found = contextual_log().evaluate(["discounted-lin-ucb", "fixed:y"])
    assert value(found, "discounted-lin-ucb").mean > 0.7
    assert value(found, "fixed:y").mean == pytest.approx(0.5, abs=0.05)
    scaled = contextual_log(scale=1e5).evaluate(["discounted-lin-ucb"], standardise=True)
    assert value(scaled, "discounted-lin-ucb").mean > 0.7


def test_auto_is_the_policy_of_the_family() -> None:
    """Its choices are those of the policy that agents play in its place."""
    log = draw(2000)
    named = type(dw.Agent(dw.Auto(), ["a", "b"]).policy)()
    found = log.evaluate({"auto": dw.Auto(), "named": named})
    assert found.policies["auto"] == found.policies["named"]


def test_a_problem_may_bring_rows_of_features() -> None:
    problem = dw.Contextual({"y": [1.0, 0.0], "n": [0.0, 1.0]}, context_dim=1)
    shared = contextual_log().evaluate(["discounted-lin-ucb"], problem=problem)
    disjoint = contextual_log().evaluate(["discounted-lin-ucb"])
    assert value(shared, "discounted-lin-ucb").mean == pytest.approx(
        value(disjoint, "discounted-lin-ucb").mean, abs=0.05
    )


def test_propensities_are_estimated_where_there_are_none() -> None:
    found = draw(propensities=None).evaluate(["fixed:c"])
    assert value(found, "fixed:c").low < 0.35 < value(found, "fixed:c").high
    assert any("propensities are estimated" in note for note in found.notes)


def test_estimated_propensities_follow_time_and_context() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    share = 0.2 + 0.6 * np.arange(n) / n
    actions = (rng.random(n) < share).astype(np.int64)
    found = estimate_propensities(2, actions)
    assert np.abs(found - np.where(actions == 1, share, 1.0 - share)).mean() < 0.04
    x = rng.normal(size=(n, 2))
    share = 1.0 / (1.0 + np.exp(-x[:, 0]))
    actions = (rng.random(n) < share).astype(np.int64)
    found = estimate_propensities(2, actions, x)
    assert np.abs(found - np.where(actions == 1, share, 1.0 - share)).mean() < 0.02


def test_units_widen_intervals() -> None:
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(200), 20)
    habits = rng.random(200)[units]
    actions = rng.integers(0, 2, 4000)
    order = rng.permutation(4000)
    fields: dict[str, Any] = {"propensities": np.full(4000, 0.5)}
    rewards = (rng.random(4000) < habits).astype(float)
    alone = dw.Log.from_arrays(actions[order], rewards[order], **fields).evaluate(["logged"]).logged.value
    together = dw.Log.from_arrays(actions[order], rewards[order], units=units[order], **fields).evaluate(["logged"])
    assert alone is not None and together.logged.value is not None
    assert together.logged.value.high - together.logged.value.low > 1.5 * (alone.high - alone.low)


# ---- what cannot be evaluated ----


def log_of(actions: Any, **options: Any) -> dw.Log:
    actions = np.asarray(actions)
    rewards = options.pop("rewards", np.arange(len(actions)) % 2)
    return dw.Log.from_arrays(actions, rewards, **options)


REFUSALS: list[tuple[Any, Any, dict[str, Any], str]] = [
    (lambda: log_of(["a"] * 50), "ucb1", {}, "every row chose the arm 'a'"),
    (
        lambda: log_of(["a", "b"] * 50, propensities=np.ones(100)),
        "ucb1",
        {},
        "every propensity is 1: the log comes from a",
    ),
    (lambda: log_of(["a"] * 5000 + ["b"] * 5000), "fixed:a", {}, "arms were chosen in long runs, each at its own time"),
    (draw, "fixed:d", {}, "there is no arm in this log called 'd': there are a, b, c"),
    (draw, "fixed", {}, "fixed needs an arm, as in fixed:a: there are a, b, c"),
    (draw, "sliding-thomson", {}, "did you mean sliding-thompson"),
    (draw, "lin-ucb", {}, "the log has no columns of context or features"),
    (draw, "virtual-queue", {}, "VirtualQueue chooses"),
    (draw, "ucb1", {"method": "magic"}, "method=magic is not one of dr, ips, snips, switch-dr, replay"),
    (draw, "ucb1", {"rounds": "all"}, "rounds=all is not one of log, accepted"),
    (draw, "ucb1", {"acceptance": 0.0}, "acceptance=0.0 is outside (0, 1]"),
    (draw, "ucb1", {"replays": 0}, "replays=0 is not a whole number of at least 1"),
    (draw, "ucb1", {"reward_range": (0.0, 0.5)}, "rewards from 0 to 1 are outside reward_range=(0, 0.5)"),
    (draw, "ucb1", {"periods": "day"}, "periods=day needs a log with dates"),
    (draw, "ucb1", {"periods": "fortnight"}, "periods=fortnight is not a number or one of hour, day, week, month"),
    (draw, {"p": np.ones((4000, 3))}, {}, "probabilities of row 0 sum to 3, not to 1"),
    (draw, {"p": np.ones((10, 3))}, {}, "probabilities have shape (10, 3)"),
    (draw, {"p": np.array([1.5, -0.5, 0.0])}, {}, "probabilities hold 1.5, which is outside [0, 1]"),
    (draw, [], {}, "no policy to evaluate"),
    (draw, 7, {}, "policy=7 is not a policy"),
    (draw, dw.UCB1, {}, "is not a policy: give an instance"),
    (draw, "ucb1", {"problem": dw.MultiArmed(["a", "b"])}, "the log has the arm 'c', and the problem does not"),
    (
        contextual_log,
        "lin-ucb",
        {"problem": dw.Contextual(["n", "y"], context_dim=3)},
        "context_dim=3, and the log has 1",
    ),
    (lambda: contextual_log(scale=1e5), "lin-ucb", {}, "far beyond reach=1: scale the columns"),
]


@pytest.mark.parametrize(("log", "policies", "options", "why"), REFUSALS, ids=[each[-1][:30] for each in REFUSALS])
def test_one_clear_sentence(log: Any, policies: Any, options: dict[str, Any], why: str) -> None:
    with pytest.raises(DriftwiseError) as refusal:
        log().evaluate(policies, **options)
    assert why in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_poor_overlap_is_refused_for_that_policy_alone() -> None:
    rng = np.random.default_rng(0)
    actions = np.where(rng.random(3000) < 0.002, 1, 0)
    log = log_of(actions, propensities=np.where(actions == 1, 0.002, 0.998))
    found = log.evaluate(["fixed:1", "fixed:0"])
    assert found.policies["fixed:1"].value is None
    assert "the log chose too rarely what this policy chooses" in found.policies["fixed:1"].warnings[0]
    assert found.policies["fixed:0"].value is not None
    assert [each.policy for each in found.comparisons] == ["fixed:0"]


def test_propensities_that_do_not_sum() -> None:
    found = draw(propensities=np.full(4000, 0.5)).evaluate(["fixed:c"])
    assert any(note.startswith("propensities do not fit the choices") for note in found.notes)
    assert any("not 1" in warning for warning in found.policies["fixed:c"].warnings)


def test_unknown_propensities_are_left_out() -> None:
    known = SHARES[draw().actions]
    known[:100] = np.nan
    assert "100 rows without a propensity are left out" in draw(propensities=known).evaluate(["fixed:a"]).notes


def test_constant_rewards() -> None:
    found = log_of(np.arange(500) % 2, rewards=np.full(500, 5.0), propensities=np.full(500, 0.5)).evaluate(["ucb1"])
    assert value(found, "ucb1").mean == pytest.approx(5.0)
    assert any("every reward is 5" in note for note in found.notes)


def test_a_fixed_order_of_arms() -> None:
    found = log_of(np.arange(900) % 3).evaluate(["fixed:1"])
    assert any("follow from the one before" in note for note in found.notes)


def test_small_propensities_bound_the_acceptance() -> None:
    rng = np.random.default_rng(0)
    shares = np.array([0.99, 0.01])
    actions = rng.choice(2, 20_000, p=shares)
    found = log_of(actions, propensities=shares[actions]).evaluate(["ucb1"], acceptance=0.2)
    assert any("have a propensity below the acceptance 0.2" in each for each in found.policies["ucb1"].warnings)


def test_a_log_of_a_policy_that_learns_says_so() -> None:
    """UCB without a column of propensities: its arms take turns, so that shares alone would look random."""
    rng, agent = np.random.default_rng(0), dw.Agent(dw.UCB1(), ["a", "b", "c"])
    actions, rewards = [], []
    for _ in range(2000):
        decision = agent.decide()
        actions.append(str(decision.action))
        rewards.append(float(rng.random() < MEANS["abc".index(actions[-1])]))
        agent.learn(decision, reward=rewards[-1])
    found = dw.Log.from_arrays(actions, rewards).evaluate(["fixed:a"])
    assert any(note.startswith("choices follow recent rewards") for note in found.notes)


def test_random_choices_follow_nothing() -> None:
    assert all(abs(dependence(3, log.actions, log.rewards)) < SURE for log in (draw(3000, seed) for seed in range(20)))


def strange_log(rng: np.random.Generator) -> dw.Log:
    """Few rows, lost rewards, propensities that do not fit, rewards of any scale, units, late rewards."""
    n = int(rng.choice([1, 2, 5, 30, 60, 300]))
    rewards = [rng.integers(0, 2, n) * 1.0, rng.normal(size=n) * 10.0 ** rng.uniform(-3, 6), np.full(n, -2.0)]
    chosen = rewards[rng.integers(0, 3)]
    chosen[rng.random(n) < rng.choice([0.0, 0.5])] = np.nan
    propensities = rng.choice([1.0 / 3.0, 0.01, 1.0], n)
    propensities[rng.random(n) < rng.choice([0.0, 0.3])] = np.nan
    times = START + np.sort(rng.random(n)) * 1e6
    fields: dict[str, Any] = {"units": rng.integers(0, 1 + n // 3, n)} if rng.random() < 0.3 else {}
    fields |= {"times": times, "rewarded_at": times + rng.exponential(1e4, n)} if rng.random() < 0.5 else {}
    return dw.Log.from_arrays(rng.integers(0, 3, n), chosen, arms=["a", "b", "c"], propensities=propensities, **fields)


def test_a_strange_log_is_evaluated_or_refused() -> None:
    for seed in range(150):
        rng = np.random.default_rng(seed)
        policies = list(rng.choice(["fixed:b", "uniform", "logged", "ucb1"], 2, replace=False))
        method, rounds = str(rng.choice(METHODS)), str(rng.choice(["log", "accepted"]))
        try:
            found = strange_log(rng).evaluate(policies, method=method, rounds=rounds, periods=3)
        except DriftwiseError as refusal:
            assert "\n" not in str(refusal)
        else:
            json.dumps(found.as_dict(), allow_nan=False)
            show_evaluation(found)
