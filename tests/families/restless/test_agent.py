"""Agents with restless arms: requests, outcomes, why, arms that come and go, what is refused."""

import math
from typing import Any

import numpy as np
import pytest

from driftwise import Agent
from driftwise.core.family import trace_for
from driftwise.core.serialization import equal
from driftwise.core.validation import cast
from driftwise.core.verbs import observe, respond
from driftwise.errors import ArmError, DriftwiseError, FeatureError, MoveError, ParameterError, RewardError, StateError
from driftwise.families import UCB1, WIQL, Climbing, MultiArmed, Myopic, RandomArms, Restless, RoundRobin, Slate
from driftwise.families.restless.adapter import RestlessAdapter
from tests.fixtures.verbs import play

NAMES = ["ana", "bea", "cleo", "dina"]
LEVELS = ["lapsed", "wavering", "engaged"]
LADDER = {
    "passive": {"lapsed": {"lapsed": 1.0}, "wavering": ["lapsed", "wavering"], "engaged": ["wavering", "engaged"]},
    "active": {"engaged": {"engaged": 1.0}, "lapsed": ["lapsed", "wavering"]},
    "still": ["active"],
}


def people(policy: Any = None, *, seed: int = 0, **options: Any) -> Agent:
    """Four people on three levels, two of them called at a time."""
    problem: dict[str, Any] = {"arms": NAMES, "n_active": 2, "states": LEVELS, "state_rewards": [0.0, 0.5, 1.0]}
    problem |= {"tie_break": "first"}  # as in the loop
    return Agent(WIQL() if policy is None else policy, Restless(**problem | options), seed=seed)


def states(luck: np.random.Generator, agent: Agent) -> dict[Any, str]:
    return {name: LEVELS[luck.integers(3)] for name in agent.arms}


def live(agent: Agent, rounds: int, seed: int = 0) -> Agent:
    """Some rounds in which everybody goes anywhere."""
    luck = np.random.default_rng(seed)
    for _ in range(rounds):
        agent.learn(agent.decide(states=states(luck, agent)), states=states(luck, agent))
    return agent


# ---- deciding and learning ----


def test_a_decision_names_the_arms_and_keeps_the_states() -> None:
    decision = people(RoundRobin()).decide(states=["lapsed", "engaged", "lapsed", "wavering"])
    assert decision.action == ("ana", "bea")
    assert decision.context == ("lapsed", "engaged", "lapsed", "wavering")
    assert decision.propensity == 1.0


def test_states_may_be_told_by_name_or_in_order_or_be_numbers() -> None:
    by_name, in_order = people(seed=1), people(seed=1)
    numbered = people(states=3, seed=1)
    luck = np.random.default_rng(0)
    for _ in range(50):
        before, after = luck.integers(3, size=4), luck.integers(3, size=4)
        one = by_name.decide(states={name: LEVELS[s] for name, s in reversed(list(zip(NAMES, before, strict=True)))})
        other = in_order.decide(states=[LEVELS[s] for s in before])
        third = numbered.decide(states=before)
        assert one == other and one.action == third.action
        by_name.learn(one, states={name: LEVELS[s] for name, s in zip(NAMES, after, strict=True)})
        in_order.learn(other.id, states=[LEVELS[s] for s in after])
        numbered.learn(third, states=after.tolist())
    assert equal(by_name.state, in_order.state)
    assert equal(by_name.state, numbered.state)


@pytest.mark.parametrize("policy", [WIQL(), Myopic(), RandomArms(), RoundRobin()])
def test_an_agent_does_what_the_loop_does(policy: Any) -> None:
    world, rounds = Climbing(n_arms=6, activate=2, rungs=4, episode=20), 200
    structure, problem = world.structure(), world.problem(0)
    rewards: Any = {"known": range(4), "drifting": range(4)}
    transitions: Any = {
        "known": {"passive": structure.known[0, 0], "active": structure.known[0, 1]},
        "drifting": {
            "passive": {s: [max(s - 1, 0), s] for s in range(4)},
            "active": {s: [s, min(s + 1, 3)] for s in range(4)},
            "still": "active",
        },
    }
    agent = Agent(
        policy,
        Restless(
            6,
            n_active=2,
            states=4,
            state_rewards=rewards,
            arm_types=["known"] * 3 + ["drifting"] * 3,
            transitions=transitions,
            episode_length=20,
            tie_break="first",
        ),
    )
    for mine, its in zip(agent.problem.structure, structure, strict=True):
        np.testing.assert_array_equal(mine, its)
    tape, herd = world.draw(rounds, 5)
    for t in range(rounds):
        shown, _ = observe(tape, herd, t)
        decision = agent.decide(states=shown)
        outcome = respond(tape, herd, t, np.array(decision.action))
        agent.learn(decision, states=outcome.states)
    (tape, herd), state, trace = world.draw(rounds, 5), cast(policy).init(problem), trace_for(problem, 0, rounds)
    play(cast(policy), state, tape, herd, agent._rng, trace, rounds)
    assert equal(agent.state, state)


