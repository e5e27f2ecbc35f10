"""Units of measurement: in euros or in cents, from zero or from a thousand on, the choices are the same.

An agent is told all that has the unit of rewards in that unit: where they lie, or how noisy they are, or neither, and
then it learns how large they are. A factor that is no power of two changes the last bits of rewards. So rewards are
continuous here, and rows of features have different lengths: two indices are then equal to the bit, for a reason that
no factor changes, or they differ by more than rounding, and every choice must be the same.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.checks.alike import called
from driftwise.checks.grounds import Ground, Luck, Way, ground_of, require
from driftwise.core.types import Decision
from driftwise.errors import ParameterError

FACTORS = (1e-3, 10.0, 1e4)
SHIFT = 1e3
ROUNDS = 400
CLOSE = 1e-9  # a point is no choice between a few things: its coordinates agree but for rounding

Declaration = Callable[[float], dict[str, Any]]


def _range(factor: float) -> dict[str, Any]:
    return {"reward_range": (0.0, factor)}


def _noise(factor: float) -> dict[str, Any]:
    return {"reward_range": None, "noise": 0.3 * factor}


def _nothing(factor: float) -> dict[str, Any]:
    return {"reward_range": None}


def _states(factor: float) -> dict[str, Any]:
    return {"rewards": [0.0, 0.5 * factor, factor], "activation_cost": 0.1 * factor}


# What an agent may be told of rewards from 0 to 1, times a factor; the first must be enough for every policy.
DECLARATIONS: dict[str, tuple[Declaration, ...]] = {
    "armed": (_range, _noise, _nothing),
    "features": (_range, _noise, _nothing),
    "slates": (_range, _noise, _nothing),
    "budgets": (_range,),
    "restless": (_states,),
}


def rewards_have_no_unit(policy: Any) -> str | None:
    """Rewards, their range and their noise times 0.001, 10 or 10,000 lead to the same choices.

    An agent that is told too little of unbounded rewards may refuse them; one that takes them must learn their size.
    """
    ground = ground_of(policy)
    if ground.family not in DECLARATIONS:
        return f"{called(policy)} is told losses, not rewards"
    enough, *less = DECLARATIONS[ground.family]
    for how, way in ground.ways.items():
        for declared in (enough, *(each for each in less if _accepted(way, policy, each(1.0)))):
            once = _choices(ground, way, policy, declared(1.0))
            for factor in FACTORS:
                same = once == _choices(ground, way, policy, declared(factor), factor)
                require(same, f"{policy} ({how}) chose otherwise with {declared(factor)} than with {declared(1.0)}")
    return None


def rewards_have_no_origin(policy: Any) -> str | None:
    """Rewards and their range a thousand higher lead to the same choices.

    Not so with features, where a reward is what the features add up to; nor with budgets, where nothing pays 0.
    """
    ground = ground_of(policy)
    if ground.family not in ("armed", "slates"):
        return f"{called(policy)} is one for which a reward of 0 means something"
    for how, way in ground.ways.items():
        once = _choices(ground, way, policy, _range(1.0))
        higher = _choices(ground, way, policy, {"reward_range": (SHIFT, SHIFT + 1.0)}, shift=SHIFT)
        require(once == higher, f"{policy} ({how}) chose otherwise where rewards were higher by {SHIFT:g}")
    return None


def costs_have_no_unit(policy: Any) -> str | None:
    """Budgets, costs and the most a decision can cost, times a factor, lead to the same choices."""
    ground = ground_of(policy)
    if ground.family != "budgets":
        return f"{called(policy)} has no budgets"
    for way in ground.ways.values():
        once = _choices(ground, way, policy, {})
        for factor in FACTORS:
            budgets = {name: factor * amount for name, amount in way.made["budgets"].items()}
            told = {"budgets": budgets, "most": dict.fromkeys(budgets, factor)}
            other = _choices(ground, way, policy, told, costs=factor)
            require(once == other, f"{policy} chose otherwise where costs and budgets were {factor:g} times as large")
    return None


def losses_follow_their_weights(policy: Any) -> str | None:
    """Losses times a and constraints times b lead to the same points with weight b^2 / a and inertia b^2 as large.

    A step weighs losses against constraints, and both against the size of the domain, so it has no form that is free of
    units: `weight` and `inertia` are where a user tells them.
    """
    ground = ground_of(policy)
    if ground.family != "convex" or not {"weight", "inertia"} <= {*policy._fields}:
        return f"{called(policy)} has no weight of losses against constraints"
    for way in ground.ways.values():
        once = _points(ground, way, policy, 1.0, 1.0)
        for loss, constraint in ((10.0, 1.0), (1.0, 10.0), (1e-3, 1e4)):
            square = constraint * constraint
            other = policy._replace(weight=policy.weight * square / loss, inertia=policy.inertia * square)
            points = _points(ground, way, other, loss, constraint)
            same = bool(np.allclose(once, points, rtol=0.0, atol=CLOSE))
            require(same, f"{other} chose other points with losses times {loss:g} and constraints times {constraint:g}")
    return None


def _accepted(way: Way, policy: Any, made: dict[str, Any]) -> bool:
    """Whether an agent can be made with this."""
    try:
        way.agent(policy, **made)
    except ParameterError:
        return False
    return True


def _choices(
    ground: Ground,
    way: Way,
    policy: Any,
    made: dict[str, Any],
    factor: float = 1.0,
    shift: float = 0.0,
    costs: float = 1.0,
) -> list[Any]:
    """What an agent chooses whose rewards are multiplied and moved, and whose costs are multiplied."""
    agent, luck = way.agent(policy, seed=3, **made), np.random.default_rng(9)
    chosen = []
    for _ in range(ROUNDS):
        decision = agent.decide(**_asked(way, luck))
        chosen.append(decision.action)
        answer = _answer(ground, way, agent, decision, luck)
        for name in ("reward", "rewards"):
            if name in answer:
                answer[name] = np.multiply(answer[name], factor) + shift
        if "costs" in answer:
            answer["costs"] = {name: costs * cost for name, cost in answer["costs"].items()}
        way.answer(agent, decision, answer)
    return chosen


def _asked(way: Way, luck: Luck) -> dict[str, Any]:
    """What a decision is asked with."""
    asked = way.told(luck)
    if "actions" in asked:
        asked["actions"] = luck.uniform(0.5, 1.0, (len(asked["actions"]), 1)) * asked["actions"]
    return asked


def _answer(ground: Ground, way: Way, agent: Agent, decision: Decision, luck: Luck) -> dict[str, Any]:
    """What comes of a decision: noisy rewards from 0 to 1, more of them from some arms or features than from others."""
    if ground.family == "restless":
        return ground.any_told(luck)
    chosen = decision.action if isinstance(decision.action, tuple) else (decision.action,)
    if not agent.arms:
        merits = [0.5 + 0.5 * decision.context[0]]
    else:
        merits = [(agent.arms.index(each) + 1) / len(agent.arms) if each is not None else 0.0 for each in chosen]
    rewards = [0.4 * merit + 0.6 * luck.random() for merit in merits]
    return {"rewards": rewards} if ground.family == "slates" else {"reward": rewards[0]} | way.adds(rewards[0])


def _points(ground: Ground, way: Way, policy: Any, loss: float, constraint: float) -> Any:
    """The points an agent chooses whose losses and constraints are multiplied."""
    agent, luck, points = way.agent(policy, seed=3), np.random.default_rng(9), []
    for _ in range(ROUNDS):
        decision = agent.decide()
        points.append(decision.action)
        told = ground.any_told(luck)
        agent.learn(
            decision,
            gradient=loss * told["gradient"],
            values=constraint * told["values"],
            jacobian=constraint * told["jacobian"],
        )
    return np.array(points)
