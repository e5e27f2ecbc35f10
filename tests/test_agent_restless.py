"""Agents with arms that move on their own: asking, answering, why, arms that come and go, what each slip is told."""

import math
from typing import Any

import numpy as np
import pytest

from driftwise import Agent
from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.serialization import equal
from driftwise.core.validation import cast
from driftwise.core.verbs import observe, respond
from driftwise.errors import ArmError, BudgetError, DriftwiseError, MoveError, ParameterError, RewardError, StateError
from driftwise.families import UCB1, WIQL, Climbing, Myopic, RandomArms, Restless, RoundRobin
from driftwise.families.restless.adapter import RestlessArms

NAMES = ["ana", "bea", "cleo", "dina"]
LEVELS = ["lapsed", "wavering", "engaged"]
LADDER = {
    "passive": {"lapsed": {"lapsed": 1.0}, "wavering": ["lapsed", "wavering"], "engaged": ["wavering", "engaged"]},
    "active": {"engaged": {"engaged": 1.0}, "lapsed": ["lapsed", "wavering"]},
    "still": ["active"],
}


def made(policy: Any = None, **more: Any) -> Agent:
    """Four people on three levels, two of them called at a time."""
    given: dict[str, Any] = {"arms": NAMES, "activate": 2, "states": LEVELS, "rewards": [0.0, 0.5, 1.0]}
    given |= {"ties": "first"}  # as in the loop
    return Agent(WIQL() if policy is None else policy, **given | more)


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
    decision = made(RoundRobin()).decide(states=["lapsed", "engaged", "lapsed", "wavering"])
    assert decision.action == ("ana", "bea")
    assert decision.context == ("lapsed", "engaged", "lapsed", "wavering")
    assert decision.propensity == 1.0


