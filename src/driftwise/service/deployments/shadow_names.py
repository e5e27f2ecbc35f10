"""Which policies may be shadows of a deployment, and by which text each is known."""

from driftwise.errors import ParameterError
from driftwise.service.deployments import spec as specs
from driftwise.service.deployments.shadows import shadow_spec
from driftwise.service.http.schemas.requests import DeploymentSpec


def live_name(spec: DeploymentSpec) -> str:
    """The text of the policy in force, with all its parameters that are not at their defaults."""
    text: str = specs.describe_policy(spec)["policy"]
    return text


def shadow_name(spec: DeploymentSpec, policy: str) -> str:
    """The text by which a shadow is known: parameters in their order, without those at their defaults."""
    return live_name(shadow_spec(spec, policy))


def check_shadows(spec: DeploymentSpec) -> list[str]:
    """The texts of the shadows of a specification; refuses those that could not decide in its place.

    It may compile kernels.
    """
    names: list[str] = []
    for policy in spec.shadows:
        name = shadow_name(spec, policy)
        if name == live_name(spec) and not _by_the_clock(spec):
            raise ParameterError(f"{policy} is the policy in force: it cannot be its own shadow")
        if name in names:
            raise ParameterError(f"shadows has {policy} twice")
        specs.agent_of(shadow_spec(spec, policy))
        names.append(name)
    return names


def _by_the_clock(spec: DeploymentSpec) -> bool:
    """Whether the window of the policy in force is one in seconds, which the text of a shadow cannot have."""
    return spec.window is not None and spec.window.seconds is not None