def test_rewards_may_be_told_and_are_those_of_the_states_otherwise() -> None:
    paid, plain = people(Myopic()), people(Myopic())
    for agent, rewards in (paid, [0.0, 1.0, 0.0, 1.0]), (plain, None):
        agent.learn(agent.decide(states=["lapsed"] * 4), states=["lapsed", "engaged"] * 2, rewards=rewards)
    assert equal(paid.state, plain.state)
    paid.learn(paid.decide(states=["lapsed"] * 4), states=["lapsed"] * 4, rewards={"ana": 7.0})
    assert paid.state.sums[0, 1, 0] == pytest.approx(0.999 * 1.0 + 7.0)


def test_rewards_are_refused_by_policies_that_do_not_learn_from_them() -> None:
    agent = people(RoundRobin())
    decision = agent.decide(states=["lapsed"] * 4)
    before = agent.dumps()
    for verb in agent.learn, agent.outcome_of:
        with pytest.raises(RewardError, match="RoundRobin does not learn from rewards, only from states: leave out"):
            verb(decision, states=["engaged"] * 4, rewards=[0.0, 1.0, 0.0, 1.0])
    assert agent.dumps() == before
    agent.learn(decision, states=["engaged"] * 4)
    assert agent.pending == ()


def test_an_arm_that_is_not_told_of_teaches_nothing() -> None:
    agent = people(WIQL())
    agent.learn(agent.decide(states=["engaged"] * 4), states={"ana": "engaged", "bea": None})
    assert agent.state.counts.sum(axis=(1, 2)).tolist() == [1, 0, 0, 0]
    agent.learn(agent.decide(states=["engaged"] * 4), states=[None, None, "engaged", None])
    assert agent.state.counts.sum(axis=(1, 2)).tolist() == [1, 0, 1, 0]


def test_outcomes_may_come_late_and_in_any_order() -> None:
    agent = people()
    first, second = (agent.decide(states=["lapsed"] * 4) for _ in range(2))
    assert agent.pending == (0, 1)
    agent.learn(second, states=["lapsed"] * 4)
    agent.learn(first, states=["engaged"] * 4)
    assert not agent.pending and agent.ignored == 0


def test_a_decision_can_be_called_off() -> None:
    agent, other = people(), people()
    agent.cancel(agent.decide(states=["lapsed"] * 4))
    other.decide(states=["lapsed"] * 4)
    assert agent.pending == () and equal(agent.state, other.state)


def test_arms_that_were_activated_elsewhere_are_learned_from_like_any_others() -> None:
    agent = people(Myopic())
    decision = agent.decide(states=["lapsed"] * 4, override=(("dina", "bea"), 0.25))
    assert (decision.action, decision.propensity) == (("bea", "dina"), 0.25)
    agent.learn(decision, states=["lapsed", "engaged", "lapsed", "engaged"])
    assert agent.state.weights[0, :, 0].tolist() == [2.0, 2.0]
    assert agent.state.sums[0, :, 0].tolist() == [0.0, 2.0]
    for wrong in (("bea", "bea"), ("eve",), "bea", 3):
        with pytest.raises(ArmError):
            agent.decide(states=["lapsed"] * 4, override=(wrong, 1.0))


# ---- why ----


