"""Agents that choose points: what they learn from, what they refuse, and that they go on where they stopped."""

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.core import serialization as states
from driftwise.core.types import Floats
from driftwise.errors import DriftwiseError, ParameterError, RewardError, StateError
from driftwise.families import ConvexLinear
from driftwise.families.convex.constraint_violation import regrets
from driftwise.families.convex.loss_history import Functions

DOMAIN = dw.product(dw.box(0.0, 1.0, size=2), dw.ball(0.0, 1.0, size=2), dw.simplex(3))


def problem_on(domain: Any, **options: Any) -> dw.Convex:
    return dw.Convex(domain, **options)


def fresh(**options: Any) -> dw.Agent:
    problem: dict[str, Any] = {"domain": DOMAIN, "n_constraints": 2, "horizon": 500}
    return dw.Agent(dw.VirtualQueue(), problem_on(**problem | options))


def any_outcome(luck: np.random.Generator) -> dict[str, Any]:
    return {
        "gradient": luck.standard_normal(7).tolist(),
        "values": luck.standard_normal(2),
        "jacobian": luck.standard_normal((2, 7)),
    }


def test_functions_of_ones_own() -> None:
    """The loop a program would write: minimise a moving squared distance, a share of the whole limited on average."""
    luck = np.random.default_rng(0)
    targets, limits = luck.uniform(0.0, 0.8, (3000, 3)), luck.uniform(0.1, 0.3, 3000)
    past = Functions(
        domain=dw.simplex(3),
        rounds=3000,
        loss_at=lambda t, x: float(((x - targets[t]) ** 2).sum()),
        gradient_at=lambda t, x: 2.0 * (x - targets[t]),
        values_at=lambda t, x: [x[0] - limits[t]],
        jacobian_at=lambda t, x: [[1.0, 0.0, 0.0]],
    )
    agent = dw.Agent(dw.VirtualQueue(), problem_on(past.domain, n_constraints=1, horizon=past.rounds))
    points: Floats = np.empty((3000, 3))
    for t in range(past.rounds):
        decision = agent.decide()
        x = points[t] = decision.action
        outcome = {"gradient": past.gradient_at(t, x), "values": [x[0] - limits[t]], "jacobian": [[1.0, 0.0, 0.0]]}
        agent.learn(decision, loss=past.loss_at(t, x), **outcome)
    regret = regrets(past, points)
    assert regret.loss < 50.0
    assert regret.violation < 100.0


def test_a_decision_is_a_point_in_plain_numbers() -> None:
    agent = fresh()
    decision = agent.decide()
    assert decision.action == tuple(DOMAIN.centres.tolist())
    assert all(type(each) is float for each in decision.action)
    assert (decision.id, decision.propensity, decision.context) == (0, 1.0, ())
    assert repr(agent).endswith("points of 7 coordinates, t=1, pending=1)")
    assert agent.arms == ()


def test_the_first_point_may_be_chosen() -> None:
    start = [0.0, 1.0, 0.6, 0.8, 0.0, 0.0, 1.0]
    assert fresh(initial_point=start).decide().action == pytest.approx(start)


def test_it_plays_as_the_loop_does() -> None:
    """The same world round by round: every point is the same, bit for bit."""
    from driftwise.core.family import trace_for
    from driftwise.core.loop import play
    from driftwise.core.seeding import key
    from driftwise.core.verbs import respond

    world, rounds = ConvexLinear(noise=0.2), 300
    tape, nature = world.draw(rounds, 1)
    problem = world.problem(rounds)
    policy, trace = dw.VirtualQueue(), trace_for(problem, 0, rounds)
    play(policy, policy.init(problem), tape, nature, key(0), trace, rounds)
    agent = dw.Agent(policy, problem_on(world.domain, n_constraints=2, horizon=rounds))
    for t in range(rounds):
        decision = agent.decide()
        assert decision.action == tuple(trace.actions[t].tolist())
        outcome = respond(tape, nature, t, np.array(decision.action))
        agent.learn(decision, gradient=outcome.gradient, values=outcome.values, jacobian=outcome.jacobian)


def test_saved_with_points_pending_it_goes_on() -> None:
    agent, luck = fresh(), np.random.default_rng(1)
    for _ in range(30):
        agent.decide()
        if luck.random() < 0.6:
            agent.learn(int(luck.choice(agent.pending)), **any_outcome(luck))
    again = dw.Agent.loads(agent.dumps())
    assert again.pending == agent.pending and len(again.pending) > 3
    for late in agent.pending:
        outcome = any_outcome(luck)
        agent.learn(late, **outcome)
        again.learn(late, **outcome)
    assert again.decide() == agent.decide()
    assert again.dumps() == agent.dumps()


