"""What becomes of rewards: late, out of order, twice, or across a restart."""

from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.checks._helpers import alike, kind_name
from driftwise.checks.contract import agent_for, fixtures_of, learn, require
from driftwise.checks.verb_calls import VerbCalls
from driftwise.core.fixtures import ROUNDS
from driftwise.core.protocols import Policy
from driftwise.core.seeding import at, key
from driftwise.core.types import Decision
from driftwise.core.validation import cast


def late_rewards_enter_by_decision(policy: Policy) -> str | None:
    """In a window it does not matter when or in which order rewards came, only which rounds they belong to.

    One that tries windows learns from the order too, by what it predicted; its windows do not.
    """
    fixtures, policy = fixtures_of(policy), cast(policy)
    in_order: Any
    shuffled: Any
    in_order, shuffled = (policy.init(fixtures.problem) for _ in range(2))
    if not hasattr(in_order, "window"):
        return f"{kind_name(policy)} has no window: its file says what becomes of a late reward"
    window, verbs = shuffled.window, VerbCalls.of(policy, fixtures)
    size = min(len(window.rewards), 40)
    luck, rng = np.random.default_rng(1), key(4)
    log = [
        (Decision(t, fixtures.action(luck), np.nan, fixtures.row(luck), at(rng, t)), fixtures.kernel_outcome(luck))
        for t in range(size)
    ]
    for decision, outcome in log:
        verbs.update(in_order, decision, outcome, decision.t)
    for i in luck.permutation(size):
        for _ in range(2):  # a duplicate changes nothing
            decision, outcome = log[i]
            verbs.update(shuffled, decision, outcome, size - 1)
    for state in (in_order, shuffled):
        verbs.advance(state, size, at(rng, size))
    compared = (in_order, shuffled) if "windows" not in policy._fields else (in_order.window, shuffled.window)
    require(alike(*compared), f"{policy} remembers shuffled rewards otherwise than ordered ones")
    if hasattr(window, "sizes") and not window.sizes.all():
        return None  # one of its windows is everything: nothing comes too late
    before = int(window.stale[0])
    verbs.update(shuffled, *log[0], size + len(window.rewards))
    require(int(window.stale[0]) == before + 1, f"{policy} did not count a stale reward")
    counts = window.counts if hasattr(window, "counts") else window.filled
    require(int(counts.sum()) == 0, f"{policy} still counts rounds that left its window")
    return None


def resumes_exactly(policy: Policy) -> None:
    """An agent saved and loaded at any moment, decisions pending, continues bit for bit."""
    fixtures = fixtures_of(policy)
    for how, usage in fixtures.usages.items():
        straight, broken = (agent_for(policy, usage, seed=5) for _ in range(2))
        luck = np.random.default_rng(0)
        for _ in range(ROUNDS):
            request = usage.request(luck, straight.arms)
            decision, twin = straight.decide(**request), broken.decide(**request)
            require(decision == twin, f"{policy} ({how}) resumed and then decided {twin}, not {decision}")
            while straight.pending and luck.random() < 0.55:  # rewards come late and in any order
                late, outcome = int(luck.choice(straight.pending)), fixtures.outcome(luck, straight.arms)
                learn(straight, late, outcome)
                learn(broken, late, outcome)
            if luck.random() < 0.05:
                broken = Agent.loads(broken.dumps(), policy=type(policy))
        require(straight.dumps() == broken.dumps(), f"{policy} ({how}) ended in another state after being resumed")
