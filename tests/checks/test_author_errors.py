"""What an author of a policy is told of a slip: whose kernel, where, and the rule."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import driftwise as dw
from driftwise.checks.contract import ContractError
from driftwise.checks.runs import no_index_is_out_of_bounds
from driftwise.checks.units import rewards_have_no_origin, rewards_have_no_unit, unbounded_rewards_can_be_learned
from driftwise.core.types import PerArm, Problem, Shared
from driftwise.errors import ArmError, DriftwiseError, KernelError
from driftwise.extend import kernel, register


class SlippedState(NamedTuple):
    values: PerArm


class Slipped(NamedTuple):
    """A policy with a slip in one of its kernels."""

    arm: int = 0
    offset: int = 0

    def init(self, problem: Problem) -> SlippedState:
        return SlippedState(np.zeros(problem.n_arms))


@kernel
def _update(policy: Any, state: Any, decision: Any, outcome: Any, now: int) -> None:
    state.values[decision.action + policy.offset] += outcome.reward


@kernel
def _choose(policy: Any, state: Any, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return policy.arm, 1.0


@kernel
def _half(policy: Any, state: Any, t: int, context: Any, rng: Any) -> tuple[float, float]:
    return 0.5, 1.0


@kernel
def _alone(policy: Any, state: Any, t: int, context: Any, rng: Any) -> int:
    return int(np.argmax(state.values))


@kernel
def _unknown(policy: Any, state: Any, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return best_of(state.values), 1.0  # type: ignore[name-defined]  # noqa: F821  the slip


@kernel
def _difference(policy: Any, state: Any, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return int(np.argmax(state.values - policy.offset)), 1.0


@kernel
def _towards(policy: Any, state: Any, decision: Any, outcome: Any, now: int) -> None:
    state.values[decision.action] += 0.1 * (outcome.reward - state.values[decision.action])


SLIPS: dict[str, tuple[Any, str]] = {
    "half an arm": (
        _half,
        r"select of Slipped .*: it returns float64 for an action.* \(in _half, ",
    ),
    "no propensity": (_alone, r"select of Slipped .*: it returns int64, not an action and its propensity .*in _alone"),
    "a name that is not there": (_unknown, r"select of Slipped .*'best_of' is not defined \(in _unknown"),
    "a temporary array": (
        _difference,
        r"select of Slipped does not compile: an array or a list is made here \(.*test_author_errors.py, line \d+: "
        r"return int\(np.argmax\(state.values - policy.offset.*write @dx.kernel\(allocates=True\)",
    ),
}


def study_of(policy: Any) -> dw.Study:
    return dw.Study(name="s", worlds={"w": dw.worlds.Abrupt(n_arms=3)}, policies={"p": policy}, horizon=9, runs=1)


@pytest.mark.parametrize("slip", SLIPS)
def test_a_select_that_does_not_compile_is_named_with_the_rule(slip: str) -> None:
    select, sentence = SLIPS[slip]
    register(Slipped, select=select, update=_update)
    for use in (lambda: dw.Agent(Slipped(), 3), lambda: dw.run(study_of(Slipped()))):
        with pytest.raises(KernelError, match=sentence):
            use()


@pytest.mark.parametrize("arm", [7, -1])
def test_an_arm_that_is_not_there_is_named_and_nothing_changes(arm: int) -> None:
    register(Slipped, select=_choose, update=_update)
    agent = dw.Agent(Slipped(arm=arm), 3)
    before = agent.dumps()
    with pytest.raises(
        ArmError, match=rf"Slipped\(arm={arm}, .*select returned {arm}, not the number of an arm, 0 to 2"
    ):
        agent.decide()
    assert agent.dumps() == before
    with pytest.raises(DriftwiseError, match=rf"Slipped\(arm={arm}, .*: the policy chose an arm that does not exist"):
        dw.run(study_of(Slipped(arm=arm)))


def test_a_kernel_that_writes_past_an_array_is_found() -> None:
    register(Slipped, select=_choose, update=_update)
    no_index_is_out_of_bounds(Slipped())
    with pytest.raises(ContractError, match=r"Slipped\(arm=0, offset=9\): a kernel reads or writes outside"):
        no_index_is_out_of_bounds(Slipped(offset=9))
    no_index_is_out_of_bounds(Slipped())


class OddState(NamedTuple):
    values: PerArm
    other: Shared


class OddlyKept(NamedTuple):
    """A policy whose state holds something else than arrays of numbers."""

    other: object = None

    def init(self, problem: Problem) -> OddState:
        return OddState(np.zeros(problem.n_arms), self.other)  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [[0.0], 0.5, 2**63, (), "text", None, np.array(["a"])])
def test_a_state_is_made_of_arrays_of_numbers(other: object) -> None:
    register(OddlyKept, select=_choose, update=_update)
    with pytest.raises(KernelError, match=r"the state of OddlyKept\(.*\) holds other=.*: it must be an array"):
        dw.Agent(OddlyKept(other), 3)


class Hopeful(NamedTuple):
    """A policy whose values start at the largest reward there can be."""

    step: float = 0.1

    def init(self, problem: Problem) -> SlippedState:
        return SlippedState(np.full(problem.n_arms, problem.high))


@kernel
def _best(policy: Any, state: Any, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return int(np.argmax(state.values)), 1.0


@kernel
def _average(policy: Any, state: Any, decision: Any, outcome: Any, now: int) -> None:
    state.values[decision.action] += policy.step * (outcome.reward - state.values[decision.action])


def test_a_value_that_starts_at_an_infinite_reward_is_found() -> None:
    register(Hopeful, select=_best, update=_average)
    with pytest.raises(ContractError, match=r"Hopeful\(step=0.1\) \(arms\) holds nan in values after rewards without"):
        unbounded_rewards_can_be_learned(Hopeful())


@kernel
def _above_one(policy: Any, state: Any, t: int, context: Any, rng: Any) -> tuple[int, float]:
    return int(state.values[0] > 1.0), 1.0


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (rewards_have_no_unit, "rewards have no unit: compare rewards with each other, or divide by"),
        (rewards_have_no_origin, "rewards have no origin: compare differences of rewards, or start from"),
    ],
)
def test_a_broken_promise_on_rewards_says_what_to_do(check: Any, sentence: str) -> None:
    register(Slipped, select=_above_one, update=_towards)
    with pytest.raises(ContractError, match=f"chose otherwise .*; {sentence}"):
        check(Slipped())
