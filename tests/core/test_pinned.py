"""A pinned state: compiled code finds by its address what it finds when the state itself is passed."""

import typing
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import driftwise as dw
from driftwise.checks.contract import fixtures_of
from driftwise.core import serialization as states
from driftwise.core import verbs
from driftwise.core.family import ANY, family_of
from driftwise.core.kernel import kernel, load_numba
from driftwise.core.loop import KNOWN, choose_once, decide_once, follow_once
from driftwise.core.pinned import PinnedState, pin, pin_arrays
from driftwise.core.types import Decision, Problem
from driftwise.errors import KernelError
from driftwise.families import POLICIES, Abrupt

RNG = np.uint64(2**63 + 5)


def test_an_address_stands_for_a_state() -> None:
    policy = dw.DiscountedUCB()
    state, twin = policy.init(Problem(4)), policy.init(Problem(4))
    pinned = pin(state)
    decide = decide_once.bind(policy, pinned, 0, (), RNG, 0)
    follow = follow_once.bind(policy, pinned, 0, 0, 0.0, (), RNG, 0.0, 0, KNOWN)
    decide_twin = decide_once.bind(policy, twin, 0, (), RNG, 0)
    follow_twin = follow_once.bind(policy, twin, 0, 0, 0.0, (), RNG, 0.0, 0, KNOWN)
    for t in range(60):
        action, propensity, own = decide(policy, pinned.address, t, (), RNG, -1)
        assert (action, own) == decide_twin(policy, twin, t, (), RNG, -1)[::2]
        follow(policy, pinned.address, t, action, propensity, (), RNG, float(t % 3 == 0), t, KNOWN)
        follow_twin(policy, twin, t, action, propensity, (), RNG, float(t % 3 == 0), t, KNOWN)
        assert states.equal(state, twin)


def test_what_is_written_into_its_arrays_is_seen() -> None:
    policy = dw.UCB1()
    state, other = policy.init(Problem(3)), policy.init(Problem(3))
    pinned = pin(state)
    choose = choose_once.bind(policy, pinned, 0, (), RNG)
    for t in range(9):
        follow_once(policy, other, t, t % 3, 1.0, (), RNG, float(t % 3 == 2), t, KNOWN)
    for (_, array), (_, source) in zip(states.arrays(state, but=()), states.arrays(other, but=()), strict=True):
        array[...] = source
    assert choose(policy, pinned.address, 9, (), RNG)[0] == 2


def test_tuples_that_hold_arrays_are_pinned_when_python_calls_a_kernel_and_nothing_else_is() -> None:
    state = dw.UCB1().init(Problem(3))
    pinned = pin_arrays(state)
    assert isinstance(pinned, PinnedState)
    assert pinned.state is state
    for value in (pinned, state[0], (), 3, dw.UCB1(), Decision(0, 1, 1.0, np.ones(2), RNG)):
        assert pin_arrays(value) is value


class Mixed(NamedTuple):
    """A state of arrays of several kinds, and of numbers of several sizes between them."""

    flag: bool
    rows: NDArray[np.float64]
    small: np.int16
    inner: Any
    last: NDArray[np.bool_]


class Inner(NamedTuple):
    """A state inside a state."""

    bit: bool
    numbers: NDArray[np.int32]
    share: float


@kernel
def _read(state: Any) -> tuple[bool, float, int, bool, int, float, bool, int]:
    inner = state.inner
    total, stride = 0.0, state.rows.strides[0]
    for i in range(state.rows.shape[0]):
        for j in range(state.rows.shape[1]):
            total += (i + 2 * j) * state.rows[i, j]
    return state.flag, total, state.small, inner.bit, inner.numbers[2], inner.share, state.last[1], stride


@kernel
def _rows(state: Any) -> Any:
    return state.rows, 0.5


def test_an_array_of_a_state_is_given_back_as_it_is() -> None:
    state = Mixed(True, np.ones((2, 3)), np.int16(1), Inner(True, np.zeros(3, np.int32), 0.5), np.ones(2, np.bool_))
    pinned = pin(state)
    assert _rows.bind(pinned)(pinned.address)[0] is state.rows is _rows(state)[0]