def test_indices_tell_what_was_chosen_and_why() -> None:
    agent = live(people(), 400)
    luck = np.random.default_rng(3)
    kinds = set()
    for _ in range(60):
        decision = agent.decide(states=states(luck, agent))
        ranking = agent.ranking
        assert {each.arm for each in ranking if each.chosen} == set(decision.action)
        assert [each.state for each in sorted(ranking, key=lambda each: NAMES.index(each.arm))] == list(
            decision.context
        )
        indices = [each.index for each in ranking]
        assert indices == sorted(indices, reverse=True)
        assert agent.indices == {each.arm: each.index for each in ranking}
        for rank, each in enumerate(ranking, start=1):
            expected = {
                (True, True): f"index {rank} of 4",
                (False, False): f"index {rank} of 4",
                (True, False): f"explored, with index {rank} of 4",
                (False, True): f"left out to explore, with index {rank} of 4",
            }[each.chosen, rank <= 2]
            assert each.why == expected
            kinds.add(each.why.split(",")[0])
    assert {"explored", "left out to explore"} <= kinds  # it explores with chance 4 / (4 + t): some of 60


def test_a_policy_without_indices_says_so() -> None:
    agent = people(RoundRobin())
    agent.decide(states=["lapsed"] * 4)
    assert all(math.isnan(each) for each in agent.indices.values())
    assert {each.why for each in agent.ranking} == {"this policy has no index"}
    assert [each.arm for each in agent.ranking] == NAMES


def test_there_is_nothing_to_tell_before_the_first_decision() -> None:
    with pytest.raises(ArmError, match="there is no ranking yet"):
        people().ranking  # noqa: B018
    with pytest.raises(AttributeError, match="an agent of UCB1 has no `indices`"):
        Agent(UCB1(), 2).indices  # noqa: B018


# ---- arms that come and go ----


def test_arms_take_what_is_known_of_them_along() -> None:
    agent = live(people(), 100)
    known = agent.state.values
    agent.retire_arm("bea")
    agent.add_arm("emma")
    assert agent.arms == ("ana", "cleo", "dina", "emma")
    np.testing.assert_array_equal(agent.state.values[:3], known[[0, 2, 3]])
    assert not agent.state.values[3].any()
    assert live(agent, 20).ignored == 0


def test_what_was_under_way_when_an_arm_left_still_teaches_of_the_others() -> None:
    agent = people(Myopic())
    decision = agent.decide(states=["lapsed"] * 4)
    agent.retire_arm("ana")
    agent.add_arm("emma")
    agent.learn(decision, states=dict.fromkeys(NAMES, "engaged"))
    assert agent.ignored == 0
    assert agent.state.weights[0, :, 0].tolist() == [2.0, 1.0]  # cleo and dina were left alone, bea was called
    late = agent.decide(states=["lapsed"] * 4)
    for name in ("bea", "cleo", "dina", "emma"):
        agent.add_arm(name + "'s sister")
        agent.retire_arm(name)
    agent.learn(late, states=["engaged"] * 4)
    assert agent.ignored == 1  # nobody is left of whom it could be learned


def test_a_list_is_in_the_order_that_arms_had_at_the_decision() -> None:
    agent = people(WIQL())
    decision = agent.decide(states=["engaged"] * 4)
    agent.retire_arm("ana")
    with pytest.raises(MoveError, match="states has 3 entries for the 4 arms of the decision"):
        agent.learn(decision, states=["engaged"] * 3)
    agent.learn(decision, states=["lapsed", None, "engaged", None])
    assert agent.state.counts.sum(axis=(1, 2)).tolist() == [0, 1, 0]


def test_classes_share_what_they_learn_and_new_arms_name_theirs() -> None:
    agent = people(Myopic(), arm_types={"ana": "young", "bea": "old", "cleo": "young", "dina": "old"})
    assert agent.problem.structure.classes.tolist() == [0, 1, 0, 1]
    live(agent, 30)
    known = agent.state.weights
    agent.add_arm("emma", arm_type="old", activation_cost=0.2)
    assert agent.problem.structure.classes.tolist() == [0, 1, 0, 1, 1]
    assert agent.problem.structure.costs.tolist() == [0.0, 0.0, 0.0, 0.0, 0.2]
    np.testing.assert_array_equal(agent.state.weights, known)
    for wrong in ("middle", None):
        with pytest.raises(ArmError, match="is not one of 'young', 'old'"):
            agent.add_arm("fay", arm_type=wrong)
    with pytest.raises(ArmError, match="all arms of this agent are of one type"):
        people().add_arm("fay", arm_type="old")
    with pytest.raises(FeatureError, match="the arm 'b' cannot bring `arm_type`: the others did not"):
        Agent(UCB1(), ["a"]).add_arm("b", arm_type="old")


