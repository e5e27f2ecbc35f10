"""Live decisions: what the contracts do not already say of every policy."""

import math
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.errors import ArmError, DecisionError, ParameterError, RewardError, StateError


def taught(agent: dw.Agent, rounds: int = 50) -> dw.Agent:
    for t in range(rounds):
        agent.learn(agent.decide(), float(t % 3 == 0))
    return agent


def test_arms_are_numbered_or_named() -> None:
    assert dw.Agent(dw.Uniform(), 3).arms == (0, 1, 2)
    assert dw.Agent(dw.Uniform(), ("a", "b")).arms == ("a", "b")


@pytest.mark.parametrize(
    ("arms", "options", "says"),
    [
        (0, {}, "arms=0 is not a whole number of at least 1"),
        (2.5, {}, "arms=2.5 is not a whole number"),
        (None, {}, "arms is missing: give a count or names"),
        ([], {}, "arms is empty"),
        (["a", "a"], {}, r"arms \['a'\] are named twice"),
        (["a", None], {}, "arm names must be printable text, 64-bit integers or finite numbers; got None"),
        (2, {"reward_range": (1.0, 0.0)}, r"reward_range=\(1, 0\) is not a pair of finite numbers"),
        (2, {"reward_range": 5}, "reward_range=5 is not a pair"),
        (2, {"noise": 0.0}, r"noise=0.0 is outside \(0, inf\)"),
        ("red", {}, "arms='red' is one string"),
        (["a", 2**70], {}, "arm names must be printable text, 64-bit integers or finite numbers"),
        (["a", "\ud800"], {}, "arm names must be printable text, 64-bit integers or finite numbers"),
    ],
)
def test_nonsense_is_refused_with_the_value_and_the_rule(arms: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        dw.Agent(dw.Uniform(), dw.MultiArmed(arms, **options))
    if not options:
        with pytest.raises(ParameterError, match=says):
            dw.Agent(dw.Uniform(), arms)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seed": -1}, "seed=-1 is not a whole number of at least 0"),
        ({"max_pending": 0}, "max_pending=0"),
        ({"seed": 2**64}, "seed=18446744073709551616 is not a whole number"),
    ],
)
def test_bad_options_of_an_agent_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        dw.Agent(dw.Uniform(), 2, **options)


def test_arms_with_features_are_a_contextual_problem() -> None:
    with pytest.raises(ParameterError, match=r"arms with features are a contextual problem: give dw\.Contextual"):
        dw.Agent(dw.UCB1(), {"a": [1.0]})


def test_a_policy_is_an_instance() -> None:
    wrong: Any
    for wrong in (dw.UCB1, "thompson", None):
        with pytest.raises(ParameterError, match="is not a policy: give an instance"):
            dw.Agent(wrong, 2)


def test_a_window_must_be_a_whole_number_of_rounds() -> None:
    for window in (0, -3, 2.5, math.nan):
        with pytest.raises(ParameterError, match=f"window={window}"):
            dw.Agent(dw.SlidingUCB(window=window), 2)  # type: ignore[arg-type]


def test_beta_thompson_needs_a_bounded_range() -> None:
    with pytest.raises(ParameterError, match="use gaussian-thompson"):
        dw.Agent(dw.Thompson(), dw.MultiArmed(2, reward_range=None))


def test_rewards_of_any_range_are_scaled() -> None:
    small = taught(dw.Agent(dw.SlidingUCB(window=20), 3, seed=1))
    large = dw.Agent(dw.SlidingUCB(window=20), dw.MultiArmed(3, reward_range=(-100.0, 100.0)), seed=1)
    for t in range(50):
        large.learn(large.decide(), 200.0 * (t % 3 == 0) - 100.0)
    assert [small.decide().action for _ in range(5)] == [large.decide().action for _ in range(5)]


def test_threads_may_share_an_agent() -> None:
    agent = dw.Agent(dw.SlidingUCB(window=100), 4)
    seen: list[int] = []

    def work() -> None:
        for _ in range(2000):
            decision = agent.decide()
            seen.append(decision.id)
            agent.learn(decision, 1.0)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(seen) == list(range(16_000))
    assert agent.t == 16_000 and agent.pending == ()


def test_what_numpy_gives_can_be_used_and_saved() -> None:
    agent = dw.Agent(dw.Uniform(), list(np.array(["a", "b"])), seed=int(np.int64(3)))
    agent.add_arm(np.int64(7))  # type: ignore[arg-type]
    agent.decide()
    agent.learn(np.int64(0), np.float64(1.0))  # type: ignore[arg-type]
    assert dw.Agent.loads(agent.dumps()).arms == ("a", "b", 7)


