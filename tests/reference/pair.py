"""A compiled policy beside its slow twin."""

from typing import Any, NamedTuple

from driftwise.core.rules import cast
from driftwise.core.types import Problem
from driftwise.policies import POLICIES
from tests.reference import TWINS


class Pair(NamedTuple):
    """A policy with its state, and its twin."""

    name: str
    policy: Any
    state: Any
    twin: Any

    @classmethod
    def of(cls, name: str, problem: Problem, **parameters: Any) -> "Pair":
        policy = cast(POLICIES[name](**parameters))
        return cls(name, policy, policy.init(problem), TWINS[name](policy, problem))
