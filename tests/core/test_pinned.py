"""A pinned state: compiled code finds by its address what it finds when the state itself is passed."""

import numpy as np
import pytest

import driftwise as dw
from driftwise.core import serialization as states
from driftwise.core.loop import KNOWN, choose_once, decide_once, follow_once
from driftwise.core.pinned import pin, unpin
from driftwise.core.types import Problem

RNG = np.uint64(2**63 + 5)


@pytest.mark.parametrize("policy", [dw.SlidingUCB(window=20), dw.SlidingThompson(window=20)])
def test_an_address_stands_for_a_state(policy: dw.SlidingUCB | dw.SlidingThompson) -> None:
    state, twin = policy.init(Problem(4)), policy.init(Problem(4))
    pinned = pin(state)
    decide = decide_once.bind(policy, pinned, 0, (), RNG, 0)
    follow = follow_once.bind(policy, pinned, 0, 0, 0.0, (), RNG, 0.0, 0, KNOWN)
    for t in range(60):
        action, propensity, own = decide(policy, pinned.address, t, (), RNG, -1)
        assert (action, own) == decide_once(policy, twin, t, (), RNG, -1)[::2]
        follow(policy, pinned.address, t, action, propensity, (), RNG, float(t % 3 == 0), t, KNOWN)
        follow_once(policy, twin, t, action, propensity, (), RNG, float(t % 3 == 0), t, KNOWN)
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


def test_a_state_that_is_not_pinned_is_what_it_is() -> None:
    state = dw.UCB1().init(Problem(3))
    assert unpin(state) is state