def test_errors_tell_unknown_from_answered() -> None:
    agent = dw.Agent(dw.Uniform(), 2)
    decision = agent.decide()
    agent.learn(decision, 1)
    with pytest.raises(DecisionError, match="decision 0 has been answered already"):
        agent.learn(decision, 1.0)
    with pytest.raises(DecisionError, match="decision 7 was never made: this agent has made 1"):
        agent.learn(7, 1.0)
    with pytest.raises(DecisionError, match="decision True was never made"):
        agent.learn(True, 1.0)


def test_reward_errors_name_the_value_and_the_rule() -> None:
    agent = dw.Agent(dw.Uniform(), 2)
    decision = agent.decide()
    cases = {
        math.nan: "reward=nan is not finite",
        2: r"reward=2 is outside \[0, 1\]: declare another range",
        (): "is not a number",
    }
    cases |= {"0.5": "reward='0.5' is not a number", b"1": "reward=b'1' is not a number"}
    for reward, says in cases.items():
        with pytest.raises(RewardError, match=says):
            agent.learn(decision, reward)
    agent.learn(decision, np.float32(0.5))
    assert agent.pending == ()


def test_the_oldest_pending_decision_is_given_up_and_counted() -> None:
    agent = dw.Agent(dw.Uniform(), 2, max_pending=3)
    for _ in range(5):
        agent.decide()
    assert agent.pending == (2, 3, 4)
    assert agent.forgotten == 2
    with pytest.raises(DecisionError, match="given up as the oldest of 3 pending"):
        agent.learn(0, 1.0)


def test_a_reward_older_than_the_window_is_stale() -> None:
    agent = dw.Agent(dw.SlidingThompson(window=5), 2)
    first = agent.decide()
    for _ in range(5):
        agent.decide()
    agent.learn(first, 1.0)
    assert agent.stale == 1
    assert agent.state.window.counts.sum() == 0


def test_rounds_without_rewards_leave_the_window_too() -> None:
    agent = taught(dw.Agent(dw.SlidingUCB(window=10), 3), rounds=10)
    assert agent.state.window.counts.sum() == 10
    for _ in range(4):
        agent.decide()
    assert agent.state.window.counts.sum() == 6  # rounds 4..9: the last decision was of round 13
    for _ in range(7):
        agent.decide()
    assert agent.state.window.counts.sum() == 0


def test_arm_errors() -> None:
    agent = dw.Agent(dw.Uniform(), ["a", "b"])
    with pytest.raises(ArmError, match="there is an arm 'a' already"):
        agent.add_arm("a")
    with pytest.raises(ArmError, match="there is no arm 'z': there are 'a', 'b'"):
        agent.retire_arm("z")
    agent.retire_arm("a")
    with pytest.raises(ArmError, match="'b' is the last arm"):
        agent.retire_arm("b")


def test_an_arm_that_returns_under_its_old_name_is_a_new_arm() -> None:
    agent = dw.Agent(dw.SlidingUCB(window=50), ["a", "b"], seed=0)
    waiting = agent.decide()
    agent.retire_arm(waiting.action)
    agent.add_arm(waiting.action)
    agent.learn(waiting, 1.0)
    assert agent.ignored == 1
    assert agent.state.window.counts.sum() == 0


def test_regrouping_keeps_what_the_others_learned() -> None:
    agent = taught(dw.Agent(dw.SlidingUCB(window=30), ["a", "b", "c"]))
    before = dict(zip(agent.arms, agent.state.window.counts, strict=True))
    agent.retire_arm("a")
    agent.add_arm("d")
    after = dict(zip(agent.arms, agent.state.window.counts, strict=True))
    assert after == {"b": before["b"], "c": before["c"], "d": 0}
    assert np.isin(agent.state.window.arms, [-1, 0, 1]).all()


def test_many_arms_come_and_go_with_the_winner_tree() -> None:
    agent = dw.Agent(dw.SlidingUCB(window=400), 150, seed=4)
    rng = np.random.default_rng(0)
    for t in range(3000):
        decision = agent.decide()
        agent.learn(decision, float(rng.random() < 0.5))
        if t % 100 == 50:
            agent.retire_arm(decision.action)
            agent.add_arm(1000 + t)
        state = agent.state
        if t >= 400:
            assert state.tree[1] in (-1, state.indices.argmax())


