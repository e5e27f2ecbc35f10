"""What is pending counts, and leaves no trace once it is over; late rewards still teach."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from driftwise.checks._helpers import differences, kind_name
from driftwise.checks.contract import fixtures_of, require, run_over
from driftwise.checks.verb_calls import VerbCalls
from driftwise.core.protocols import Policy
from driftwise.core.seeding import at, key
from driftwise.core.serialization import lasting
from driftwise.core.types import Decision, Record
from driftwise.core.validation import cast
from driftwise.families import Uniform
from driftwise.families.composite.worlds.delayed import Delayed
from driftwise.study.run import run
from driftwise.study.study import Study

LATE, HORIZON, RUNS = 100, 5000, 4
TEACHES, FORGETS = 0.5, 0.75  # of the regret of uniform play: at most without delay, and at most with it


def pending_leaves_no_trace(policy: Policy) -> str | None:
    """A decision that pends and is over at once ends in the state it would have without; a cancelled one in none."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not fixtures.has_arms:
        return f"{kind_name(policy)} chooses points, not arms: nothing that is under way says where to look next"
    verbs = VerbCalls.of(policy, fixtures)
    straight, pended = policy.init(fixtures.problem), policy.init(fixtures.problem)
    luck, rng = np.random.default_rng(5), key(6)
    for t in range(300):
        own = at(rng, t)
        for state in (straight, pended):
            verbs.advance(state, t, own)
        decision = Decision(t, fixtures.action(luck), 0.5, fixtures.row(luck), own)
        outcome, cancelled = fixtures.kernel_outcome(luck), luck.random() < 0.2
        verbs.pend(pended, decision)
        verbs.settle(pended, decision)
        if not cancelled:
            for state in (straight, pended):
                verbs.update(state, decision, outcome, t)
    for state in (straight, pended):
        verbs.advance(state, 300, at(rng, 300))
    wrong = differences(straight, pended)
    require(not wrong, f"decisions of {policy} that pended and were over left a trace in {', '.join(wrong)}")
    return None


def pending_is_carried_along(policy: Policy) -> str | None:
    """Decisions that pend for a while, and are then all cancelled in any order, leave no trace."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not fixtures.has_arms:
        return f"{kind_name(policy)} chooses points, not arms: nothing that is under way says where to look next"
    verbs = VerbCalls.of(policy, fixtures)
    idle, busy = policy.init(fixtures.problem), policy.init(fixtures.problem)
    luck, rng = np.random.default_rng(7), key(8)
    waiting: list[Decision] = []
    for t in range(200):
        own = at(rng, t)
        for state in (idle, busy):
            verbs.advance(state, t, own)
        waiting.append(Decision(t, fixtures.action(luck), 0.5, fixtures.row(luck), own))
        verbs.pend(busy, waiting[-1])
        if luck.random() < 0.7:
            verbs.settle(busy, waiting.pop(int(luck.integers(len(waiting)))))
    for decision in waiting:
        verbs.settle(busy, decision)
    for state in (idle, busy):
        verbs.advance(state, 200, at(rng, 200))
        for _, array in lasting(state):  # what left a window while it was under way was a try: it ranks untried arms
            if array.dtype == np.float64:
                array[np.abs(array) >= 2.0**800] = np.inf
    wrong = [path for path in differences(idle, busy) if path.split(".")[-1] != "left"]
    require(not wrong, f"decisions of {policy} that were all cancelled left a trace in {', '.join(wrong)}")
    return None


def late_rewards_still_teach(policy: Policy) -> str | None:
    """Where it does well when rewards come at once, it does not play like one that never learns when they come late."""
    fixtures = fixtures_of(policy)
    world = fixtures.late_world()
    if world is None:
        return f"{kind_name(policy)} is not tried with late rewards here: its family has measures of its own"
    memory = _memory(policy.init(fixtures.problem._replace(horizon=HORIZON)))
    if memory < 4 * LATE:
        return f"{kind_name(policy)} forgets after {memory} rounds: of rewards {LATE} rounds late it can use too few"
    study = Study(
        name="late rewards",
        worlds={"at once": world, "late": Delayed(world=world, delay=LATE)},
        policies={"policy": policy, "uniform": Uniform()},
        horizon=HORIZON,
        runs=RUNS,
    )
    results = run(study)
    regret = {
        (when, name): float(results.column(study.cells_of(when, name), "regret").mean())
        for when in study.worlds
        for name in study.policies
    }
    if regret["at once", "policy"] > TEACHES * regret["at once", "uniform"]:
        return f"{kind_name(policy)} learns too little in {HORIZON} rounds even when rewards come at once"
    share = regret["late", "policy"] / regret["late", "uniform"]
    require(share <= FORGETS, f"{policy} has {share:.2f} of uniform play's regret with rewards {LATE} rounds late")
    return None


def _memory(state: Record) -> float:
    """Rounds after which a reward would come too late: those of a window, or of a block."""
    if hasattr(state, "hedge"):
        return int(state.hedge.block[0])
    window: Any = getattr(state, "window", None)
    return len(window.rewards) if hasattr(window, "stale") else math.inf


def every_arm_is_tried(policy: Policy) -> str | None:
    """A policy that tries all arms when there are few also does when there are more than its window has rounds."""
    fixtures = fixtures_of(policy)
    few = fixtures.problem.n_arms
    many = 5 * few
    wide = fixtures.stationary_world(many)
    if wide is None or "window" not in policy._fields:
        return f"{kind_name(policy)} has no window that arms could be too many for"
    small, rounds = cast(policy._replace(window=max(2, 2 * (few // 2)))), 40 * many
    for late in (0, 3):
        world = Delayed(world=wide, delay=late) if late else wide
        tape, nature = world.draw(rounds, seed=3)
        _, trace = run_over(replace(fixtures, world=wide), small, tape, nature, key(4), rounds)
        missing = sorted(set(range(many)) - set(trace.actions.tolist()))
        require(not missing, f"{small} never tried {len(missing)} of {many} arms, rewards {late} rounds late")
    return None
