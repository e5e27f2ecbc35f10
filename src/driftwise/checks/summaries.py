"""What a policy says of its arms is what happened to them, in the units of rewards, and asking changes nothing."""

import math
from collections import Counter
from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.agent.summary import NUMBERS, ArmSummary
from driftwise.checks._helpers import called
from driftwise.checks.fixtures import DIM, Ground, Luck, Way, ground_of, require
from driftwise.core.verbs import summarise

RANGE, REWARD = (0.0, 10.0), 5.0
ROUNDS = 48  # few enough that the windows of the contracts hold them all
CLOSE = 1e-9
FACTOR, SHIFT = 100.0, 1e3

Counts = Counter[Any]


def summaries_are_what_happened(policy: Any) -> str | None:
    """With rewards from 0 to 10, all of them 5, an arm with rewards is estimated at 5.

    A policy that believes something beforehand, or turns rewards into random trials, is near: 5 lies in its interval.
    Estimates lie in their intervals, and no more is counted than came, or pends than is under way. In a restless
    problem, where states earn rewards, the index is the one that the next decision ranks by.
    """
    ground = ground_of(policy)
    if not ground.has_arms:
        return f"{called(policy)} chooses points, not arms: there is nothing to tell of them"
    if type(policy) not in summarise.kernels:
        return f"{called(policy)} has no kernel for summarise: it says nothing of its arms"
    for how, way in ground.ways.items():
        agent, request, *happened = lived(ground, way, policy, _range(ground, *RANGE), lambda luck: REWARD)
        before, records = agent.dumps(), agent.summary(**request)
        require(agent.dumps() == before, f"{policy} ({how}) changed when it was asked what it knows")
        require(any(_says(each) for each in records), f"{policy} ({how}) says nothing of any arm")
        if ground.family == "restless":
            agent.decide(**request)
            same = all(_same(each.index, agent.indices[each.arm]) for each in records)
            require(same, f"{policy} ({how}) ranked by other indices than it said it would")
            continue
        for each in records:
            came, pends = (counts[each.arm] for counts in happened)
            if ground.family == "contextual":  # rewards of a row teach about rows like it
                came = happened[0].total()
            wrong = _wrong(each, came, pends)
            require(not wrong, f"{policy} ({how}) says of an arm with rewards of {REWARD:g} only: {each}; {wrong}")
    return None


def summaries_have_the_unit_of_rewards(policy: Any) -> str | None:
    """Rewards and their range times 100 make estimates and intervals 100 times as large, and indices unless they are
    chances; where rewards have no origin, all a thousand higher makes them a thousand higher.
    """
    ground = ground_of(policy)
    if not ground.has_arms:
        return f"{called(policy)} chooses points, not arms: there is nothing to tell of them"
    moved = (FACTOR, 0.0), (1.0, SHIFT)
    for how, way in ground.ways.items():
        once = _varied(ground, way, policy, 1.0, 0.0)
        for factor, shift in moved if ground.family in ("multi-armed", "slate") else moved[:1]:
            for one, other in zip(once, _varied(ground, way, policy, factor, shift), strict=True):
                wrong = [name for name in NUMBERS if not _moved(name, one, other, factor, shift)]
                told = f"{one} and, with rewards times {factor:g} plus {shift:g}, {other}"
                require(not wrong, f"{policy} ({how}) says {told}: {', '.join(wrong)}")
    return None


def lived(ground: Ground, way: Way, policy: Any, made: dict[str, Any], pays: Any) -> tuple[Agent, Any, Counts, Counts]:
    """An agent that made the same request again and again, and that request; by arm, how many rewards came and how many
    are under way: every fifth. `pays` draws rewards; arms that move earn what their states do.
    """
    agent, luck = way.agent(policy, seed=3, **made), np.random.default_rng(11)
    request, came, pends = _request(way, luck), Counts(), Counts()
    for t in range(ROUNDS):
        decision = agent.decide(**request)
        chosen = decision.action if isinstance(decision.action, tuple) else (decision.action,)
        answer = _answer(ground, way, luck, pays)
        if t % 5 == 4:
            pends.update(chosen)
        else:
            came.update(chosen)
            way.answer(agent, decision, answer)
    return agent, request, came, pends


def _request(way: Way, luck: Luck) -> dict[str, Any]:
    """What every decision takes; rows that come with decisions are as good as arms."""
    request = way.told(luck)
    return {"actions": np.eye(DIM)} if "actions" in request else request


def _answer(ground: Ground, way: Way, luck: Luck, pays: Any) -> dict[str, Any]:
    if ground.family == "restless":
        return ground.any_told(luck)
    if ground.problem.slate:
        return {"rewards": [pays(luck) for _ in range(ground.problem.slate)]}
    return {"reward": pays(luck)} | way.adds(0.5)


def _range(ground: Ground, low: float, high: float) -> dict[str, Any]:
    """How an agent is told where rewards lie."""
    if ground.family == "restless":
        return {"rewards": np.linspace(low, high, 3).tolist()}
    return {"reward_range": (low, high)}


def _varied(ground: Ground, way: Way, policy: Any, factor: float, shift: float) -> list[ArmSummary]:
    """What an agent says whose rewards are multiplied and moved."""
    made = _range(ground, shift, shift + factor)
    agent, request, *_ = lived(ground, way, policy, made, lambda luck: shift + factor * luck.random())
    return agent.summary(**request)


def _wrong(record: ArmSummary, came: int, pends: int) -> str:
    """What cannot be so of an arm of which so many rewards came and decisions pend; nothing where all may be."""
    estimate, low, high = record.estimate, record.low, record.high
    if low is not None and high is not None and not low <= (math.nan if estimate is None else estimate) <= high:
        return "the estimate is not in the interval"
    near = low is not None and high is not None and low <= REWARD <= high
    if estimate is not None and abs(estimate - REWARD) > CLOSE * REWARD and not near:
        return f"the estimate is not {REWARD:g}, nor is that in the interval"
    if record.count is not None and record.count > came + 1e-6:
        return f"{came} rewards came"
    if record.pending is not None and record.pending > pends:
        return f"{pends} decisions are under way"
    return ""


def _says(record: ArmSummary) -> bool:
    return any(getattr(record, name) is not None for name in ("estimate", "index", "count"))


def _same(one: float | None, other: float) -> bool:
    return math.isnan(other) if one is None else one == other


def _moved(name: str, one: ArmSummary, other: ArmSummary, factor: float, shift: float) -> bool:
    """Whether a number follows the units of rewards as it should."""
    before, after = getattr(one, name), getattr(other, name)
    if before is None or after is None:
        return before is after
    stays = math.isclose(before, after, rel_tol=1e-7, abs_tol=1e-9)
    follows = math.isclose(factor * before + shift, after, rel_tol=1e-7, abs_tol=1e-9 * factor)
    if name in ("count", "pending"):
        return stays
    return follows or (name == "index" and stays and 0.0 <= before <= 1.0)
