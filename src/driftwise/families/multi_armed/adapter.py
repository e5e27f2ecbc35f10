"""One bare arm, one reward."""

from typing import Any

from driftwise.core.adapter import Adapter
from driftwise.core.family import check_fit
from driftwise.families.multi_armed.problem import MultiArmed


class MultiArmedAdapter(Adapter):
    """Between a program and policies that choose one arm."""

    bare = True

    @classmethod
    def of(cls, policy: Any, problem: MultiArmed) -> "MultiArmedAdapter":
        """The arms of a problem."""
        registry = problem.arm_registry()
        base = problem.base(registry)
        check_fit(policy, base)
        return cls(policy, base, registry)
