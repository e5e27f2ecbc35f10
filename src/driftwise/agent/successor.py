"""Another policy in the place of one that has decided for a while: with its arms and round, and nothing learned.

What a policy has learned is its own: another one would need all decisions and outcomes again. Where those are gone, it
begins with what every policy has in common: the problem as it is now, the arms, budgets that were spent, and decisions
that are pending. These pend for it too, at their rounds, so that their outcomes count as those of its own.
"""

from collections.abc import Sequence

from driftwise.agent.agent import Agent
from driftwise.agent.serialization import AgentParts
from driftwise.core.adapter import AnyAdapter
from driftwise.core.family import check_fit
from driftwise.core.protocols import Policy


def successor_of(
    parts: AgentParts, policy: Policy, *, propensity_samples: int = 0, rounds: Sequence[int] | None = None
) -> Agent:
    """An agent of another policy that goes on where the agent is that was saved; what that has learned is not read.

    `rounds` are those of its pending decisions and of the next one, in their order, where they are to be counted anew.
    """
    times = [*(t for t, *_ in parts.pending.values()), parts.t] if rounds is None else list(rounds)
    adapter = _adapter_for(policy, parts.adapter, times[-1])
    new = Agent.__new__(Agent)
    new._set_up(policy, adapter, parts.seed, parts.max_pending, propensity_samples)
    for (id, (_, *pending)), t in zip(parts.pending.items(), times, strict=False):
        new._resume(id, (t, *pending))
    new.t = times[-1]
    return new


def _adapter_for(policy: Policy, former: AnyAdapter, t: int) -> AnyAdapter:
    """The adapter of another policy for the same problem; its plan is for what is left of it in round `t`."""
    problem, (facts, arrays) = former.problem, former.encode()
    check_fit(policy, problem)
    adapter = type(former).decode(policy, problem, former.registry, facts, {each.path: each for each in arrays})
    return adapter if 0 < problem.horizon <= t else adapter.changed(t, {})