def test_where_every_arm_is_its_own_class_classes_come_and_go_with_arms() -> None:
    agent = live(people(Myopic(), arm_types="own"), 30)
    known = agent.state.weights
    agent.retire_arm("bea")
    agent.add_arm("emma")
    np.testing.assert_array_equal(agent.state.weights[:3], known[[0, 2, 3]])
    assert not agent.state.weights[3].any()
    assert agent.problem.structure.support.shape == (4, 2, 3, 3)
    live(agent, 10)


def test_how_many_are_activated_may_change() -> None:
    agent = live(people(), 40)
    known, waiting = agent.state.values, agent.decide(states=["lapsed"] * 4)
    agent.change(n_active=3)
    np.testing.assert_array_equal(agent.state.values, known)
    assert len(agent.decide(states=["lapsed"] * 4).action) == 3
    agent.learn(waiting, states=["lapsed"] * 4)
    wrong: Any
    for wrong in (0, 5, 1.5):
        before = agent.dumps()
        with pytest.raises(ParameterError, match=f"n_active={wrong} is not a whole number of at least 1 and at most 4"):
            agent.change(n_active=wrong)
        assert agent.dumps() == before
    before = agent.dumps()
    with pytest.raises(ParameterError, match="`budgets` of this problem cannot be changed; allowed: horizon, n_active"):
        agent.change(n_active=2, budgets={"euros": 50})
    assert agent.dumps() == before and agent.problem.slate == 3
    agent.change(n_active=2, horizon=50)
    assert agent.problem.slate == 2 and agent.problem.horizon == 50
    with pytest.raises(ParameterError, match="`n_active` of this problem cannot be changed; allowed: horizon"):
        Agent(UCB1(), 2).change(n_active=1)


def test_as_many_arms_must_stay_as_are_activated() -> None:
    agent = people(n_active=4)
    with pytest.raises(ArmError, match="'ana' is one of 4 arms, and as many are chosen at once: add another"):
        agent.retire_arm("ana")


# ---- what is known beforehand ----


def test_structure_says_what_is_known_what_can_happen_and_what_stays() -> None:
    structure = people(transitions=LADDER).problem.structure
    assert structure.kinds[0].tolist() == [[0, 2, 2], [1, 1, 0]]
    assert structure.support[0, 0].tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    assert structure.support[0, 1].tolist() == [[True, True, False], [True, True, True], [False, False, True]]
    pair = people(transitions={"still": [("passive", "lapsed")]}).problem.structure
    assert pair.kinds[0].tolist() == [[1, 2, 2], [2, 2, 2]]


