"""What oracles share: they cannot be asked by those who do not know the world."""

from typing import NoReturn

from driftwise.core.protocols import Policy
from driftwise.core.types import Problem
from driftwise.errors import ParameterError


def not_live(oracle: Policy, problem: Problem) -> NoReturn:
    """Refuse to start without the world."""
    raise ParameterError(f"{type(oracle).__name__} knows the world in advance: it plays in studies only")
