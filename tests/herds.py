"""Arms that move on their own to try policies on: two classes of three states, and a walk beside a slow twin."""

from typing import Any

import numpy as np
import pytest

from driftwise.core.seeding import at, key
from driftwise.core.types import Decision, Ints, Moves, Problem
from driftwise.core.validation import cast
from driftwise.core.verbs import advance, rank, select, update
from driftwise.families import POLICIES
from driftwise.families.restless.structure import DRIFTING, KNOWN, STATIONARY, restless
from tests.reference import RESTLESS_TWINS
from tests.reference.restless_log import RestlessTwin


def problem(n_arms: int = 5, size: int = 2, *, episode: int = 4, horizon: int = 0) -> Problem:
    """Two classes with three states; some rows known, some still, some transitions impossible, and costs."""
    support = np.ones((2, 2, 3, 3), bool)
    support[0, :, 0, 2] = support[1, 0, 2, 0] = False
    kinds = np.full((2, 2, 3), DRIFTING)
    kinds[0, 0, 1], kinds[1, 1] = KNOWN, STATIONARY
    known = np.zeros((2, 2, 3, 3))
    known[0, 0, 1] = 0.5, 0.25, 0.25
    structure = restless(
        [[0.0, 0.4, 1.0], [-1.0, 0.5, 2.0]],
        n_arms=n_arms,
        classes=np.arange(n_arms) % 2,
        support=support,
        kinds=kinds,
        known=known,
        episode=episode,
        discount=0.9,
        costs=0.1 * np.arange(n_arms),
    )
    return Problem(n_arms, -1.0, 2.0, horizon=horizon, slate=size, structure=structure, family="restless")


def walk(luck: np.random.Generator, asked: Problem, states: Ints, unseen: float = 0.1) -> Moves:
    """Where arms could have gone; some are not seen."""
    after = np.array(
        [
            luck.choice(np.flatnonzero(asked.structure.support[c, 0, s]))
            for c, s in zip(asked.structure.classes, states, strict=True)
        ]
    )
    rewards = asked.structure.rewards[asked.structure.classes, after] + 0.1 * luck.standard_normal(len(after))
    return Moves(float(rewards.sum()), rewards, np.where(luck.random(len(after)) < unseen, -1, after))


def follow(policy: Any, asked: Problem, *, late: bool, slots: int = 60) -> tuple[Any, RestlessTwin]:
    """A policy and its twin are told the same, at once or late and out of order, and choose alike in every slot."""
    policy = cast(policy)
    kind = next(each for each, cls in POLICIES.items() if cls is type(policy))
    twin, state, luck, rng = RESTLESS_TWINS[kind](policy, asked), policy.init(asked), np.random.default_rng(1), key(9)
    twin.rng = rng
    due: dict[int, list[tuple[Decision, Moves]]] = {}
    for t in range(slots):
        own, states, found = at(rng, t), luck.integers(3, size=asked.n_arms), np.zeros(asked.n_arms)
        advance(policy, state, t, own)
        rank(policy, state, t, states, found)
        expected = twin.indices(t, states)
        if expected is None:
            assert np.isnan(found).all()
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        chosen, propensity = select(policy, state, t, states, own)
        chosen = chosen.copy()
        assert_chosen(twin, t, states, chosen, propensity)
        delay = int(luck.integers(5)) if late else 0
        due.setdefault(t + delay, []).append((Decision(t, chosen, propensity, states, own), walk(luck, asked, states)))
        for decision, outcome in due.pop(t, []):
            update(policy, state, decision, outcome, t)
            twin.learn(decision.t, decision.context, decision.action, outcome, t)
    return state, twin


def assert_chosen(twin: RestlessTwin, t: int, states: Ints, chosen: Ints, propensity: float) -> None:
    """What was chosen is what the twin takes; where it draws, with the chance it says."""
    chances = twin.chances(t, states)
    if chances is None:
        assert (chosen.tolist(), propensity) == (twin.choose(t, states), 1.0)
    else:
        assert propensity == pytest.approx(chances[tuple(chosen.tolist())], rel=1e-12)
