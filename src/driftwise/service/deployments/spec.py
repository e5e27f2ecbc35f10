"""Settings of a deployment: serialization, checks, and the policy and agent they describe."""

import math
from typing import Any

import msgspec

from driftwise.agent import Agent
from driftwise.core import serialization as states
from driftwise.core.spec import describe, parameters, parse
from driftwise.core.validation import cast
from driftwise.errors import ParameterError
from driftwise.families import POLICIES
from driftwise.families.convex import projections
from driftwise.service.deployments import moving
from driftwise.service.http.schemas.requests import Ball, Box, Settings, Simplex

MAX_NUMBERS = 10**7  # in a window of features, or in a matrix of pairs of features
MAX_DRAWN = 10**6  # arms drawn to count one propensity
MAX_BYTES = 2**28  # of one policy's state
MAX_UNITS = 100_000


POLICY = ("policy", "parameters", "window", "draws")  # fields whose change replays the journal
_DECODER = msgspec.json.Decoder(Settings)


def encode(settings: Settings) -> bytes:
    """Serialize settings."""
    return msgspec.json.encode(settings)


def decode(text: bytes) -> Settings:
    """Deserialize settings."""
    return _DECODER.decode(text)


def policy_of(settings: Settings) -> Any:
    """The policy, with its parameters and window."""
    policy = parse(settings.policy, POLICIES, "policy")
    options: dict[str, Any] = dict(settings.parameters)
    window = settings.window
    if window is not None and window.rounds is not None:
        options["window"] = window.rounds
    defaults = parameters(type(policy))
    for name, value in options.items():
        if name not in defaults:
            raise ParameterError(f"policy {settings.policy} has no parameter {name!r}: it takes {', '.join(defaults)}")
        if hasattr(defaults[name], "_fields"):
            options[name] = parse(str(value), POLICIES, "policy")
        elif isinstance(defaults[name], str) != isinstance(value, str):
            kind = "a word" if isinstance(defaults[name], str) else "a number"
            raise ParameterError(f"{name}={value!r} is not {kind}")
    policy = cast(policy._replace(**options))
    if window is not None and window.seconds is not None:
        if "window" not in defaults:
            raise ParameterError(f"{settings.policy} has no window that the clock could move: leave out window.seconds")
        if settings.budgets is not None:
            raise ParameterError("window.seconds does not go with budgets, which are to last for a number of rounds")
    _check_numbers(policy, settings)
    if settings.states is not None:
        moving.check_size(policy, settings)
    return policy


def _check_numbers(policy: Any, settings: Settings) -> None:
    """Check that the deployment does not need too much memory."""
    for name, value in policy._asdict().items():
        if hasattr(value, "_fields"):
            _check_numbers(value, settings)
        elif isinstance(value, int | float) and not isinstance(value, bool) and not abs(value) <= 1e15:
            raise ParameterError(f"{name}={value} is not a finite number of at most 1e15")
    dim = (settings.features or _arms(settings)) * (settings.context or 1)
    points = sum(_coordinates(part) for part in settings.domain or ())
    if points * ((settings.constraints or 0) + 1) > MAX_NUMBERS:
        raise ParameterError(f"{points} coordinates and {settings.constraints} constraints are too many")
    if settings.features is None and settings.context is None and not isinstance(settings.arms, dict):
        dim = 1
    arms = settings.n_arms or len(settings.arms or ()) or 1
    if settings.draws * arms > MAX_DRAWN:
        raise ParameterError(f"draws={settings.draws} of {arms} arms take too long: at most {MAX_DRAWN // arms}")
    window = getattr(policy, "window", 1)
    if isinstance(window, int | float) and (window > 10**6 or window * dim > MAX_NUMBERS):
        raise ParameterError(f"window={window} of {dim} features is too much for one deployment")
    if dim * dim > MAX_NUMBERS:
        raise ParameterError(f"{dim} features, arms and context multiplied, are too many for one deployment")


def _coordinates(part: Box | Ball | Simplex) -> int:
    return part.size if isinstance(part, Simplex) else len(part.low if isinstance(part, Box) else part.centre)


def _arms(settings: Settings) -> int:
    if isinstance(settings.arms, dict):
        return max(map(len, settings.arms.values()))
    return settings.n_arms or len(settings.arms or ()) or 1


def agent_of(settings: Settings) -> Agent:
    """A new agent."""
    agent = Agent(
        policy_of(settings),
        n_arms=settings.n_arms,
        arms=settings.arms,
        features=settings.features,
        context=settings.context,
        slate=settings.slate,
        budgets=settings.budgets,
        most=settings.most,
        reserve=settings.reserve,
        overspend=settings.overspend,
        domain=domain_of(settings),
        constraints=settings.constraints,
        start=settings.start,
        **moving.made_with(settings),
        reward_range=settings.reward_range,
        noise=settings.noise,
        horizon=settings.horizon,
        seed=settings.seed,
        max_pending=10**9,  # the service refuses instead of forgetting
        draws=settings.draws,
    )
    if sum(array.nbytes for _, array in states.arrays(agent.state)) > MAX_BYTES:
        raise ParameterError(f"{settings.policy} would need more than {MAX_BYTES >> 20} MB for this deployment")
    default_of(settings, agent)
    return agent


def domain_of(settings: Settings) -> Any:
    """Where points lie: the product of its parts."""
    if settings.domain is None:
        return None
    makers: dict[type, Any] = {Box: projections.box, Ball: projections.ball, Simplex: projections.simplex}
    parts = [makers[type(part)](**msgspec.structs.asdict(part)) for part in settings.domain]
    return projections.product(*parts) if len(parts) > 1 else parts[0]


def default_of(settings: Settings, agent: Agent) -> dict[str, Any]:
    """The default outcome, learned after the reward window; it must be a valid outcome."""
    if agent.problem.family == "convex":
        if settings.reward_window is not None:
            raise ParameterError("points have no default outcome: leave out reward_window")
        return {}
    if agent.problem.family == "restless":
        return moving.check_words(settings)
    outcome: dict[str, Any] = {"reward": settings.default_reward}
    if settings.slate is not None:
        outcome = {"rewards": [settings.default_reward] * settings.slate}
    if settings.budgets is not None:
        most = settings.most or {}
        outcome["costs"] = settings.default_costs or {name: most.get(name, 1.0) for name in settings.budgets}
    elif settings.default_costs is not None:
        raise ParameterError("default_costs is allowed only with budgets")
    if settings.reward_window is not None:
        agent.check(**outcome)
    return outcome


def describe_policy(settings: Settings) -> dict[str, Any]:
    """The policy as text, and all its parameters."""
    policy = policy_of(settings)
    values = {
        name: describe(value, POLICIES) if hasattr(value, "_fields") else value
        for name, value in policy._asdict().items()
    }
    return {"policy": describe(policy, POLICIES), "parameters": values}


def tick_of(settings: Settings) -> int:
    """Microseconds of a round, where the window is one of the clock; 0 where rounds are counted."""
    if settings.window is None or settings.window.seconds is None:
        return 0
    rounds: int = policy_of(settings).window
    return max(1, math.floor(1e6 * settings.window.seconds / rounds))


def with_changes(settings: Settings, changes: dict[str, Any]) -> Settings:
    """Settings with some fields replaced, and validated."""
    plain = msgspec.to_builtins(settings) | changes
    return msgspec.convert(plain, Settings)