def test_a_move_that_cannot_be_is_refused_and_changes_nothing() -> None:
    agent = people(Myopic(), transitions=LADDER)
    decision = agent.decide(states=["lapsed"] * 4)
    before = agent.dumps()
    with pytest.raises(MoveError, match="the arm 'cleo' cannot have gone from 'lapsed' to 'engaged' when passive"):
        agent.learn(decision, states=["wavering", "lapsed", "engaged", "lapsed"])
    with pytest.raises(MoveError, match="the arm 'ana' cannot have gone from 'lapsed' to 'engaged' when active"):
        agent.learn(decision, states=["engaged", "lapsed", "lapsed", "lapsed"])
    assert agent.dumps() == before
    agent.learn(decision, states=["wavering", "lapsed", "lapsed", "lapsed"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_active": 5}, "n_active=5 is not a whole number of at least 1 and at most 4"),
        ({"n_active": None}, "n_active=None is not a whole number of at least 1 and at most 4"),
        ({"states": None}, "states=None is not a whole number of at least 1"),
        ({"states": 0}, "states=0 is not a whole number of at least 1"),
        ({"states": "levels"}, "states=levels is not a whole number"),
        ({"states": ["a", "a", "b"]}, "does not name each state once"),
        ({"states": ["a", 1, "b"]}, "state 1 is not named by printable text"),
        ({"state_rewards": None}, "state_rewards=None is not a number for each of 3 states"),
        ({"state_rewards": [0.0, 1.0]}, "is not a number for each of 3 states"),
        ({"state_rewards": {"lapsed": 0.0, "engaged": 1.0}}, "state_rewards says nothing of the state 'wavering'"),
        ({"state_rewards": {"gone": 0.0}}, "state_rewards names the state 'gone'"),
        ({"state_rewards": [0.0, math.nan, 1.0]}, "reward=nan is not a finite number"),
        ({"discount": 1.0}, r"discount=1.0 is outside \(0, 1\)"),
        ({"discount": 0}, r"discount=0 is outside \(0, 1\)"),
        ({"episode_length": -1}, "episode_length=-1 is not a whole number of at least 0"),
        ({"arm_types": ["old"] * 3}, "arm_types has 3 entries for 4 arms"),
        ({"arm_types": {"eve": "old"}}, "arm_types names 'eve', which is not one of the arms"),
        ({"arm_types": {"ana": "old"}}, "arm_types says nothing of the arm 'bea'"),
        ({"arm_types": [1, 2, 3, 4]}, "type 1 is not named by printable text"),
        ({"arm_types": "old"}, "arm_types='old' is neither a list, one for each arm, nor a mapping from arms"),
        ({"activation_cost": math.inf}, "activation_cost=inf is not a finite number"),
        ({"activation_cost": [1.0]}, "activation_cost has 1 entries for 4 arms"),
        ({"transitions": {"idle": {}}}, "does not map passive, active, still and drift"),
        (
            {"transitions": {"passive": {"lapsed": {"lapsed": 0.4, "engaged": 0.5}}}},
            "what follows 'lapsed' when passive sums to 0.9, not to one",
        ),
        ({"transitions": {"passive": {"lapsed": {"lapsed": 1.4}}}}, r"the chance of 'lapsed'=1.4 is outside \[0, 1\]"),
        ({"transitions": {"passive": {"gone": ["lapsed"]}}}, "transitions: passive names the state 'gone'"),
        ({"transitions": {"passive": {"lapsed": []}}}, "row 0 of the passive transitions leads nowhere"),
        ({"transitions": {"passive": {"lapsed": 1}}}, "neither a mapping to chances nor a list of states"),
        ({"transitions": {"active": np.full((3, 3), 0.3)}}, "row 0 of the active transitions sums to 0.9, not to one"),
        ({"transitions": {"active": np.eye(2)}}, "active is not a matrix with a row for each of 3 states"),
        ({"transitions": {"still": ["all"]}}, "still names 'all'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        people(**options)


def test_policies_for_other_arms_are_refused() -> None:
    with pytest.raises(ParameterError, match="UCB1 chooses one arm, without features; this problem asks for several"):
        people(UCB1())
    for problem in (MultiArmed(3), Slate(3, slate_size=2)):
        with pytest.raises(ParameterError, match="WIQL chooses several arms that move on their own; this problem asks"):
            Agent(WIQL(), problem)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({}, MoveError, r"WIQL must know the states of the arms: decide\(states=...\)"),
        ({"states": ["lapsed"] * 3}, MoveError, "states has 3 entries for the 4 arms"),
        ({"states": ["lapsed"] * 3 + ["gone"]}, MoveError, "state 'gone' is not one of those there are: 'lapsed', "),
        ({"states": [0, 1, 2, 0]}, MoveError, "state 0 is not one of those there are"),
        ({"states": ["lapsed"] * 3 + [None]}, MoveError, "states lacks the arm 'dina'"),
        ({"states": {"ana": "lapsed"}}, MoveError, "states lacks the arm 'bea': a decision needs them all"),
        ({"states": dict.fromkeys([*NAMES, "eve"], "lapsed")}, ArmError, "there is no arm 'eve': states may name"),
        ({"states": "lapsed"}, MoveError, "is neither a mapping from arms nor a list in their order"),
        ({"states": 3}, MoveError, "is neither a mapping from arms nor a list in their order"),
        (
            {"states": ["lapsed"] * 4, "context": [1.0]},
            DriftwiseError,
            "WIQL does not accept `context`: decide",
        ),
    ],
)
def test_states_that_cannot_be_are_refused_and_change_nothing(arguments: Any, error: Any, sentence: str) -> None:
    agent = live(people(), 5)
    before = agent.dumps()
    with pytest.raises(error, match=sentence):
        agent.decide(**arguments)
    assert agent.dumps() == before


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({}, MoveError, "states is missing: WIQL learns from the states that arms went to"),
        ({"reward": 1.0}, RewardError, "WIQL does not accept `reward`: call learn"),
        ({"states": ["gone"] * 4}, MoveError, "state 'gone' is not one of those there are"),
        ({"states": ["lapsed"]}, MoveError, "states has 1 entries for the 4 arms of the decision"),
        ({"states": {"eve": "lapsed"}}, ArmError, "there is no arm 'eve'"),
        ({"states": ["lapsed"] * 4, "rewards": [math.nan] * 4}, RewardError, "reward=nan is not finite"),
        ({"states": ["lapsed"] * 4, "rewards": ["much"] * 4}, RewardError, "reward='much' is not a number"),
        ({"states": ["lapsed"] * 4, "rewards": [1.0]}, MoveError, "rewards has 1 entries for the 4 arms"),
        ({"states": ["lapsed"] * 4, "rewards": 1.0}, MoveError, "rewards=1.0 is neither a mapping from arms"),
    ],
)
def test_outcomes_that_cannot_be_are_refused_and_change_nothing(arguments: Any, error: Any, sentence: str) -> None:
    agent = live(people(), 5)
    decision = agent.decide(states=["lapsed"] * 4)
    before = agent.dumps()
    with pytest.raises(error, match=sentence):
        agent.learn(decision, **arguments)
    assert agent.dumps() == before