def test_a_second_outcome_is_refused_and_a_cancelled_decision_forgotten() -> None:
    agent, luck = fresh(), np.random.default_rng(2)
    first, second = agent.decide(), agent.decide()
    agent.learn(first, **any_outcome(luck))
    before = agent.dumps()
    with pytest.raises(DriftwiseError, match="answered already"):
        agent.learn(first, **any_outcome(luck))
    assert agent.dumps() == before
    agent.cancel(second)
    assert agent.pending == ()


def test_without_constraints_the_gradient_is_enough() -> None:
    agent = dw.Agent(dw.VirtualQueue(), problem_on(dw.box(0.0, 1.0, size=2), horizon=100))
    for _ in range(100):
        agent.learn(agent.decide(), gradient=[1.0, -1.0])
    assert agent.decide().action == (0.0, 1.0)


GOOD = {"gradient": [1.0] * 7, "values": [0.0, 0.0], "jacobian": np.zeros((2, 7))}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"gradient": None}, "gradient is missing: VirtualQueue learns from the gradient of the loss at its point"),
        ({"values": None}, "values is missing: this problem has 2 constraints"),
        ({"jacobian": None}, "jacobian is missing: this problem has 2 constraints"),
        ({"gradient": [1.0]}, "gradient has shape (1,): it must be (7,)"),
        ({"gradient": [np.nan] * 7}, "gradient holds nan in place 0: it must be finite"),
        ({"values": [0.0, np.inf]}, "values holds inf in place 1: it must be finite"),
        ({"jacobian": np.zeros((7, 2))}, "jacobian has shape (7, 2): it must be (2, 7)"),
        ({"gradient": "steep"}, "gradient='steep' is not made of numbers"),
        ({"gradient": [1e200] * 7}, "gradient holds 1e+200: numbers beyond 1e+100 teach nothing"),
        ({"loss": np.nan}, "loss=nan is not a finite number"),
        (
            {"reward": 1.0},
            "VirtualQueue does not accept `reward`: call learn(decision, "
            "gradient=..., values=..., jacobian=..., loss=...)",
        ),
    ],
)
def test_bad_outcomes_are_refused_with_a_sentence(changed: dict[str, Any], sentence: str) -> None:
    agent = fresh()
    decision, before = agent.decide(), agent.dumps()
    with pytest.raises(RewardError) as refusal:
        agent.learn(decision, **GOOD | changed)
    assert str(refusal.value) == sentence
    assert agent.dumps() == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"domain": None}, "domain=None is not a domain: make one with box, ball, simplex or product"),
        ({"domain": [0.0, 1.0]}, "domain=[0.0, 1.0] is not a domain: make one with box, ball, simplex or product"),
        ({"n_constraints": -1}, "n_constraints=-1 is not a whole number of at least 0 and at most 1000000"),
        ({"initial_point": [0.0]}, "initial_point has shape (1,): it must be (7,)"),
        ({"initial_point": [9.0] * 7}, f"the first point {[9.0] * 7} lies outside the domain"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        fresh(**options)
    assert str(refusal.value) == sentence


def test_a_policy_for_points_takes_no_arms() -> None:
    with pytest.raises(ParameterError, match="VirtualQueue chooses a point of a convex set; this problem asks for one"):
        dw.Agent(dw.VirtualQueue(), 3)


def test_policies_for_arms_take_no_domain() -> None:
    with pytest.raises(
        ParameterError, match="SlidingUCB chooses one arm, without features; this problem asks for a point"
    ):
        dw.Agent(dw.SlidingUCB(), problem_on(dw.box(0.0, 1.0)))


def test_bytes_with_another_domain_inside_are_refused() -> None:
    """A saved domain is checked as one that was made: kernels trust it."""
    import msgspec

    from driftwise.agent.serialization import AgentBytes

    agent = fresh()
    saved = msgspec.msgpack.decode(states.unseal(agent.dumps()), type=AgentBytes)
    for each in saved.structure:
        if each.path == "domain.stops":
            each.data = np.array([2, 4, 700]).astype("<i8").tobytes()
    with pytest.raises((ParameterError, StateError)):
        dw.Agent.loads(states.seal(msgspec.msgpack.encode(saved)))
