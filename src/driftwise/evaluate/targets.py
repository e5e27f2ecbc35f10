"""The policies that a log can be asked about, and what each would choose in every row.

    fixed:ARM    the same arm in every row
    uniform      every arm with the same probability
    logged       what was chosen: its value is what was earned
    NAME or NAME:param=value,...   any policy that chooses one arm, replayed as it learns

In Python a policy may also be an array of probabilities, a row per row of the log and a column per arm.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from driftwise.core.protocols import Policy
from driftwise.core.spec import describe, lookup, parse
from driftwise.core.types import Floats, Ints
from driftwise.core.validation import policy_instance
from driftwise.errors import ParameterError
from driftwise.evaluate.reward_model import RewardModel
from driftwise.families import POLICIES

SUM_TOLERANCE = 1e-6


class Target(Protocol):
    """What a policy chooses in every row."""

    def chances(self, actions: Ints) -> Floats:
        """The probability, row by row, that the policy chooses these arms."""

    def expect(self, model: RewardModel) -> Floats:
        """The predicted reward of what the policy chooses, row by row."""


class Proposals(NamedTuple):
    """One arm per row."""

    arms: Ints

    def chances(self, actions: Ints) -> Floats:
        """1 where the arms are the same."""
        return np.asarray(self.arms == actions, np.float64)

    def expect(self, model: RewardModel) -> Floats:
        """The prediction for the arm of each row."""
        return model.predict(self.arms)


class Mixture(NamedTuple):
    """Probabilities of all arms, a row per row of the log or one for all."""

    probabilities: Floats

    def chances(self, actions: Ints) -> Floats:
        """The probability of each row's arm."""
        table = self.probabilities
        chances: Floats = table[actions] if table.ndim == 1 else table[np.arange(len(actions)), actions]
        return chances

    def expect(self, model: RewardModel) -> Floats:
        """The mean prediction."""
        return model.expect(self.probabilities)


class Learner(NamedTuple):
    """A policy that learns: what it chooses is known after its replay."""

    policy: Policy


class LoggedChoices(NamedTuple):
    """The policy that made the log."""


Candidate: TypeAlias = Mixture | Learner | LoggedChoices


def read_policies(policies: object, arms: Sequence[str], n_rows: int) -> dict[str, Candidate]:
    """Policies by name, from a text, a policy, several of them, or a mapping from names to them."""
    if isinstance(policies, Mapping):
        pairs = [(str(name), policy) for name, policy in policies.items()]
    elif isinstance(policies, list) or (isinstance(policies, tuple) and not hasattr(policies, "_fields")):
        pairs = [(_name(policy), policy) for policy in policies]
    else:
        pairs = [(_name(policies), policies)]
    if not pairs:
        raise ParameterError("no policy to evaluate: give one, such as 'sliding-thompson:window=1000' or 'fixed:ARM'")
    return {name: read_policy(policy, arms, n_rows) for name, policy in pairs}


def read_policy(policy: object, arms: Sequence[str], n_rows: int) -> Candidate:
    """One policy, from its text, an instance, or probabilities."""
    if isinstance(policy, np.ndarray):
        return Mixture(_probabilities(policy, len(arms), n_rows))
    if not isinstance(policy, str):
        return Learner(cast(Policy, policy_instance(policy)))
    kind, _, rest = (part.strip() for part in policy.partition(":"))
    if kind == "fixed":
        if not rest:
            raise ParameterError(f"fixed needs an arm, as in fixed:{arms[0]}: there are {', '.join(arms)}")
        place = lookup(rest, {name: index for index, name in enumerate(arms)}, "arm in this log")
        return Mixture(np.eye(len(arms))[place])
    if policy == "uniform":
        return Mixture(np.full(len(arms), 1.0 / len(arms)))
    if policy == "logged":
        return LoggedChoices()
    return Learner(parse(policy, POLICIES, "policy"))


def _name(policy: object) -> str:
    if isinstance(policy, str):
        return policy.strip()
    if isinstance(policy, np.ndarray):
        raise ParameterError("probabilities need a name: give a mapping, as in {'mine': probabilities}")
    return describe(policy, POLICIES) if isinstance(policy, tuple) and hasattr(policy, "_fields") else repr(policy)


def _probabilities(table: NDArray[Any], n_arms: int, n_rows: int) -> Floats:
    if table.shape not in ((n_arms,), (n_rows, n_arms)):
        raise ParameterError(
            f"probabilities have shape {table.shape}: they need {n_arms} columns, a row per row of the log ({n_rows})"
        )
    try:
        numbers: Floats = np.ascontiguousarray(table, np.float64)
    except (TypeError, ValueError):
        raise ParameterError("probabilities are not made of numbers") from None
    if not ((numbers >= 0.0) & (numbers <= 1.0)).all():
        wrong = numbers[~((numbers >= 0.0) & (numbers <= 1.0))][0]
        raise ParameterError(f"probabilities hold {wrong:g}, which is outside [0, 1]")
    sums = np.atleast_1d(numbers.sum(axis=-1))
    if np.abs(sums - 1.0).max() > SUM_TOLERANCE:
        row = int(np.argmax(np.abs(sums - 1.0)))
        raise ParameterError(f"probabilities of row {row} sum to {sums[row]:g}, not to 1")
    return numbers
