"""Units of measurement: in euros or in cents, from zero or from a thousand on, the choices are the same.

A problem says all that has the unit of rewards in that unit: where they lie, or how noisy they are, or neither, and
then the agent learns how large they are. A factor that is no power of two changes the last bits of rewards. So rewards
are continuous here, and rows of features have different lengths: two indices are then equal to the bit, for a reason
that no factor changes, or they differ by more than rounding, and every choice must be the same.
"""

import numpy as np

from driftwise.agent import Agent
from driftwise.checks._helpers import kind_name
from driftwise.checks.contract import agent_for, fixtures_of, learn, require
from driftwise.core.fixtures import Arguments, Fixtures, Rng, Usage
from driftwise.core.protocols import Policy
from driftwise.core.types import Decision, Floats
from driftwise.errors import ParameterError

FACTORS = (1e-3, 10.0, 1e4)
SHIFT = 1e3
ROUNDS = 400
CLOSE = 1e-9  # a point is no choice between a few things: its coordinates agree but for rounding


def rewards_have_no_unit(policy: Policy) -> str | None:
    """Rewards, their range and their noise times 0.001, 10 or 10,000 lead to the same choices.

    An agent whose problem says too little of unbounded rewards may refuse it; one that takes it must learn their size.
    """
    fixtures = fixtures_of(policy)
    scales = fixtures.reward_scales(1.0)
    if not scales:
        return f"{kind_name(policy)} learns losses, not rewards"
    rule = "rewards have no unit: compare rewards with each other, or divide by problem.span in init"
    for how, usage in fixtures.usages.items():
        for which, options in enumerate(scales):
            if which and not _accepted(usage, policy, options):
                continue
            once = _choices(fixtures, usage, policy, options)
            for factor in FACTORS:
                other = fixtures.reward_scales(factor)[which]
                same = once == _choices(fixtures, usage, policy, other, factor)
                require(same, f"{policy} ({how}) chose otherwise with {other} than with {options}; {rule}")
    return None


def rewards_have_no_origin(policy: Policy) -> str | None:
    """Rewards and their range a thousand higher lead to the same choices.

    Not so with features, where a reward is what the features add up to; nor with budgets, where nothing pays 0.
    """
    fixtures = fixtures_of(policy)
    if not fixtures.zero_is_arbitrary:
        return f"{kind_name(policy)} is one for which a reward of 0 means something"
    rule = "rewards have no origin: compare differences of rewards, or start from the first reward, not from 0"
    for how, usage in fixtures.usages.items():
        once = _choices(fixtures, usage, policy, {"reward_range": (0.0, 1.0)})
        higher = _choices(fixtures, usage, policy, {"reward_range": (SHIFT, SHIFT + 1.0)}, shift=SHIFT)
        require(once == higher, f"{policy} ({how}) chose otherwise where rewards were higher by {SHIFT:g}; {rule}")
    return None


def costs_have_no_unit(policy: Policy) -> str | None:
    """Budgets, costs and the most a decision can cost, times a factor, lead to the same choices."""
    fixtures = fixtures_of(policy)
    if not fixtures.has_costs:
        return f"{kind_name(policy)} has no budgets"
    for usage in fixtures.usages.values():
        once = _choices(fixtures, usage, policy, {})
        for factor in FACTORS:
            other = _choices(fixtures, usage, policy, fixtures.cost_scale(factor), costs=factor)
            broken = f"{policy} chose otherwise where costs and budgets were {factor:g} times as large"
            require(once == other, f"{broken}; costs have no unit: take each as a share of its budget")
    return None


def losses_follow_their_weights(policy: Policy) -> str | None:
    """Losses times a and constraints times b lead to the same points with weight b^2 / a and inertia b^2 as large.

    A step weighs losses against constraints, and both against the size of the domain, so it has no form that is free of
    units: `weight` and `inertia` are where a user says them.
    """
    fixtures = fixtures_of(policy)
    if not fixtures.has_gradients or not {"weight", "inertia"} <= {*policy._fields}:
        return f"{kind_name(policy)} has no weight of losses against constraints"
    weight, inertia = (policy._asdict()[name] for name in ("weight", "inertia"))
    for usage in fixtures.usages.values():
        once = _points(fixtures, usage, policy, 1.0, 1.0)
        for loss, constraint in ((10.0, 1.0), (1.0, 10.0), (1e-3, 1e4)):
            square = constraint * constraint
            other = policy._replace(weight=weight * square / loss, inertia=inertia * square)
            points = _points(fixtures, usage, other, loss, constraint)
            same = bool(np.allclose(once, points, rtol=0.0, atol=CLOSE))
            require(same, f"{other} chose other points with losses times {loss:g} and constraints times {constraint:g}")
    return None


def _accepted(usage: Usage, policy: Policy, options: Arguments) -> bool:
    """Whether an agent takes these options of its problem."""
    try:
        agent_for(policy, usage, seed=3, **options)
    except ParameterError:
        return False
    return True


def _choices(
    fixtures: Fixtures,
    usage: Usage,
    policy: Policy,
    options: Arguments,
    factor: float = 1.0,
    shift: float = 0.0,
    costs: float = 1.0,
) -> list[object]:
    """What an agent chooses whose rewards are multiplied and shifted, and whose costs are multiplied."""
    agent, luck = agent_for(policy, usage, seed=3, **options), np.random.default_rng(9)
    actions = []
    for _ in range(ROUNDS):
        decision = agent.decide(**_request(agent, usage, luck))
        actions.append(decision.action)
        outcome = _outcome(fixtures, agent, decision, luck)
        for name in ("reward", "rewards"):
            if name in outcome:
                outcome[name] = np.multiply(outcome[name], factor) + shift
        if "costs" in outcome:
            outcome["costs"] = {name: costs * cost for name, cost in outcome["costs"].items()}
        learn(agent, decision, outcome)
    return actions


def _request(agent: Agent, usage: Usage, luck: Rng) -> Arguments:
    """A random request, with rows of different lengths."""
    request = usage.request(luck, agent.arms)
    if "actions" in request:
        request["actions"] = luck.uniform(0.5, 1.0, (len(request["actions"]), 1)) * request["actions"]
    return request


def _outcome(fixtures: Fixtures, agent: Agent, decision: Decision, luck: Rng) -> Arguments:
    """What comes of a decision: noisy rewards from 0 to 1, more of them from some arms or features than from others."""
    if fixtures.has_states:
        return fixtures.outcome(luck, agent.arms)
    actions = decision.action if isinstance(decision.action, tuple) else (decision.action,)
    if not agent.arms:
        merits = [0.5 + 0.5 * decision.context[0] if decision.action is not None else 0.0]
    else:
        merits = [(agent.arms.index(each) + 1) / len(agent.arms) if each is not None else 0.0 for each in actions]
    return fixtures.outcome_of([0.4 * merit + 0.6 * luck.random() for merit in merits])


def _points(fixtures: Fixtures, usage: Usage, policy: Policy, loss: float, constraint: float) -> Floats:
    """The points an agent chooses whose losses and constraints are multiplied."""
    agent, luck, points = agent_for(policy, usage, seed=3), np.random.default_rng(9), []
    factors = {"gradient": loss, "values": constraint, "jacobian": constraint}
    for _ in range(ROUNDS):
        decision = agent.decide()
        points.append(decision.action)
        outcome = fixtures.outcome(luck, agent.arms)
        agent.learn(decision, **{name: factor * outcome[name] for name, factor in factors.items()})
    return np.array(points)
