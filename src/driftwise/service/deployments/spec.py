"""The specification of a deployment: serialization, checks, and the policy and agent that it describes."""

import math
from typing import Any, Protocol

import msgspec

from driftwise.agent import Agent
from driftwise.core import serialization as states
from driftwise.core.family import FAMILIES, display_name, errors_about, player_of
from driftwise.core.foresight import is_named
from driftwise.core.protocols import Policy
from driftwise.core.schemas import present_fields
from driftwise.core.service_hooks import ServiceHooks
from driftwise.core.spec import describe, parameters, parse
from driftwise.core.validation import cast
from driftwise.errors import ParameterError
from driftwise.families import POLICIES
from driftwise.service.http.schemas.requests import DeploymentSpec, OutcomeFields

MAX_BYTES = 2**28  # of one policy's state
MAX_UNITS = 100_000


class PolicyTuple(Policy, Protocol):
    """A policy with the methods that every NamedTuple has."""

    def _asdict(self) -> dict[str, Any]: ...

    def _replace(self, **changes: object) -> "PolicyTuple": ...


POLICY = ("policy", "parameters", "window", "propensity_samples")  # fields whose change replays the journal
_DECODER = msgspec.json.Decoder(DeploymentSpec)


def encode(spec: DeploymentSpec) -> bytes:
    """Serialize a specification."""
    return msgspec.json.encode(spec)


def decode(text: bytes) -> DeploymentSpec:
    """Deserialize a specification."""
    return _DECODER.decode(text)


def policy_of(spec: DeploymentSpec) -> PolicyTuple:
    """The policy that decides: where `auto` was chosen, the one of the problem's family."""
    policy = player_of(_chosen_policy(spec), spec.problem)
    _check_numbers(policy)
    hooks_of(spec).check_limits(policy, spec.problem, spec.propensity_samples)
    return policy


def _chosen_policy(spec: DeploymentSpec) -> PolicyTuple:
    """The policy by its name, with its parameters and window."""
    policy: Any = parse(spec.policy, POLICIES, "policy")
    options: dict[str, Any] = dict(spec.parameters)
    window = spec.window
    if window is not None:
        hooks_of(spec).check_window(in_seconds=window.seconds is not None)
    if window is not None and window.rounds is not None:
        options["window"] = window.rounds
    defaults = parameters(type(policy))
    for name, value in options.items():
        if name not in defaults:
            raise ParameterError(f"policy {spec.policy} has no parameter {name!r}: it takes {', '.join(defaults)}")
        if hasattr(defaults[name], "_fields"):
            options[name] = parse(str(value), POLICIES, "policy")
        elif isinstance(defaults[name], str) != isinstance(value, str) and not is_named(type(policy), name, value):
            kind = "a word" if isinstance(defaults[name], str) else "a number"
            raise ParameterError(f"{name}={value!r} is not {kind}")
    configured: PolicyTuple = cast(policy._replace(**options))
    if window is not None and window.seconds is not None and "window" not in defaults:
        raise ParameterError(f"{spec.policy} has no window that the clock could move: leave out window.seconds")
    return configured


def hooks_of(spec: DeploymentSpec) -> ServiceHooks:
    """What the family of a deployment answers for it."""
    return FAMILIES[spec.problem.kind].service


def _check_numbers(policy: PolicyTuple) -> None:
    """Refuse parameters that no policy can work with."""
    for name, value in policy._asdict().items():
        if hasattr(value, "_fields"):
            _check_numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool) and not abs(value) <= 1e15:
            raise ParameterError(f"{name}={value} is not a finite number of at most 1e15")


def agent_of(spec: DeploymentSpec) -> Agent:
    """A new agent."""
    policy = policy_of(spec)
    with errors_about(_chosen_policy(spec), policy):
        agent = Agent(
            policy,
            spec.problem,
            seed=spec.seed,
            max_pending=10**9,  # the service refuses instead of forgetting
            propensity_samples=spec.propensity_samples,
        )
    agent = named(spec, agent)
    if sum(array.nbytes for _, array in states.arrays(agent.state)) > MAX_BYTES:
        raise ParameterError(f"{spec.policy} would need more than {MAX_BYTES >> 20} MB for this deployment")
    default_of(spec, agent)
    return agent


def named(spec: DeploymentSpec, agent: Agent) -> Agent:
    """An agent whose errors call its policy what the specification does."""
    agent.adapter.name = display_name(_chosen_policy(spec), agent.policy)
    return agent


def default_of(spec: DeploymentSpec, agent: Agent) -> dict[str, Any]:
    """The default outcome, learned after the reward window; it must be a valid outcome."""
    default = hooks_of(spec).default_outcome(spec.problem)
    if spec.default_outcome is not None:
        default = (default or {}) | present_fields(spec.default_outcome, OutcomeFields.__struct_fields__)
    elif spec.reward_window is None:
        return {}
    if default is None:
        raise ParameterError(
            f"a {spec.problem.kind} problem has no default outcome: give default_outcome, or leave out reward_window"
        )
    agent.validate_outcome(**default)
    return default


def describe_policy(spec: DeploymentSpec) -> dict[str, Any]:
    """The policy as text, and all its parameters."""
    policy = _chosen_policy(spec)
    values = {
        name: describe(value, POLICIES) if hasattr(value, "_fields") else value
        for name, value in policy._asdict().items()
    }
    return {"policy": describe(policy, POLICIES), "parameters": values}


def tick_of(spec: DeploymentSpec) -> int:
    """Microseconds of a round, where the window is one of the clock; 0 where rounds are counted."""
    if spec.window is None or spec.window.seconds is None:
        return 0
    rounds: int = policy_of(spec)._asdict()["window"]
    return max(1, math.floor(1e6 * spec.window.seconds / rounds))


def check_retention(spec: DeploymentSpec) -> None:
    """Refuse a retention that says nothing, or that is shorter than the reward window."""
    retention, window = spec.retention, spec.reward_window
    if retention is None:
        return
    if retention.events is None and retention.seconds is None:
        raise ParameterError("retention needs `events` or `seconds`, or both")
    if retention.seconds is not None and window is not None and retention.seconds < window:
        raise ParameterError(
            f"retention of {retention.seconds:g} seconds is shorter than the reward window of {window:g} seconds: "
            "a decision must be kept until its outcome is due"
        )


def with_changes(spec: DeploymentSpec, changes: dict[str, Any]) -> DeploymentSpec:
    """A specification with some fields replaced, and validated; of the problem, those fields that change."""
    plain = msgspec.to_builtins(spec)
    problem = dict(plain["problem"])
    for name, value in changes.get("problem", {}).items():
        if name not in problem:
            raise ParameterError(f"a {spec.problem.kind} problem has no {name!r}: it has {', '.join(problem)}")
        before = problem[name]
        problem[name] = before | value if isinstance(before, dict) and isinstance(value, dict) else value
    try:
        changed: DeploymentSpec = msgspec.convert(plain | changes | {"problem": problem}, DeploymentSpec)
    except msgspec.ValidationError as error:
        raise ParameterError(f"the change is not valid: {error}") from None
    check_retention(changed)
    if changed.sticky and not hooks_of(changed).sticky:
        raise ParameterError(f"sticky=true is not possible in a {spec.problem.kind} problem")
    return changed
