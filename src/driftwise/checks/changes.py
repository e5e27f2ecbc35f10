"""A problem that changes on the way: what follows from it follows the change, and what was learned stays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.checks._helpers import kind_name
from driftwise.checks.contract import agent_for, decide, fixtures_of, learn, require
from driftwise.core import verbs
from driftwise.core.fixtures import ROUNDS, Fixtures, Rng, Usage
from driftwise.core.protocols import Policy
from driftwise.core.serialization import arrays, clone, equal, roles
from driftwise.core.types import ArmIds, Cache, Derived, PerArm, PerRound, Record, Scratch

ANEW = (Derived, Cache)
RINGS = (PerRound, ArmIds)
COUNTERS = ("stale", "alarms")


def a_changed_problem_is_planned_anew(policy: Policy) -> str | None:
    """After `change`, what a state derives from the problem is what `init` makes of the changed one.

    What was learned stays, unless the policy says that it begins anew. The agent goes on, also when it is saved.
    """
    fixtures, learns = fixtures_of(policy), True
    for how, usage in fixtures.usages.items():
        for change in fixtures.changes:
            what = f"{kind_name(policy)} ({how}), after change({', '.join(change)}),"
            agent, luck = agent_for(policy, usage, seed=3), np.random.default_rng(7)
            _live(agent, fixtures, usage, luck)
            problem, former, before = agent.problem, agent.policy.init(agent.problem), agent.state
            agent.change(**change)
            fresh, after = agent.policy.init(agent.problem), agent.state
            if getattr(policy, "begins_anew", lambda *problems: False)(problem, agent.problem):
                learns = False
                _same(after, fresh, lambda kind: True, f"{what} still has the old")
            else:
                _is_marked(former, fresh, what)
                _same(after, fresh, lambda kind: kind in ANEW, f"{what} still has the old")
                _same(after, before, lambda kind: kind not in ANEW, f"{what} has lost the")
            _goes_on(agent, fixtures, usage, luck, what)
    return None if learns else f"{kind_name(policy)} begins anew with another horizon: nothing that was learned stays"


def _is_marked(former: Record, fresh: Record, what: str) -> None:
    """What differs between two problems is `Derived`, or computed from the rest, or empty room of another length."""
    for path, kind, one, other in _pairs(former, fresh):
        same = one.shape == other.shape and np.array_equal(one, other, equal_nan=True)
        cached = kind is PerArm and type(former) in verbs.refresh.kernels  # computed again when views are
        longer = kind in RINGS and one.shape != other.shape
        require(
            same or kind in ANEW or cached or longer,
            f"{what} has {path}, which follows from the problem: mark it Derived",
        )


def _same(state: Record, other: Record, of: Callable[[Any], bool], broken: str) -> None:
    """The arrays of some kinds are the same bit for bit; rings may have another length, and counters go on."""
    for path, kind, one, two in _pairs(state, other):
        longer = kind in RINGS and one.shape != two.shape
        compared = of(kind) and not longer and path.split(".")[-1] not in COUNTERS
        require(not compared or np.array_equal(one, two, equal_nan=True), f"{broken} {path}")


def _pairs(one: Record, other: Record) -> list[tuple[str, Any, Any, Any]]:
    """Path, role and both arrays, of all that two states hold."""
    kinds = dict(_roles(one))
    both = zip(arrays(one), arrays(other), strict=True)
    return [(path, kinds[path], a, b) for (path, a), (_, b) in both if kinds[path] is not Scratch]


def _roles(state: Record, path: str = "") -> list[tuple[str, Any]]:
    kinds: list[tuple[str, Any]] = []
    for name, value in state._asdict().items():
        here = f"{path}{name}"
        kinds += _roles(value, f"{here}.") if hasattr(value, "_fields") else [(here, roles(type(state))[name])]
    return kinds


def _goes_on(agent: Agent, fixtures: Fixtures, usage: Usage, luck: Rng, what: str) -> None:
    """Decisions go on; what is cached of arms fits; and an agent that was saved does the same."""
    again = Agent.loads(agent.dumps(), policy=type(agent.policy))
    request = usage.request(luck, agent.arms)
    require(agent.decide(**request) == again.decide(**request), f"{what} decides otherwise once saved and loaded")
    state = agent.state
    if type(state) in verbs.refresh.kernels:
        refreshed = clone(state)
        for arm in range(agent.problem.n_arms):
            verbs.refresh(refreshed, arm)
        require(equal(state, refreshed), f"{what} uses what was computed before the change")
    _live(agent, fixtures, usage, luck, rounds=20)
    require(equal(agent.state, Agent.loads(agent.dumps(), policy=type(agent.policy)).state), f"{what} cannot be saved")


def _live(agent: Agent, fixtures: Fixtures, usage: Usage, luck: Rng, rounds: int = ROUNDS) -> None:
    """Some rounds, the outcomes of a few still to come."""
    for _ in range(rounds):
        decide(agent, usage, luck)
        while agent.pending and luck.random() < 0.6:
            learn(agent, int(luck.choice(agent.pending)), fixtures.outcome(luck, agent.arms))