def test_states_may_be_told_by_name_or_in_order_or_be_numbers() -> None:
    by_name, in_order = made(seed=1), made(seed=1)
    numbered = made(states=3, seed=1)
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
    agent = Agent(
        policy,
        Restless(
            6,
            n_active=2,
            states=4,
            state_rewards={"known": range(4), "drifting": range(4)},
            arm_types=["known"] * 3 + ["drifting"] * 3,
            transitions={
                "known": {"passive": structure.known[0, 0], "active": structure.known[0, 1]},
                "drifting": {
                    "passive": {s: [max(s - 1, 0), s] for s in range(4)},
                    "active": {s: [s, min(s + 1, 3)] for s in range(4)},
                    "still": "active",
                },
            },
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
    told, plain = made(Myopic()), made(Myopic())
    for agent, rewards in (told, [0.0, 1.0, 0.0, 1.0]), (plain, None):
        agent.learn(agent.decide(states=["lapsed"] * 4), states=["lapsed", "engaged"] * 2, rewards=rewards)
    assert equal(told.state, plain.state)
    told.learn(told.decide(states=["lapsed"] * 4), states=["lapsed"] * 4, rewards={"ana": 7.0})
    assert told.state.sums[0, 1, 0] == pytest.approx(0.999 * 1.0 + 7.0)


def test_rewards_are_refused_by_policies_that_do_not_learn_from_them() -> None:
    agent = made(RoundRobin())
    decision = agent.decide(states=["lapsed"] * 4)
    before = agent.dumps()
    for verb in agent.learn, agent.worth:
        with pytest.raises(RewardError, match="RoundRobin does not learn from rewards, only from states: leave out"):
            verb(decision, states=["engaged"] * 4, rewards=[0.0, 1.0, 0.0, 1.0])
    assert agent.dumps() == before
    agent.learn(decision, states=["engaged"] * 4)
    assert agent.pending == ()


def test_an_arm_that_is_not_told_of_teaches_nothing() -> None:
    agent = made(WIQL())
    agent.learn(agent.decide(states=["engaged"] * 4), states={"ana": "engaged", "bea": None})
    assert agent.state.counts.sum(axis=(1, 2)).tolist() == [1, 0, 0, 0]
    agent.learn(agent.decide(states=["engaged"] * 4), states=[None, None, "engaged", None])
    assert agent.state.counts.sum(axis=(1, 2)).tolist() == [1, 0, 1, 0]


def test_outcomes_may_come_late_and_in_any_order() -> None:
    agent = made()
    first, second = (agent.decide(states=["lapsed"] * 4) for _ in range(2))
    assert agent.pending == (0, 1)
    agent.learn(second, states=["lapsed"] * 4)
    agent.learn(first, states=["engaged"] * 4)
    assert not agent.pending and agent.ignored == 0


def test_a_decision_can_be_called_off() -> None:
    agent, other = made(), made()
    agent.cancel(agent.decide(states=["lapsed"] * 4))
    other.decide(states=["lapsed"] * 4)
    assert agent.pending == () and equal(agent.state, other.state)


def test_arms_that_were_activated_elsewhere_are_learned_from_like_any_others() -> None:
    agent = made(Myopic())
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
    agent = live(made(), 400)
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
    agent = made(RoundRobin())
    agent.decide(states=["lapsed"] * 4)
    assert all(math.isnan(each) for each in agent.indices.values())
    assert {each.why for each in agent.ranking} == {"this policy goes by no index"}
    assert [each.arm for each in agent.ranking] == NAMES


def test_there_is_nothing_to_tell_before_the_first_decision() -> None:
    with pytest.raises(ArmError, match="there is no decision to tell of yet"):
        made().ranking  # noqa: B018
    with pytest.raises(ArmError, match="the arms of this agent do not move on their own"):
        Agent(UCB1(), 2).indices  # noqa: B018


# ---- arms that come and go ----


def test_arms_take_what_is_known_of_them_along() -> None:
    agent = live(made(), 100)
    known = agent.state.values
    agent.retire_arm("bea")
    agent.add_arm("emma")
    assert agent.arms == ("ana", "cleo", "dina", "emma")
    np.testing.assert_array_equal(agent.state.values[:3], known[[0, 2, 3]])
    assert not agent.state.values[3].any()
    assert live(agent, 20).ignored == 0


def test_what_was_under_way_when_an_arm_left_still_teaches_of_the_others() -> None:
    agent = made(Myopic())
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
    agent = made(WIQL())
    decision = agent.decide(states=["engaged"] * 4)
    agent.retire_arm("ana")
    with pytest.raises(MoveError, match="states has 3 entries for the 4 arms of that decision"):
        agent.learn(decision, states=["engaged"] * 3)
    agent.learn(decision, states=["lapsed", None, "engaged", None])
    assert agent.state.counts.sum(axis=(1, 2)).tolist() == [0, 1, 0]


def test_classes_share_what_they_learn_and_new_arms_name_theirs() -> None:
    agent = made(Myopic(), classes={"ana": "young", "bea": "old", "cleo": "young", "dina": "old"})
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
    with pytest.raises(ArmError, match="all arms of this agent are alike"):
        made().add_arm("fay", arm_type="old")
    with pytest.raises(ArmError, match="UCB1 knows no classes of arms, nor costs of activation"):
        Agent(UCB1(), ["a"]).add_arm("b", arm_type="old")


def test_where_every_arm_is_its_own_class_classes_come_and_go_with_arms() -> None:
    agent = live(made(Myopic(), classes="own"), 30)
    known = agent.state.weights
    agent.retire_arm("bea")
    agent.add_arm("emma")
    np.testing.assert_array_equal(agent.state.weights[:3], known[[0, 2, 3]])
    assert not agent.state.weights[3].any()
    assert agent.problem.structure.support.shape == (4, 2, 3, 3)
    live(agent, 10)


def test_how_many_are_activated_may_change() -> None:
    agent = live(made(), 40)
    known, waiting = agent.state.values, agent.decide(states=["lapsed"] * 4)
    agent.change(activate=3)
    np.testing.assert_array_equal(agent.state.values, known)
    assert len(agent.decide(states=["lapsed"] * 4).action) == 3
    agent.learn(waiting, states=["lapsed"] * 4)
    wrong: Any
    for wrong in (0, 5, 1.5):
        before = agent.dumps()
        with pytest.raises(ParameterError, match=f"activate={wrong} is not a whole number of at least 1 and at most 4"):
            agent.change(activate=wrong)
        assert agent.dumps() == before
    before = agent.dumps()
    with pytest.raises(BudgetError, match="this agent has no budgets"):
        agent.change(activate=2, budgets={"euros": 50})
    assert agent.dumps() == before and agent.problem.slate == 3
    agent.change(activate=2, horizon=50)
    assert agent.problem.slate == 2 and agent.problem.horizon == 50
    with pytest.raises(ArmError, match="the arms of this agent do not move on their own"):
        Agent(UCB1(), 2).change(activate=1)


def test_as_many_arms_must_stay_as_are_activated() -> None:
    agent = made(activate=4)
    with pytest.raises(ArmError, match="'ana' is one of 4 arms, and as many are chosen at once: add another"):
        agent.retire_arm("ana")


# ---- what is known beforehand ----


def test_structure_says_what_is_known_what_can_happen_and_what_stays() -> None:
    structure = made(structure=LADDER).problem.structure
    assert structure.kinds[0].tolist() == [[0, 2, 2], [1, 1, 0]]
    assert structure.support[0, 0].tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    assert structure.support[0, 1].tolist() == [[True, True, False], [True, True, True], [False, False, True]]
    pair = made(structure={"still": [("passive", "lapsed")]}).problem.structure
    assert pair.kinds[0].tolist() == [[1, 2, 2], [2, 2, 2]]


def test_a_move_that_cannot_be_is_refused_and_changes_nothing() -> None:
    agent = made(Myopic(), structure=LADDER)
    decision = agent.decide(states=["lapsed"] * 4)
    before = agent.dumps()
    with pytest.raises(MoveError, match="the arm 'cleo' cannot have gone from 'lapsed' to 'engaged' when passive"):
        agent.learn(decision, states=["wavering", "lapsed", "engaged", "lapsed"])
    with pytest.raises(MoveError, match="the arm 'ana' cannot have gone from 'lapsed' to 'engaged' when active"):
        agent.learn(decision, states=["engaged", "lapsed", "lapsed", "lapsed"])
    assert agent.dumps() == before
    agent.learn(decision, states=["wavering", "lapsed", "lapsed", "lapsed"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"activate": 5}, "activate=5 is not a whole number of at least 1 and at most 4"),
        ({"activate": None}, "WIQL activates some of many arms: say how many, activate=3"),
        ({"states": None}, r"give states=\['lapsed', 'engaged'\]"),
        ({"states": 0}, "states=0 is not a whole number of at least 1"),
        ({"states": "levels"}, "states=levels is not a whole number"),
        ({"states": ["a", "a", "b"]}, "does not name each state once"),
        ({"states": ["a", 1, "b"]}, "state 1 is not named by printable text"),
        ({"rewards": None}, r"give rewards=\[0.0, 1.0\]"),
        ({"rewards": [0.0, 1.0]}, "is not a number for each of 3 states"),
        ({"rewards": {"lapsed": 0.0, "engaged": 1.0}}, "rewards says nothing of the state 'wavering'"),
        ({"rewards": {"gone": 0.0}}, "rewards names the state 'gone'"),
        ({"rewards": [0.0, math.nan, 1.0]}, "reward=nan is not a finite number"),
        ({"discount": 1.0}, r"discount=1.0 is outside \(0, 1\)"),
        ({"discount": 0}, r"discount=0 is outside \(0, 1\)"),
        ({"episode": -1}, "episode=-1 is not a whole number of at least 0"),
        ({"classes": ["old"] * 3}, "classes has 3 entries for 4 arms"),
        ({"classes": {"eve": "old"}}, "classes names 'eve', which is not one of the arms"),
        ({"classes": {"ana": "old"}}, "classes says nothing of the arm 'bea'"),
        ({"classes": [1, 2, 3, 4]}, "class 1 is not named by printable text"),
        ({"classes": "old"}, "classes='old' is neither a list, one for each arm, nor a mapping from arms"),
        ({"activation_cost": math.inf}, "activation_cost=inf is not a finite number"),
        ({"activation_cost": [1.0]}, "activation_cost has 1 entries for 4 arms"),
        ({"structure": {"idle": {}}}, "does not map passive, active and still"),
        (
            {"structure": {"passive": {"lapsed": {"lapsed": 0.4, "engaged": 0.5}}}},
            "what follows 'lapsed' when passive sums to 0.9, not to one",
        ),
        ({"structure": {"passive": {"lapsed": {"lapsed": 1.4}}}}, r"the chance of 'lapsed'=1.4 is outside \[0, 1\]"),
        ({"structure": {"passive": {"gone": ["lapsed"]}}}, "structure: passive names the state 'gone'"),
        ({"structure": {"passive": {"lapsed": []}}}, "row 0 of the passive kernel leads nowhere"),
        ({"structure": {"passive": {"lapsed": 1}}}, "neither a mapping to chances nor a list of states"),
        ({"structure": {"active": np.full((3, 3), 0.3)}}, "row 0 of the active kernel sums to 0.9, not to one"),
        ({"structure": {"active": np.eye(2)}}, "active is not a matrix with a row for each of 3 states"),
        ({"structure": {"still": ["all"]}}, "still names 'all'"),
        ({"slate": 2}, "WIQL chooses several arms that move on their own; this problem asks for several items at once"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        made(**given)


def test_policies_for_other_arms_are_told_so() -> None:
    with pytest.raises(ParameterError, match="UCB1 knows no arms that move on their own: leave out activate="):
        made(UCB1())
    with pytest.raises(ParameterError, match="WIQL activates some of many arms"):
        Agent(WIQL(), 3)


@pytest.mark.parametrize(
    ("told", "error", "sentence"),
    [
        ({}, MoveError, r"WIQL must know the states of the arms: decide\(states=...\)"),
        ({"states": ["lapsed"] * 3}, MoveError, "states has 3 entries for 4 arms"),
        ({"states": ["lapsed"] * 3 + ["gone"]}, MoveError, "state 'gone' is not one of those there are: 'lapsed', "),
        ({"states": [0, 1, 2, 0]}, MoveError, "state 0 is not one of those there are"),
        ({"states": ["lapsed"] * 3 + [None]}, MoveError, "states says nothing of the arm 'dina'"),
        ({"states": {"ana": "lapsed"}}, MoveError, "states says nothing of the arm 'bea': a decision needs them all"),
        ({"states": dict.fromkeys([*NAMES, "eve"], "lapsed")}, ArmError, "there is no arm 'eve': states may name"),
        ({"states": "lapsed"}, MoveError, "is neither a mapping from arms nor a list in their order"),
        ({"states": 3}, MoveError, "is neither a mapping from arms nor a list in their order"),
        ({"states": ["lapsed"] * 4, "context": [1.0]}, DriftwiseError, "WIQL looks at no features"),
    ],
)
def test_states_that_cannot_be_are_refused_and_change_nothing(told: Any, error: Any, sentence: str) -> None:
    agent = live(made(), 5)
    before = agent.dumps()
    with pytest.raises(error, match=sentence):
        agent.decide(**told)
    assert agent.dumps() == before


@pytest.mark.parametrize(
    ("told", "error", "sentence"),
    [
        ({}, MoveError, "states is missing: WIQL learns from the states that arms went to"),
        ({"reward": 1.0}, RewardError, "reward means nothing to WIQL: it is told learn"),
        ({"states": ["gone"] * 4}, MoveError, "state 'gone' is not one of those there are"),
        ({"states": ["lapsed"]}, MoveError, "states has 1 entries for the 4 arms of that decision"),
        ({"states": {"eve": "lapsed"}}, ArmError, "there is no arm 'eve'"),
        ({"states": ["lapsed"] * 4, "rewards": [math.nan] * 4}, RewardError, "reward=nan is not finite"),
        ({"states": ["lapsed"] * 4, "rewards": ["much"] * 4}, RewardError, "reward='much' is not a number"),
        ({"states": ["lapsed"] * 4, "rewards": [1.0]}, MoveError, "rewards has 1 entries for the 4 arms"),
        ({"states": ["lapsed"] * 4, "rewards": 1.0}, MoveError, "rewards=1.0 is neither a mapping from arms"),
    ],
)
def test_outcomes_that_cannot_be_are_refused_and_change_nothing(told: Any, error: Any, sentence: str) -> None:
    agent = live(made(), 5)
    decision = agent.decide(states=["lapsed"] * 4)
    before = agent.dumps()
    with pytest.raises(error, match=sentence):
        agent.learn(decision, **told)
    assert agent.dumps() == before


def test_states_out_of_range_are_refused_where_they_are_only_counted() -> None:
    agent = made(states=3)
    for wrong in (3, -1, 1.0, True, "lapsed", None):
        with pytest.raises(MoveError):
            agent.decide(states=[0, 1, 2, wrong])
    assert agent.decide(states=np.array([0, 1, 2, 0])).context == (0, 1, 2, 0)


# ---- on paper ----


@pytest.mark.parametrize("more", [{}, {"classes": "own"}, {"classes": ["x", "y", "x", "y"]}, {"structure": LADDER}])
def test_an_agent_comes_back_with_decisions_under_way(more: dict[str, Any]) -> None:
    agent = made(Myopic(), episode=5, activation_cost=0.1, **more)
    first = agent.decide(states=["engaged"] * 4)
    agent.retire_arm("bea")
    agent.add_arm("emma", arm_type="x" if isinstance(more.get("classes"), list) else None)
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
    agent = live(made(), 3)
    agent.decide(states=["lapsed"] * 4)
    manner: Any = agent._manner
    assert isinstance(manner, RestlessArms)
    structure = manner.problem.structure
    wrongs = [
        structure._replace(classes=np.array([0, 0, 0, 1])),
        structure._replace(classes=np.array([0, 0, 0])),
        structure._replace(discount=np.array([2.0])),
        structure._replace(discount=np.zeros(0)),
        structure._replace(support=np.zeros_like(structure.support)),
    ]
    for wrong in wrongs:
        good, manner.problem = manner.problem, manner.problem._replace(structure=wrong)
        blob = agent.dumps()
        manner.problem = good
        with pytest.raises(StateError, match="the saved arms do not fit the saved problem"):
            Agent.loads(blob)
    row = agent._pending[3][2]
    row[1, 0] = 7
    with pytest.raises(StateError, match="the saved decisions do not fit the states of this agent"):
        Agent.loads(agent.dumps())


# ---- for those who run it ----


def test_kernels_are_compiled_once_whatever_the_classes() -> None:
    """Tables that are spread over classes lie in memory as others do: numba would compile for each layout."""
    for classes in (None, "own", ["old", "young", "old", "young"]):
        structure = made(classes=classes, structure=LADDER).problem.structure
        assert all(table.flags.c_contiguous for table in structure)


def test_what_an_outcome_is_worth_is_the_mean_of_those_told_of_less_costs() -> None:
    agent = made(Myopic(), activation_cost=0.1)
    decision = agent.decide(states=["lapsed"] * 4)
    before = agent.dumps()
    assert agent.worth(decision, states=["engaged"] * 4) == pytest.approx((4 * 1.0 - 2 * 0.1) / 4)
    assert agent.worth(decision, states={"ana": "engaged", "dina": "wavering"}) == pytest.approx((1.5 - 0.1) / 2)
    assert agent.worth(decision, states={"dina": "wavering"}, rewards={"dina": 7.0}) == 7.0
    assert agent.worth(decision, states={}) is None
    assert agent.dumps() == before


# ---- arms with equal indices ----


def alike(**more: Any) -> Agent:
    people = [f"p{i:02}" for i in range(20)]
    return Agent(Myopic(), arms=people, activate=4, states=["lapsed", "engaged"], rewards=[0.0, 1.0], **more)


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
    assert set(visits(alike(seed=4, ties="first"), weeks=50).values()) == {0, 50}


def test_lots_are_told_and_have_their_propensity() -> None:
    agent = alike(seed=2)
    decision = agent.decide(states=["engaged"] * 2 + ["lapsed"] * 18)
    assert decision.propensity in (1 / math.comb(18, 2), 1 / math.comb(18, 4), 1 / math.comb(20, 4))
    told = [each for each in agent.ranking if each.why.endswith("alike")]
    assert {each.chosen for each in told} == {True, False}
    assert all(f"by lot among {len(told)} alike" in each.why for each in told)
    assert [each.chosen for each in agent.ranking] == [True] * 4 + [False] * 16


def test_lots_are_the_same_again_after_saving_and_are_not_drawn_where_all_was_settled() -> None:
    agent = alike(seed=3)
    visits(agent, weeks=5)
    again = Agent.loads(agent.dumps())
    assert again.decide(states=["lapsed"] * 20) == agent.decide(states=["lapsed"] * 20)
    assert agent.decide(states=["lapsed"] * 20, override=(["p05", "p06"], 1.0)).action == ("p05", "p06")
    with pytest.raises(ParameterError, match="ties=alphabet is not one of lot, first"):
        alike(ties="alphabet")


@pytest.mark.parametrize(
    ("n_arms", "activate", "known"), [(1000, 500, True), (1100, 550, False), (2300, 230, False), (5000, 500, False)]
)
def test_lots_among_more_arms_than_a_float_can_count_the_sets_of(n_arms: int, activate: int, known: bool) -> None:
    """Where 1 / propensity is more than a float holds, the propensity is not told; 0 would say that it cannot be."""
    agent = Agent(Myopic(), Restless(n_arms, n_active=activate, states=2, state_rewards=[0.0, 1.0]), seed=1)
    decision = agent.decide(states=[0] * n_arms)
    assert len(set(decision.action)) == activate
    assert decision.propensity == (1 / math.comb(n_arms, activate) if known else pytest.approx(math.nan, nan_ok=True))
    assert agent.t == 1 and agent.pending == (0,)
    agent.learn(decision, states=[0] * n_arms)