def test_states_out_of_range_are_refused_where_they_are_only_counted() -> None:
    agent = people(states=3)
    for wrong in (3, -1, 1.0, True, "lapsed", None):
        with pytest.raises(MoveError):
            agent.decide(states=[0, 1, 2, wrong])
    assert agent.decide(states=np.array([0, 1, 2, 0])).context == (0, 1, 2, 0)


# ---- bytes ----


@pytest.mark.parametrize(
    "options", [{}, {"arm_types": "own"}, {"arm_types": ["x", "y", "x", "y"]}, {"transitions": LADDER}]
)
def test_an_agent_comes_back_with_decisions_under_way(options: dict[str, Any]) -> None:
    agent = people(Myopic(), episode_length=5, activation_cost=0.1, **options)
    first = agent.decide(states=["engaged"] * 4)
    agent.retire_arm("bea")
    agent.add_arm("emma", arm_type="x" if isinstance(options.get("arm_types"), list) else None)
    second = agent.decide(states=["wavering"] * 4)
    again = Agent.loads(agent.dumps())
    assert again.dumps() == agent.dumps()
    assert again.ranking == agent.ranking
    for each in (agent, again):
        each.learn(second, states=["wavering"] * 4)
        each.learn(first, states=["engaged"] * 4)
    assert again.dumps() == agent.dumps()
    assert again.decide(states=["engaged"] * 4) == agent.decide(states=["engaged"] * 4)


def test_bytes_that_do_not_fit_are_refused() -> None:
    agent = live(people(), 3)
    agent.decide(states=["lapsed"] * 4)
    adapter: Any = agent.adapter
    assert isinstance(adapter, RestlessAdapter)
    structure = adapter.problem.structure
    wrongs = [
        structure._replace(classes=np.array([0, 0, 0, 1])),
        structure._replace(classes=np.array([0, 0, 0])),
        structure._replace(discount=np.array([2.0])),
        structure._replace(discount=np.zeros(0)),
        structure._replace(support=np.zeros_like(structure.support)),
    ]
    for wrong in wrongs:
        good, adapter.problem = adapter.problem, adapter.problem._replace(structure=wrong)
        blob = agent.dumps()
        adapter.problem = good
        with pytest.raises(StateError, match="the saved arms do not fit the saved problem"):
            Agent.loads(blob)
    row = agent._pending[3][3]
    row[1, 0] = 7
    with pytest.raises(StateError, match="the saved decisions do not fit the states of this agent"):
        Agent.loads(agent.dumps())


# ---- for those who run it ----


def test_kernels_are_compiled_once_whatever_the_classes() -> None:
    """Tables that are spread over classes lie in memory as others do: numba would compile for each layout."""
    for types in (None, "own", ["old", "young", "old", "young"]):
        structure = people(arm_types=types, transitions=LADDER).problem.structure
        assert all(table.flags.c_contiguous for table in structure)


