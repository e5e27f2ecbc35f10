"""Begin with another policy in the middle of a journal, where the events before were dropped.

The policy has learned nothing. All that does not depend on one is there: the problem and its arms, budgets, the arms
that units keep, statistics, and pending decisions, whose outcomes count when they come.
"""

from collections.abc import Sequence
from typing import Any

from driftwise.agent.successor import successor_of
from driftwise.service.deployments import spec as specs
from driftwise.service.deployments.deployment import Deployment


def begin_anew(before: Deployment, policy: dict[str, Any]) -> Deployment:
    """The deployment at the same event with another policy; `before` is used up."""
    spec = specs.with_changes(before.spec, policy)
    fresh = Deployment(before.stream, spec)  # refuses a policy that could not decide
    tick, rounds = specs.tick_of(spec), None
    if tick:
        times = [*(note.at for note in before.pending.values()), before.at]
        rounds = rounds_by_time(times, tick, fresh.leap)
    agent = successor_of(before.agent, fresh.agent.policy, propensity_samples=spec.propensity_samples, rounds=rounds)
    live = Deployment(before.stream, spec, at=before.at, agent=agent)
    live.number, live.saved, live.policy_since = before.number, before.saved, before.policy_since
    live.units, live.request, live.stats = before.units, before.request, before.stats
    live.origin = (agent.t, before.at) if tick else (0, 0)
    return live


def rounds_by_time(times: Sequence[int], tick: int, leap: int) -> list[int]:
    """The rounds of decisions at these times, where a round takes `tick`; more than `leap` rounds are like so many.

    >>> rounds_by_time([100, 101, 125, 1000], tick=10, leap=5)
    [0, 1, 2, 9]
    """
    rounds: list[int] = []
    (t, start), ahead = (0, times[0]), 0
    for at in times:
        now = min(max(ahead, t + (at - start) // tick), ahead + leap + 1)
        if now - ahead > leap:
            t, start = now, at
        rounds.append(now)
        ahead = now + 1
    return rounds
