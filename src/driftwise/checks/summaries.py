"""What a policy says of its arms is what happened to them, in the units of rewards, and asking changes nothing."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.agent.summary import NUMBERS, ArmSummary
from driftwise.checks._helpers import kind_name, spoil_scratch
from driftwise.checks.contract import agent_for, fixtures_of, learn, require, short_run
from driftwise.checks.verb_calls import VerbCalls
from driftwise.core import verbs
from driftwise.core.fixtures import DIM, Arguments, Fixtures, Rng, Usage
from driftwise.core.fixtures import ROUNDS as PLAYED
from driftwise.core.loop import summarise_once
from driftwise.core.protocols import Policy
from driftwise.core.seeding import at, key
from driftwise.core.serialization import clone, equal
from driftwise.core.summary import new_summary
from driftwise.core.types import Decision
from driftwise.core.validation import cast, without_text

RANGE, REWARD = (0.0, 10.0), 5.0
ROUNDS = 48  # few enough that the windows of the contracts hold them all
CLOSE = 1e-9
FACTOR, SHIFT = 100.0, 1e3

Counts = Counter[Any]


def summaries_are_what_happened(policy: Policy) -> str | None:
    """With rewards from 0 to 10, all of them 5, an arm with rewards is estimated at 5.

    A policy that believes something beforehand, or turns rewards into random trials, is near: 5 lies in its interval.
    Estimates lie in their intervals, intervals in the range of rewards; no more is counted than came, or pends than is
    under way. In a restless problem, where states earn rewards, the index is the one that the next decision ranks by.
    """
    fixtures = fixtures_of(policy)
    if not fixtures.has_arms:
        return f"{kind_name(policy)} chooses points, not arms: it has no summary of arms"
    if type(policy) not in verbs.summarise.kernels:
        return f"{kind_name(policy)} has no kernel for summarise: it says nothing of its arms"
    for how, usage in fixtures.usages.items():
        agent, request, *counts_by_arm = run_agent(fixtures, usage, policy, RANGE, lambda rng: REWARD)
        before, records = agent.dumps(), agent.summary(**request)
        require(agent.dumps() == before, f"{policy} ({how}) changed when its summary was read")
        require(any(_says(each) for each in records), f"{policy} ({how}) says nothing of any arm")
        if fixtures.has_states:
            agent.decide(**request)
            same = all(_same(each.index, agent.indices[each.arm]) for each in records)
            require(same, f"{policy} ({how}) ranked by other indices than its summary has")
            continue
        for each in records:
            n_rewards, n_pending = (counts[each.arm] for counts in counts_by_arm)
            if fixtures.has_rows:  # rewards of a row teach about rows like it
                n_rewards = counts_by_arm[0].total()
            wrong = _wrong(each, n_rewards, n_pending)
            require(not wrong, f"{policy} ({how}) says of an arm with rewards of {REWARD:g} only: {each}; {wrong}")
    return None


def summarise_reads_only(policy: Policy) -> str | None:
    """The kernel leaves the state as it was, with a decision under way too, and gives the same again, whatever the
    arrays of the state hold that are room to work in.
    """
    fixtures, policy, luck, rng = fixtures_of(policy), cast(policy), np.random.default_rng(12), key(13)
    if not fixtures.has_arms:
        return f"{kind_name(policy)} chooses points, not arms: it has no summary of arms"
    state, t = short_run(policy)[0], PLAYED
    calls = VerbCalls.of(policy, fixtures)
    calls.advance(state, t, at(rng, t))
    calls.pend(state, Decision(t, fixtures.action(luck), 0.5, fixtures.row(luck), at(rng, t)))
    calls.advance(state, t + 1, at(rng, t + 1))
    before, context = clone(state), fixtures.context(luck)
    n_rows = len(context) if fixtures.has_rows else fixtures.problem.n_arms
    n_costs = len(fixtures.problem.structure.amounts) if fixtures.has_costs else 0
    tables = [new_summary(n_rows, n_costs) for _ in range(2)]
    for table in tables:
        summarise_once(without_text(policy), state, t + 1, context, rng, table)
        spoil_scratch(state)
    require(equal(before, state), f"summarise of {policy} changed the state")
    same = all(np.array_equal(one, other, equal_nan=True) for one, other in zip(*tables, strict=True))
    require(same, f"{policy} gave another summary the second time")
    return None


def summaries_have_the_unit_of_rewards(policy: Policy) -> str | None:
    """Rewards and their range times 100 make estimates and intervals 100 times as large, and indices unless they are
    chances; where rewards have no origin, all a thousand higher makes them a thousand higher.
    """
    fixtures = fixtures_of(policy)
    if not fixtures.has_arms:
        return f"{kind_name(policy)} chooses points, not arms: it has no summary of arms"
    changes = (FACTOR, 0.0), (1.0, SHIFT)
    for how, usage in fixtures.usages.items():
        once = _varied(fixtures, usage, policy, 1.0, 0.0)
        for factor, shift in changes if fixtures.zero_is_arbitrary else changes[:1]:
            for one, other in zip(once, _varied(fixtures, usage, policy, factor, shift), strict=True):
                wrong = [name for name in NUMBERS if not _follows_units(name, one, other, factor, shift)]
                both = f"{one} and, with rewards times {factor:g} plus {shift:g}, {other}"
                require(not wrong, f"{policy} ({how}) says {both}: {', '.join(wrong)}")
    return None


def run_agent(
    fixtures: Fixtures, usage: Usage, policy: Policy, span: tuple[float, float], draw: Callable[[Rng], float]
) -> tuple[Agent, Arguments, Counts, Counts]:
    """An agent that made the same request again and again, and that request; by arm, how many rewards came and how many
    are under way: every fifth. `draw` draws rewards in `span`; restless arms earn what their states do.
    """
    agent, rng = agent_for(policy, usage, seed=3, **_rewards_in(fixtures, *span)), np.random.default_rng(11)
    request, n_rewards, n_pending = _request(agent, usage, rng), Counts(), Counts()
    for t in range(ROUNDS):
        decision = agent.decide(**request)
        arms = decision.action if isinstance(decision.action, tuple) else (decision.action,)
        outcome = _outcome(fixtures, agent, rng, draw)
        if t % 5 == 4:
            n_pending.update(arms)
        else:
            n_rewards.update(arms)
            learn(agent, decision, outcome)
    return agent, request, n_rewards, n_pending


def _request(agent: Agent, usage: Usage, rng: Rng) -> Arguments:
    """What every decision takes; rows that come with decisions are as good as arms."""
    request = usage.request(rng, agent.arms)
    return request | {"actions": np.eye(DIM)} if "actions" in request else request


def _outcome(fixtures: Fixtures, agent: Agent, rng: Rng, draw: Callable[[Rng], float]) -> Arguments:
    if fixtures.has_states:
        return fixtures.outcome(rng, agent.arms)
    outcome = fixtures.outcome_of([0.5] * max(1, fixtures.problem.slate))
    if fixtures.problem.slate:
        return outcome | {"rewards": [draw(rng) for _ in range(fixtures.problem.slate)]}
    return outcome | {"reward": draw(rng)}


def _rewards_in(fixtures: Fixtures, low: float, high: float) -> Arguments:
    """What a problem says of where rewards lie."""
    return (
        {"state_rewards": np.linspace(low, high, 3).tolist()} if fixtures.has_states else {"reward_range": (low, high)}
    )


def _varied(fixtures: Fixtures, usage: Usage, policy: Policy, factor: float, shift: float) -> list[ArmSummary]:
    """What an agent says whose rewards are multiplied and shifted."""
    span = shift, shift + factor
    agent, request, *_ = run_agent(fixtures, usage, policy, span, lambda rng: shift + factor * rng.random())
    return agent.summary(**request)


def _wrong(record: ArmSummary, n_rewards: int, n_pending: int) -> str:
    """What cannot be so of an arm of which so many rewards came and decisions pend; nothing where all may be."""
    estimate, low, high = record.estimate, record.low, record.high
    if low is not None and high is not None and not low <= (math.nan if estimate is None else estimate) <= high:
        return "the estimate is not in the interval"
    ends = [end for end in (low, high) if end is not None and end != estimate]
    if not all(RANGE[0] <= end <= RANGE[1] for end in ends):
        return f"the interval leaves the range of rewards, {RANGE[0]:g} to {RANGE[1]:g}"
    near = low is not None and high is not None and low <= REWARD <= high
    if estimate is not None and abs(estimate - REWARD) > CLOSE * REWARD and not near:
        return f"the estimate is not {REWARD:g}, nor is that in the interval"
    if record.count is not None and record.count > n_rewards + 1e-6:
        return f"{n_rewards} rewards came"
    if record.pending is not None and record.pending > n_pending:
        return f"{n_pending} decisions are under way"
    return ""


def _says(record: ArmSummary) -> bool:
    return any(getattr(record, name) is not None for name in ("estimate", "index", "count"))


def _same(one: float | None, other: float) -> bool:
    return math.isnan(other) if one is None else one == other


def _follows_units(name: str, one: ArmSummary, other: ArmSummary, factor: float, shift: float) -> bool:
    """Whether a number follows the units of rewards as it should."""
    before, after = getattr(one, name), getattr(other, name)
    if before is None or after is None:
        return before is after
    stays = math.isclose(before, after, rel_tol=1e-7, abs_tol=1e-9)
    follows = math.isclose(factor * before + shift, after, rel_tol=1e-7, abs_tol=1e-9 * factor)
    if name in ("count", "pending"):
        return stays
    return follows or (name == "index" and stays and 0.0 <= before <= 1.0)
