"""Which policies can play which problems: by what they are shown, and what they answer with."""

from typing import Any

from driftwise.core.types import FAMILIES, Problem
from driftwise.core.verbs import ABOUT
from driftwise.errors import ParameterError


def family_of(policy: Any) -> str:
    """The family of a policy; of one over policies, that of the policy inside."""
    if hasattr(policy, "policy"):
        return family_of(policy.policy)
    about = ABOUT.get(type(policy))
    return about.family if about else "armed"


def check_fit(policy: Any, problem: Problem) -> None:
    """Refuse a policy that could not read this problem, or whose answers it could not read."""
    own, offered = family_of(policy), problem.family
    if own != offered and (own, offered) != ("armed", "features"):  # rows of features can be taken for bare arms
        name = type(policy).__name__
        raise ParameterError(f"{name} is made for problems where {FAMILIES[own]}; in this one {FAMILIES[offered]}")