@kernel
def _unpack(state: Any) -> tuple[int, float, bool, int]:
    _, rows, _, inner, last = state
    _, numbers, share = inner
    return numbers[0] + state[3][1][1], share * rows[0, 0], state[-1][0] and last[1], len(state)


def test_a_pinned_tuple_can_be_unpacked_and_asked_by_index() -> None:
    inner = Inner(True, np.array([7, 8], np.int32), 0.25)
    state = Mixed(False, np.full((1, 1), 4.0), np.int16(-3), inner, np.array([True, True]))
    assert _unpack(state) == _unpack.bind(state)(state) == (15, 1.0, True, 5)


class Pair(NamedTuple):
    """A state of nothing but arrays."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]


@kernel
def _sum(state: Any) -> float:
    total = 0.0
    for value in state.first:
        total += value
    for value in state.second:
        total += value
    return total


@pytest.mark.parametrize("second", [np.empty(0), np.frombuffer(np.array([5.0, 6.0]).tobytes()), np.ones(4)])
def test_arrays_that_are_empty_or_cannot_be_written_are_found_too(second: NDArray[np.float64]) -> None:
    assert _sum(Pair(np.array([1.0, 2.0]), second)) == 3.0 + second.sum()


@kernel
def _first_of_part(state: Any) -> float:
    return float(state.inner.first[0])


@pytest.mark.parametrize("again", range(3))
def test_a_tuple_inside_that_is_written_anew_is_read_by_its_new_fields(again: int) -> None:
    """As a notebook does whose cell swaps the fields of a state inside the state of another policy."""
    fields = [("first", NDArray[np.float64]), ("second", NDArray[np.float64])]
    for order in (fields, fields[::-1]):
        part = typing.NamedTuple("Part", order)  # type: ignore[misc]
        value = part(**{name: np.array([1.0 + (name == "second")]) for name, _ in order})
        assert _first_of_part(Mixed(True, np.ones((1, 1)), np.int16(1), value, np.ones(1, np.bool_))) == 1.0


@pytest.mark.parametrize("step", [1, 2])
def test_memory_is_laid_out_as_compiled_code_reads_it(step: int) -> None:
    rows = np.arange(24.0).reshape(6, 4)[::step]
    inner = Inner(True, np.array([7, 8, 9], np.int32), 0.25)
    state = Mixed(False, rows, np.int16(-3), inner, np.array([False, True]))
    pinned = pin(state)
    expected = sum((i + 2 * j) * rows[i, j] for i in range(len(rows)) for j in range(4))
    assert _read(state) == (False, expected, -3, True, 9, 0.25, True, 32 * step)
    assert _read.bind(pinned)(pinned.address) == _read(state)


@pytest.mark.parametrize("name", [name for name, kind in POLICIES.items() if family_of(kind()) != ANY])
def test_the_state_of_every_policy_takes_as_much_memory_as_in_compiled_code(name: str) -> None:
    context = load_numba().core.registry.cpu_target.target_context
    policy = POLICIES[name]()
    state = policy.init(fixtures_of(policy).problem)
    size = context.get_abi_sizeof(context.get_value_type(load_numba().typeof(state)))
    assert len(bytes(pin(state).memory)) == size


class Odd(NamedTuple):
    """A state with something beside its arrays."""

    numbers: NDArray[Any]
    other: Any


@kernel
def _first(state: Any) -> float:
    return float(state.numbers[0])


@pytest.mark.parametrize("other", [None, "text", (), np.uint64, np.zeros(1, [("a", float)])])
def test_a_tuple_that_holds_something_else_is_read_too(other: object) -> None:
    assert _first(Odd(np.array([0.5, 1.0]), other)) == 0.5


def test_an_array_that_numba_has_no_type_for_is_refused_in_a_sentence() -> None:
    with pytest.raises(KernelError, match="Unsupported array dtype"):
        _first(Odd(np.array([0.5, 1.0]), np.zeros(3, np.longdouble)))


def test_a_verb_is_found_for_what_is_pinned() -> None:
    tape, nature = Abrupt(n_arms=3).draw(5, seed=0)
    for t in range(5):
        assert verbs.respond(pin(tape), nature, t, 1) == verbs.respond(tape, nature, t, 1)