def test_the_reward_of_an_outcome_is_that_of_the_arms_seen_less_costs() -> None:
    agent = people(Myopic(), activation_cost=0.1)
    decision = agent.decide(states=["lapsed"] * 4)
    before = agent.dumps()

    def seen(**outcome: Any) -> Any:
        moves = agent.outcome_of(decision, **outcome)
        return moves.reward, moves.states.tolist()

    assert seen(states=["engaged"] * 4) == (pytest.approx(4 * 1.0 - 2 * 0.1), [2, 2, 2, 2])
    assert seen(states={"ana": "engaged", "dina": "wavering"}) == (pytest.approx(1.5 - 0.1), [2, -1, -1, 1])
    assert seen(states={"dina": "wavering"}, rewards={"dina": 7.0}) == (7.0, [-1, -1, -1, 1])
    assert seen(states={}) == (0.0, [-1] * 4)
    assert agent.dumps() == before


# ---- arms with equal indices ----


def alike(*, seed: int = 0, **options: Any) -> Agent:
    arms: Any = [f"p{i:02}" for i in range(20)]
    problem = Restless(arms, n_active=4, states=["lapsed", "engaged"], state_rewards=[0.0, 1.0], **options)
    return Agent(Myopic(), problem, seed=seed)


def visits(agent: Agent, weeks: int = 200) -> dict[Any, int]:
    """How often each of twenty people, who are all alike, was chosen."""
    counts = dict.fromkeys(agent.arms, 0)
    for _ in range(weeks):
        decision = agent.decide(states=["lapsed"] * 20)
        for name in decision.action:
            counts[name] += 1
        agent.learn(decision, states=["lapsed"] * 20)
    return counts


def test_arms_with_equal_indices_draw_lots() -> None:
    """Each is chosen 40 times of 200 on average, with a deviation of 5.7; 5 deviations: once in 10^5 for any of 20."""
    counts = visits(alike(seed=4))
    assert sum(counts.values()) == 800
    assert all(abs(count - 40) < 28 for count in counts.values())
    assert set(visits(alike(seed=4, tie_break="first"), weeks=50).values()) == {0, 50}


def test_lots_are_told_and_have_their_propensity() -> None:
    agent = alike(seed=2)
    decision = agent.decide(states=["engaged"] * 2 + ["lapsed"] * 18)
    assert decision.propensity in (1 / math.comb(18, 2), 1 / math.comb(18, 4), 1 / math.comb(20, 4))
    tied = [each for each in agent.ranking if each.why.endswith("of equal index")]
    assert {each.chosen for each in tied} == {True, False}
    assert all(f"drawn at random among {len(tied)} of equal index" in each.why for each in tied)
    assert [each.chosen for each in agent.ranking] == [True] * 4 + [False] * 16


def test_lots_are_the_same_again_after_saving_and_are_not_drawn_where_all_was_settled() -> None:
    agent = alike(seed=3)
    visits(agent, weeks=5)
    again = Agent.loads(agent.dumps())
    assert again.decide(states=["lapsed"] * 20) == agent.decide(states=["lapsed"] * 20)
    assert agent.decide(states=["lapsed"] * 20, override=(["p05", "p06"], 1.0)).action == ("p05", "p06")
    with pytest.raises(ParameterError, match="tie_break=alphabet is not one of random, first"):
        alike(tie_break="alphabet")


@pytest.mark.parametrize(
    ("n_arms", "n_active", "known"), [(1000, 500, True), (1100, 550, False), (2300, 230, False), (5000, 500, False)]
)
def test_lots_among_more_arms_than_a_float_can_count_the_sets_of(n_arms: int, n_active: int, known: bool) -> None:
    """Where 1 / propensity is more than a float holds, the propensity is not told; 0 would say that it cannot be."""
    agent = Agent(Myopic(), Restless(n_arms, n_active=n_active, states=2, state_rewards=[0.0, 1.0]), seed=1)
    decision = agent.decide(states=[0] * n_arms)
    assert len(set(decision.action)) == n_active
    assert decision.propensity == (1 / math.comb(n_arms, n_active) if known else pytest.approx(math.nan, nan_ok=True))
    assert agent.t == 1 and agent.pending == (0,)
    agent.learn(decision, states=[0] * n_arms)