def test_resume_with_named_arms_pending_and_counters() -> None:
    agent = taught(dw.Agent(dw.SlidingThompson(window=20), ["x", "y", 3], seed=9))
    open_ones = [agent.decide() for _ in range(30)]
    agent.retire_arm("x")
    again = dw.Agent.loads(agent.dumps())
    assert again.arms == agent.arms and again.pending == agent.pending
    for decision in reversed(open_ones):
        agent.learn(decision, 1.0)
        again.learn(decision.id, 1.0)
    assert (again.ignored, again.stale) == (agent.ignored, agent.stale)
    assert again.stale > 0
    assert again.dumps() == agent.dumps()


def test_foreign_and_broken_bytes_are_refused() -> None:
    blob = taught(dw.Agent(dw.SlidingUCB(window=20), 3)).dumps()
    broken = bytearray(blob)
    broken[len(blob) // 2] ^= 0xFF
    cases = {
        b"": "not a whole driftwise state",
        blob[:-1]: "truncated",
        b"\x80\x04K\x01.": "not a whole driftwise state",
        bytes(broken): "damaged|not a whole",
        blob.replace(b"driftwise", b"driftwoos"): "written by 'driftwoos'",
    }
    for bytes_, says in cases.items():
        with pytest.raises(StateError, match=says):
            dw.Agent.loads(bytes_)
    with pytest.raises(StateError, match="a saved state is bytes, not str"):
        dw.Agent.loads("text")  # type: ignore[arg-type]
    with pytest.raises(StateError, match="saved with the policy sliding-ucb, not thompson"):
        dw.Agent.loads(blob, policy=dw.Thompson)
    assert dw.Agent.loads(memoryview(blob)).t == 50  # type: ignore[arg-type]


def test_bytes_of_other_code_load_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    blob = taught(dw.Agent(dw.UCB1(), 3)).dumps()
    monkeypatch.setattr("driftwise.agent.serialization.code_tag", lambda *_: "another")
    with pytest.warns(UserWarning, match="ucb1 has changed since this agent was saved"):
        dw.Agent.loads(blob)
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dw.Agent.loads(blob)


def test_the_stream_of_a_decision_depends_on_seed_and_round_only() -> None:
    one, other = (dw.Agent(dw.Uniform(), 10, seed=5) for _ in range(2))
    other.learn(other.decide(), 1.0)
    one.decide()
    assert one.decide() == other.decide()
    first, second = (dw.Agent(dw.Uniform(), 10, seed=seed).decide() for seed in (5, 6))
    assert first.rng != second.rng


def test_prices_can_be_arms() -> None:
    agent = dw.Agent(dw.SlidingUCB(window=50), [9.99, 12.5, 15])
    assert agent.decide(override=(12.5, 0.5)).action == 12.5
    assert dw.Agent.loads(agent.dumps()).arms == (9.99, 12.5, 15)
    agent.retire_arm(9.99)
    assert agent.arms == (12.5, 15)
    with pytest.raises(ParameterError, match="named twice"):
        dw.Agent(dw.SlidingUCB(), [15, 15.0])
    with pytest.raises(ParameterError, match="finite numbers; got nan"):
        dw.Agent(dw.SlidingUCB(), [1.0, float("nan")])


def test_a_decision_shows_its_id() -> None:
    decision = dw.Agent(dw.UCB1(), ["a"]).decide()
    assert repr(decision) == f"Decision(id=0, action='a', propensity={decision.propensity:.4g})"


def test_a_file_that_cannot_be_written_is_the_one_that_was_named(tmp_path: Path) -> None:
    agent = dw.Agent(dw.UCB1(), ["a"])
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*/nowhere/agent'$"):
        agent.save(tmp_path / "nowhere" / "agent")
    with pytest.raises(IsADirectoryError, match=rf"'{tmp_path}'$"):
        agent.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_view_of_notes_lives_on_after_a_block_that_failed() -> None:
    agent = dw.Agent(dw.UCB1(), ["a", "b"])
    agent.decide(note="first")
    notes = agent.notes
    with pytest.raises(ZeroDivisionError), agent.atomic():
        agent.decide(note="never")
        raise ZeroDivisionError
    agent.learn(0, reward=1.0)
    agent.decide(note="second")
    assert dict(notes) == dict(agent.notes) == {1: "second"}
