"""Live decisions with features, contexts and slates: what the contracts do not already say of every policy."""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

import driftwise as dw
from driftwise.agent.serialization import decode_policy, encode_policy
from driftwise.core import serialization as states
from driftwise.errors import ArmError, FeatureError, ParameterError, RewardError, StateError

DIM = 3
ROWS = {"a": [1.0, 0.0, 0.5], "b": [0.0, 1.0, 0.5], "c": [0.5, 0.5, 0.0]}
LINEAR = dw.SlidingLinUCB(window=40)


def luck(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def free(seed: int = 0) -> dw.Agent:
    """An agent whose rows come with every decision."""
    return dw.Agent(LINEAR, dw.Contextual(n_features=DIM), seed=seed)


def taught(agent: dw.Agent, rounds: int = 60, seed: int = 0, **shapes: Any) -> dw.Agent:
    rng = luck(seed)
    for _ in range(rounds):
        request = {name: rng.uniform(-1.0, 1.0, shape) for name, shape in shapes.items()}
        agent.learn(agent.decide(**request), float(rng.random()))
    return agent


def ridge(agent: dw.Agent) -> Any:
    return agent.state.ridge


# ---- where rows come from ----


def test_without_names_the_action_is_the_number_of_a_row() -> None:
    agent, rng = free(), luck()
    assert agent.arms == ()
    for count in (1, 4, 2, 9):
        matrix = rng.normal(size=(count, DIM))
        decision = agent.decide(actions=matrix)
        assert decision.context == tuple(matrix[decision.action])
        agent.learn(decision, 0.5)
    assert "n_features=3" in repr(agent)


def test_decisions_compare() -> None:
    one, other = free(), free()
    matrix = luck().normal(size=(4, DIM))
    assert one.decide(actions=matrix) == other.decide(actions=matrix.tolist())
    assert one.decide(actions=matrix) != other.decide(actions=2.0 * matrix)


@pytest.mark.parametrize("form", [np.float32, np.int64, ">f8"])
def test_rows_may_be_of_any_kind_of_number(form: Any) -> None:
    rows = np.array([[1, 2, 0], [3, 0, 1]])
    agents = [free(), free()]
    for agent, matrix in zip(agents, (rows.astype(form), rows[::-1][::-1].astype(float)), strict=True):
        for _ in range(5):
            agent.learn(agent.decide(actions=matrix), 1.0)
    assert agents[0].dumps() == agents[1].dumps()


def test_rows_of_named_arms_are_in_their_order_or_named() -> None:
    in_order, named = (dw.Agent(LINEAR, dw.Contextual(list(ROWS), n_features=DIM)) for _ in range(2))
    brought = dw.Agent(LINEAR, dw.Contextual(ROWS))
    backwards = dict(reversed(ROWS.items()))
    for t in range(30):
        decisions = [in_order.decide(list(ROWS.values())), named.decide(actions=backwards), brought.decide()]
        assert decisions[0] == decisions[1] == decisions[2]
        for agent, decision in zip((in_order, named, brought), decisions, strict=True):
            agent.learn(decision, float(t % 2))


def test_one_feature_may_be_a_bare_number() -> None:
    arms: Any = {"low": 0.5, "high": 2}
    agent = dw.Agent(LINEAR, dw.Contextual(arms))
    assert agent.problem.dim == 1 and agent.decide().context == (2.0,)


def test_a_context_multiplies_the_features_of_an_arm() -> None:
    agent, plain, rng = (
        dw.Agent(LINEAR, dw.Contextual(ROWS, context_dim=2)),
        dw.Agent(LINEAR, dw.Contextual(n_features=2 * DIM)),
        luck(),
    )
    both = dw.Agent(LINEAR, dw.Contextual(list(ROWS), n_features=DIM, context_dim=2))
    for _ in range(60):
        x, reward = rng.uniform(-1.0, 1.0, 2), float(rng.random())
        products = [np.outer(row, x).ravel() for row in ROWS.values()]
        decision, same, third = agent.decide(context=x), plain.decide(products), both.decide(ROWS, context=x)
        assert decision == third
        assert (agent.arms.index(decision.action), decision.context) == (same.action, same.context)
        for each, its in (agent, decision), (plain, same), (both, third):
            each.learn(its, reward)
    assert states.equal(agent.state, plain.state)


def test_arms_without_features_have_parameters_of_their_own() -> None:
    """The regression over rows with one block per arm is a regression per arm."""
    agent, rng = dw.Agent(LINEAR, dw.Contextual(["a", "b"], context_dim=2)), luck()
    log = []
    for _ in range(100):
        x, reward = rng.uniform(-1.0, 1.0, 2), float(rng.random())
        decision = agent.decide(context=x)
        assert decision.context == tuple(x)
        agent.learn(decision, reward)
        log.append((decision.action, x, reward))
    for place, arm in enumerate(("a", "b")):
        pairs = [(x, reward) for action, x, reward in log[-40:] if action == arm]
        mine = slice(2 * place, 2 * place + 2)
        np.testing.assert_allclose(ridge(agent).gram[mine, mine], np.eye(2) + sum(np.outer(x, x) for x, _ in pairs))
        np.testing.assert_allclose(ridge(agent).moment[mine], sum(x * reward for x, reward in pairs), atol=1e-12)
    assert not ridge(agent).gram[:2, 2:].any()


# ---- arms that come and go ----


def test_arms_with_parameters_of_their_own_take_them_along() -> None:
    agent = taught(dw.Agent(LINEAR, dw.Contextual(["a", "b", "c"], context_dim=2)), context=2)
    before = ridge(agent)
    agent.retire_arm("a")
    agent.add_arm("d")
    after = ridge(agent)
    np.testing.assert_array_equal(after.gram[:4, :4], before.gram[2:, 2:])
    np.testing.assert_array_equal(after.moment, [*before.moment[2:], 0.0, 0.0])
    np.testing.assert_array_equal(after.gram[4:, 4:], np.eye(2))
    assert agent.arms == ("b", "c", "d") and agent.problem.dim == 6
    taught(agent, context=2)
    np.testing.assert_allclose(ridge(agent).gram @ ridge(agent).inverse, np.eye(6), atol=1e-9)


def test_many_arms_come_and_go_in_a_context() -> None:
    agent, rng = dw.Agent(LINEAR, dw.Contextual(6, context_dim=2), seed=3), luck()
    for t in range(400):
        decision = agent.decide(context=rng.uniform(0.0, 1.0, 2))
        if t % 7:
            agent.learn(decision, float(rng.random()))
        if t % 20 == 10:
            agent.retire_arm(decision.action)
        if t % 25 == 10:
            agent.add_arm(1000 + t)
        assert abs(ridge(agent).gram @ ridge(agent).inverse - np.eye(agent.problem.dim)).max() < 1e-9


def test_what_is_pending_finds_its_arm_after_others_left() -> None:
    agent = dw.Agent(LINEAR, dw.Contextual(["a", "b", "c"], context_dim=2))
    open_ones: dict[Any, dw.Decision] = {}
    while len(open_ones) < 3:
        decision = agent.decide(context=[0.5, 1.0])
        open_ones[decision.action] = decision
        agent.learn(agent.decide(context=[0.5, 1.0]), 0.0)
    agent.retire_arm("a")
    before = ridge(agent).moment
    agent = dw.Agent.loads(agent.dumps())
    for name in ("a", "b", "c"):
        agent.learn(open_ones[name], 1.0)
    np.testing.assert_allclose(ridge(agent).moment - before, [0.5, 1.0, 0.5, 1.0])
    assert agent.ignored == 1


def test_features_teach_though_their_arm_was_retired() -> None:
    agent = taught(dw.Agent(LINEAR, dw.Contextual(ROWS)), rounds=30)
    waiting, before = agent.decide(), ridge(agent).moment
    agent.retire_arm(waiting.action)
    agent.learn(waiting, 1.0)
    np.testing.assert_allclose(ridge(agent).moment - before, waiting.context, atol=1e-12)
    assert agent.ignored == 0


def test_an_arm_brings_its_features() -> None:
    agent = taught(dw.Agent(LINEAR, dw.Contextual(ROWS)))
    before = ridge(agent)
    agent.add_arm("d", features=[1.0, 1.0, 1.0])
    np.testing.assert_array_equal(ridge(agent).gram, before.gram)
    chosen = set()
    for _ in range(50):
        decision = agent.decide()
        chosen.add(decision.action)
        agent.learn(decision, float(decision.action == "d"))
    assert decision.context == (1.0, 1.0, 1.0)
    assert "d" in chosen


@pytest.mark.parametrize(
    ("make", "options", "error", "says"),
    [
        (free, {"name": "d"}, ArmError, "actions have no names"),
        (lambda: dw.Agent(LINEAR, dw.Contextual(ROWS)), {"name": "d"}, FeatureError, "'d' must bring its features"),
        (
            lambda: dw.Agent(LINEAR, dw.Contextual(ROWS)),
            {"name": "d", "features": [1.0]},
            FeatureError,
            r"the features of 'd' have the shape \(1,\); those of this agent are 3",
        ),
        (
            lambda: dw.Agent(LINEAR, dw.Contextual(ROWS)),
            {"name": "d", "features": [1.0, np.nan, 0.0]},
            FeatureError,
            "the row of 'd', column 1 is nan",
        ),
        (
            lambda: dw.Agent(LINEAR, dw.Contextual(["a"], context_dim=2)),
            {"name": "d", "features": [1.0, 0.0]},
            FeatureError,
            "'d' cannot bring features: the others did not",
        ),
        (lambda: dw.Agent(dw.Uniform(), 2), {"name": "d", "features": [1.0]}, FeatureError, "cannot bring"),
    ],
)
def test_arms_that_cannot_come(
    make: Callable[[], dw.Agent], options: dict[str, Any], error: type[Exception], says: str
) -> None:
    agent = make()
    before = agent.dumps()
    with pytest.raises(error, match=says):
        agent.add_arm(**options)
    assert agent.dumps() == before


def test_the_last_arm_that_says_anything_stays() -> None:
    agent = dw.Agent(LINEAR, dw.Contextual({"a": [1.0, 0.0], "nothing": [0.0, 0.0], "zero": [0.0, 0.0]}))
    agent.retire_arm("zero")
    with pytest.raises(FeatureError, match="every number is zero"):
        agent.retire_arm("a")
    assert agent.arms == ("a", "nothing")
    with pytest.raises(ArmError, match="there is no arm 0: there are none"):
        free().retire_arm(0)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"arms": 3}, ParameterError, "SlidingLinUCB chooses by features: give arms with their rows"),
        ({"n_features": 0}, ParameterError, "n_features=0 is not a whole number of at least 1"),
        ({"arms": ["a"], "context_dim": 1.5}, ParameterError, "context_dim=1.5 is not a whole number"),
        ({"context_dim": 2}, ParameterError, "arms are missing: give a count or names"),
        ({"arms": ROWS, "n_features": 3}, ParameterError, "n_features=3 is for rows that come with decisions"),
        ({"arms": {}}, ParameterError, "arms is empty"),
        ({"arms": {"a": [1.0, 2.0], "b": [1.0]}}, FeatureError, r"the features of 'b' have the shape \(1,\)"),
        ({"arms": {"a": [1.0, np.inf]}}, FeatureError, "the row of 'a', column 1 is inf, not a finite number"),
        ({"arms": {"a": [[1.0]], "b": [1.0]}}, FeatureError, r"the features of 'a' have the shape \(1, 1\)"),
        ({"arms": {"a": [0.0], "b": [0.0]}}, FeatureError, "every number is zero, so that no choice could teach"),
        ({"arms": {"a": [1e7, 0.0]}}, FeatureError, "the row of 'a', column 0 is 1e.07, far beyond reach=1: scale"),
    ],
)
def test_nonsense_is_refused_when_an_agent_is_made(options: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        dw.Agent(LINEAR, dw.Contextual(**options))


@pytest.mark.parametrize("problem", [dw.MultiArmed(4), dw.Slate(4, slate_size=2)], ids=lambda problem: problem.kind)
def test_a_contextual_policy_plays_contextual_problems_only(problem: Any) -> None:
    with pytest.raises(ParameterError, match="SlidingLinUCB chooses one row of a matrix of features; this"):
        dw.Agent(LINEAR, problem)


BARE = "UCB1 chooses one arm, without features; this problem asks for"


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (dw.Contextual(n_features=3), f"{BARE} one row of .* features: `driftwise policies --family contextual` lists"),
        (dw.Contextual(ROWS), BARE),
        (dw.Contextual(2, context_dim=2), BARE),
        (dw.Slate(2, slate_size=2), f"{BARE} several items"),
    ],
)
def test_a_policy_for_bare_arms_takes_no_features(problem: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        dw.Agent(dw.UCB1(), problem)


def test_a_policy_over_another_that_does_not_fit_names_both_and_what_to_write() -> None:
    says = (
        r"BanditOverBandit over SlidingArmedUCB chooses .* write BanditOverBandit\(policy=P\) with a P of "
        "SlidingGLMUCB, SlidingGPUCB, SlidingLinThompson, SlidingLinUCB"
    )
    with pytest.raises(ParameterError, match=says):
        dw.Agent(dw.BanditOverBandit(), dw.Contextual(n_features=2))
    dw.Agent(dw.BanditOverBandit(policy=dw.SlidingLinUCB()), dw.Contextual(n_features=2))


GOOD = [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]
FREE = {"n_features": DIM}
NAMED = {"arms": ["a", "b"], "n_features": DIM}
IN_CONTEXT = {"arms": ["a", "b"], "context_dim": 2}


@pytest.mark.parametrize(
    ("options", "arguments", "error", "says"),
    [
        (FREE, {}, FeatureError, "come with every decision: give `actions`"),
        (FREE, {"actions": []}, FeatureError, "actions is empty: there is nothing to choose from"),
        (FREE, {"actions": np.empty((0, DIM))}, FeatureError, "actions is empty"),
        (FREE, {"actions": [1.0, 2.0, 3.0]}, FeatureError, r"shape \(3,\): it must be a matrix"),
        (FREE, {"actions": [[1.0, 2.0], [1.0]]}, FeatureError, "in rows of one length"),
        (FREE, {"actions": "abc"}, FeatureError, "actions is not made of numbers"),
        (FREE, {"actions": [[1j, 0.0, 0.0]]}, FeatureError, "actions is not made of numbers"),
        (FREE, {"actions": np.ones((2, 4))}, FeatureError, "4 columns; this problem has n_features=3"),
        (FREE, {"actions": [GOOD[0], [0.0, np.nan, 1.0]]}, FeatureError, "row 1, column 1 is nan"),
        (FREE, {"actions": [GOOD[0], [0.0, 0.0, -np.inf]]}, FeatureError, "row 1, column 2 is -inf"),
        (FREE, {"actions": np.zeros((2, 3))}, FeatureError, "every number is zero, so that no choice"),
        (FREE, {"actions": [[1.0, -2e3, 0.0]]}, FeatureError, "column 1 is -2000, far beyond reach=1"),
        (FREE, {"actions": {"a": GOOD[0]}}, FeatureError, "arms have no names: give a matrix"),
        (
            FREE,
            {"actions": GOOD, "context": [1.0]},
            FeatureError,
            "this agent has no context: give the problem a context_dim",
        ),
        (NAMED, {"actions": [GOOD[0]]}, FeatureError, "actions has 1 row; there are 2 arms"),
        (NAMED, {"actions": {"a": GOOD[0]}}, ArmError, "actions has no row for the arm 'b'"),
        (NAMED, {"actions": {"a": GOOD[0], "z": GOOD[0]}}, ArmError, "there is no arm 'z': there are 'a', 'b'"),
        (NAMED, {"actions": {"a": GOOD[0], "b": [1.0]}}, FeatureError, "in rows of one length"),
        (NAMED, {"actions": {"a": GOOD[0], "b": [1.0, np.nan, 0.0]}}, FeatureError, "the row of 'b', column 1 is nan"),
        ({"arms": ROWS}, {"actions": GOOD}, FeatureError, "rows of this agent's arms are known"),
        (IN_CONTEXT, {}, FeatureError, "in a context of 2 numbers: give `context`, a list of them"),
        (IN_CONTEXT, {"context": [1.0]}, FeatureError, r"context has the shape \(1,\); this problem has context_dim=2"),
        (IN_CONTEXT, {"context": [1.0, np.nan]}, FeatureError, "context: column 1 is nan"),
        (IN_CONTEXT, {"context": [0.0, 0.0]}, FeatureError, "context: every number is zero"),
        ({"arms": ROWS, "context_dim": 2}, {"context": [900.0, 900.0]}, None, ""),
        (
            {"arms": {"a": [20.0]}, "context_dim": 1},
            {"context": [900.0]},
            FeatureError,
            "products .* is 18000, far",
        ),
    ],
)
def test_bad_features_are_refused_and_nothing_changes(
    options: Any, arguments: dict[str, Any], error: type[Exception] | None, says: str
) -> None:
    agent = dw.Agent(LINEAR, dw.Contextual(**options))
    before = agent.dumps()
    if error is None:
        agent.decide(**arguments)
        return
    with pytest.raises(error, match=says):
        agent.decide(**arguments)
    assert agent.dumps() == before


def test_a_bare_policy_is_shown_nothing() -> None:
    agent = dw.Agent(dw.UCB1(), 2)
    before = agent.dumps()
    requests: list[dict[str, Any]] = [{"actions": GOOD}, {"context": [1.0]}, {"states": [0, 0]}, {"unknown": 1}]
    for request in requests:
        with pytest.raises(FeatureError, match=f"UCB1 does not accept `{next(iter(request))}`: decide.. takes nothing"):
            agent.decide(**request)
    assert agent.dumps() == before


def test_reach_moves_the_limit() -> None:
    agent = dw.Agent(
        dw.BanditOverBandit(policy=dw.SlidingLinUCB(reach=10.0)), dw.Contextual(n_features=1, horizon=1000)
    )
    agent.decide(actions=[[9e3]])
    with pytest.raises(FeatureError, match="far beyond reach=10"):
        agent.decide(actions=[[2e4]])


def test_features_too_large_for_the_regression_leave_no_trace() -> None:
    """Met only when the reward comes, after more steps than are ever kept: all is as if it had not come."""
    policy = dw.SlidingLinUCB(window=40, reach=1000.0)
    agent, twin = (dw.Agent(policy, dw.Contextual(n_features=DIM)) for _ in range(2))
    rng = luck()
    for t in range(400):
        matrix = rng.uniform(-1.0, 1.0, (4, DIM))
        if t % 50 == 33:
            matrix += 9e5
        decision, same = agent.decide(matrix), twin.decide(matrix)
        assert decision == same
        if t % 50 == 33:
            before = agent.dumps()
            with pytest.raises(FeatureError, match="too large for the ridge"):
                agent.learn(decision, 1.0)
            assert agent.dumps() == before
        else:
            agent.learn(decision, float(t % 2))
            twin.learn(same, float(t % 2))
    assert agent.dumps() == twin.dumps()


def test_a_decision_that_fails_half_way_leaves_no_trace() -> None:
    agent = taught(free(), rounds=300, actions=(4, DIM))
    before, matrix = agent.dumps(), luck(1).normal(size=(4, DIM))

    def break_down(*_: Any) -> None:
        state = agent._state
        state.ridge.gram[:] = np.nan
        state.window.clock[0] += 5
        raise FloatingPointError("the features are too large for the ridge to be inverted: scale them down")

    whole, agent._decide = agent._decide, break_down
    with pytest.raises(FeatureError, match="scale them down"):
        agent.decide(matrix)
    agent._decide = whole
    assert agent.dumps() == before
    assert agent.decide(matrix) == dw.Agent.loads(before).decide(matrix)


# ---- bytes ----


def test_resume_with_rows_pending() -> None:
    for agent, shapes in (
        (free(seed=2), {"actions": (5, DIM)}),
        (dw.Agent(LINEAR, dw.Contextual(ROWS, context_dim=2)), {"context": 2}),
        (dw.Agent(LINEAR, dw.Contextual(["a", "b"], context_dim=2)), {"context": 2}),
    ):
        taught(agent, **shapes)
        rng = luck(5)
        requests: list[Any] = [{name: rng.normal(size=shape) for name, shape in shapes.items()} for _ in range(20)]
        open_ones = [agent.decide(**request) for request in requests]
        if agent.arms:
            agent.retire_arm(agent.arms[0])
        again = dw.Agent.loads(agent.dumps())
        assert again.arms == agent.arms and again.pending == agent.pending
        for decision in reversed(open_ones):
            agent.learn(decision, 0.7)
            again.learn(decision.id, 0.7)
        assert again.dumps() == agent.dumps()


def test_bytes_of_another_format_are_refused() -> None:
    envelope = msgspec.msgpack.decode(dw.Agent(dw.UCB1(), 3).dumps())
    with pytest.raises(StateError, match="this state has format 1; this version of driftwise reads format 2"):
        dw.Agent.loads(msgspec.msgpack.encode(envelope | {"format": 1}))


@pytest.mark.parametrize(
    ("field", "change", "says"),
    [
        ("rows", lambda rows: [[*rows[0][:2], [1, 2], rows[0][3][:16]]], r"rows is <f8\(1, 2\) in 16 bytes"),
        ("rows", lambda rows: [[*rows[0][:3], rows[0][3][:-8]]], "it does not fit"),
        ("rows", lambda rows: [], "have lost their rows"),
        ("facts", lambda facts: facts | {"given": 1 + facts["given"]}, "do not fit the saved problem"),
        ("facts", lambda facts: facts | {"given": "many"}, "does not say where its features come from"),
        ("pending", lambda pending: [[0, 0, [0, 1], 1.0]], "does not fit a single choice"),
        (
            "structure",
            lambda structure: [["tides.amounts", "<f8", [1], bytes(8)]],
            "not that of the family 'contextual'",
        ),
        ("uids", lambda uids: [0], "do not fit the saved problem"),
    ],
)
def test_bytes_that_do_not_fit_are_refused(field: str, change: Callable[[Any], Any], says: str) -> None:
    agent = free()
    agent.decide(GOOD)
    body = msgspec.msgpack.decode(states.unseal(agent.dumps()))
    body[field] = change(body[field])
    with pytest.raises(StateError, match=says):
        dw.Agent.loads(states.seal(msgspec.msgpack.encode(body)))


def test_a_policy_inside_a_policy_comes_back() -> None:
    policy = dw.BanditOverBandit(policy=dw.SlidingLinUCB(window=7, ridge=0.5), literal=1)
    agent = taught(dw.Agent(policy, dw.Contextual(n_features=DIM, horizon=500)), actions=(3, DIM))
    again = dw.Agent.loads(agent.dumps())
    assert again.policy == agent.policy
    assert again.dumps() == agent.dumps()


class Homemade(NamedTuple):
    """A policy that is in nobody's table: it counts its arms, as policies with features need not."""

    window: int = 5

    def init(self, problem: dw.extend.Problem) -> "HomemadeState":
        return HomemadeState(np.zeros(problem.n_arms))


class HomemadeState(NamedTuple):
    counts: dw.extend.PerArm


@dw.extend.kernel
def _select(policy: Homemade, state: HomemadeState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return int(np.argmin(state.counts)), 1.0


@dw.extend.kernel
def _update(
    policy: Homemade, state: HomemadeState, decision: dw.Decision, outcome: dw.extend.Outcome, now: int
) -> None:
    state.counts[decision.action] += 1


dw.extend.register(Homemade, about=dw.extend.About("", "", "", family="contextual"), select=_select, update=_update)


def test_a_policy_of_ones_own_inside_another_is_found_by_its_name() -> None:
    policy = dw.BanditOverBandit(policy=Homemade(window=9))
    saved = encode_policy(policy)
    assert decode_policy(saved) == policy
    saved.parameters["policy"].policy = "Elsewhere"  # type: ignore[union-attr]
    with pytest.raises(StateError, match="the policy Elsewhere inside: import the file that defines it first"):
        decode_policy(saved)


def test_a_policy_that_counts_arms_must_have_them_named() -> None:
    with pytest.raises(ParameterError, match="Homemade remembers something of every arm: name the arms"):
        dw.Agent(Homemade(), dw.Contextual(n_features=2))
    agent = dw.Agent(Homemade(), dw.Contextual(["a", "b"], n_features=2))
    waiting = agent.decide(np.ones((2, 2)))
    agent.retire_arm(waiting.action)
    agent.learn(waiting, 1.0)
    assert agent.ignored == 1
    assert agent.state.counts.tolist() == [0.0]


# ---- slates ----

SLATES = dw.SlidingSlateUCB(window=50)


def test_a_slate_is_several_arms_and_each_pays() -> None:
    agent = dw.Agent(SLATES, dw.Slate(["a", "b", "c", "d"], slate_size=2))
    for _ in range(60):
        decision = agent.decide()
        assert len(set(decision.action)) == 2
        agent.learn(decision, rewards=[float(name in "bd") for name in decision.action])
    chosen = [agent.decide().action for _ in range(3)]
    assert chosen == [("b", "d")] * 3


@pytest.mark.parametrize(
    ("rewards", "says"),
    [
        ([1.0], "1 reward is given for a slate of 2 items"),
        (1.0, "rewards=1.0 is not a list of 2, one per item"),
        ([1.0, np.nan], "reward=nan is not finite"),
        ([1.0, 2.0], r"reward=2 is outside \[0, 1\]"),
    ],
)
def test_bad_rewards_of_slates(rewards: Any, says: str) -> None:
    agent = dw.Agent(SLATES, dw.Slate(4, slate_size=2))
    decision = agent.decide()
    before = agent.dumps()
    with pytest.raises(RewardError, match=says):
        agent.learn(decision, rewards)
    with pytest.raises(RewardError, match="both given"):
        agent.learn(decision, 1.0, rewards=[1.0, 1.0])
    assert agent.dumps() == before


def test_one_choice_has_one_reward() -> None:
    agent = dw.Agent(dw.Uniform(), 2)
    with pytest.raises(RewardError, match="Uniform does not accept `rewards`: call learn"):
        agent.learn(agent.decide(), rewards=[1.0])


def test_slates_that_cannot_be_filled() -> None:
    with pytest.raises(ParameterError, match="slate_size=5 is not a whole number of at least 1 and at most 4"):
        dw.Agent(SLATES, dw.Slate(4, slate_size=5))
    with pytest.raises(ParameterError, match="SlidingSlateUCB chooses several items at once"):
        dw.Agent(SLATES, 4)
    agent = dw.Agent(SLATES, dw.Slate(2, slate_size=2))
    with pytest.raises(ArmError, match="0 is one of 2 arms, and as many are chosen at once"):
        agent.retire_arm(0)


def test_a_slate_with_a_retired_item_teaches_nothing() -> None:
    agent = dw.Agent(SLATES, dw.Slate(["a", "b", "c", "d"], slate_size=2))
    first, second = agent.decide(), agent.decide(override=(("a", "b"), 1.0))
    assert first.action == second.action == ("a", "b")
    agent.retire_arm("b")
    again = dw.Agent.loads(agent.dumps())
    for each in agent, again:
        each.learn(first, [1.0, 1.0])
        each.learn(second.id, rewards=np.array([0.0, 1.0]))
        assert each.ignored == 2 and each.pending == ()
        assert each.state.window.counts.sum() == 0
    assert agent.dumps() == again.dumps()


# ---- company ----


def test_threads_may_share_an_agent_with_features() -> None:
    agent, errors = dw.Agent(LINEAR, dw.Contextual(["a", "b", "c"], context_dim=2)), []

    def work(seed: int) -> None:
        rng = luck(seed)
        for _ in range(300):
            x = rng.uniform(0.5, 1.0, 2)
            decision = agent.decide(context=x)
            if decision.context != tuple(x):
                errors.append(decision)
            agent.learn(decision, 1.0)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors and agent.pending == () and agent.t == 1800
