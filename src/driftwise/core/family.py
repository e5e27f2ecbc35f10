"""Which policies can play which problems: by what they are shown, and what they answer with."""

from typing import Any

from driftwise.core.types import FAMILIES, Problem
from driftwise.core.verbs import ABOUT
from driftwise.errors import ParameterError

BLIND = ("features", "budgets")  # what a policy for bare arms also plays: it looks at neither rows nor costs


def family_of(policy: Any) -> str:
    """The family of a policy; of one over policies, that of the policy inside."""
    if hasattr(policy, "policy"):
        return family_of(_instance(policy.policy))
    about = ABOUT.get(type(policy))
    return about.family if about else "armed"


def _instance(policy: Any) -> Any:
    if isinstance(policy, type) or not hasattr(policy, "init"):
        raise ParameterError(f"policy={policy!r} is not a policy: give an instance, such as SlidingUCB()")
    return policy


def check_fit(policy: Any, problem: Problem) -> None:
    """Refuse a policy that could not read this problem, or whose answers it could not read."""
    own, offered = family_of(policy), problem.family
    if own != offered and not (own == "armed" and offered in BLIND):
        inner = getattr(policy, "policy", policy)
        name = type(policy).__name__ + (f" over {type(inner).__name__}" if inner is not policy else "")
        raise ParameterError(f"{name} chooses {FAMILIES[own]}; this problem asks for {FAMILIES[offered]}")
