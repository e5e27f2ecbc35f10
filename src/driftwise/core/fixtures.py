"""What the contracts try policies and worlds of a family with.

A contract (`driftwise.checks`) says what is promised. The fixtures of a family (`families/*/fixtures.py`) say what to
try it with: a small world, problems for agents, random requests and outcomes, and those that must be refused. They also
say what the family has (arms, rows of features, costs, ...), so that a contract asks for that and not for the name of a
family. `Fixtures` is the base of all: one arm is chosen, and one number comes back.

Fixtures make no agents: they give problems and arguments, and contracts make agents of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from driftwise.core import verbs
from driftwise.core.problem import ProblemValue
from driftwise.core.protocols import Policy, World
from driftwise.core.types import Floats, Outcome, Problem

N_ARMS, DIM, ROUNDS, HORIZON = 4, 4, 600, 2000
NAMES = ("a", "b", "c")
BAD_NUMBERS: tuple[Any, ...] = (np.nan, np.inf, 1.5, "much")

Rng = np.random.Generator
Arguments = dict[str, Any]
FOREIGN_REQUESTS: Arguments = {
    "actions": np.ones((N_ARMS, DIM)),
    "context": [1.0],
    "states": [0] * N_ARMS,
    "unknown": 1.0,
}
FOREIGN_OPTIONS: Arguments = {
    "features": np.ones(DIM),
    "arm_type": "nobody",
    "activation_cost": 0.0,
    "unknown": 1.0,
}


def no_request(rng: Rng, arms: Sequence[Any]) -> Arguments:
    """`decide` takes nothing."""
    return {}


def foreign(arguments: Mapping[str, Any], *accepted: str) -> list[Arguments]:
    """One by one, the arguments that are not among those accepted."""
    return [{name: value} for name, value in arguments.items() if name not in accepted]


@dataclass(frozen=True)
class Usage:
    """One way to use an agent of a family.

    Parameters
    ----------
    problem : problem value
        What is decided between.
    request : callable
        Random arguments of `decide`, with the arms there are now.
    bad_requests : list of dict
        Arguments that `decide` must refuse.
    new_arm : dict
        Options of an arm that is added later.
    bad_arms : list of dict
        Options with which no arm can be added.
    forgets : bool
        Whether a retired arm takes away all that is known of it, so that its late outcomes are ignored.
    """

    problem: ProblemValue
    request: Callable[[Rng, Sequence[Any]], Arguments] = no_request
    bad_requests: Sequence[Arguments] = field(default_factory=lambda: foreign(FOREIGN_REQUESTS))
    new_arm: Arguments = field(default_factory=dict)
    bad_arms: Sequence[Arguments] = field(default_factory=lambda: foreign(FOREIGN_OPTIONS))
    forgets: bool = True

    @property
    def named(self) -> bool:
        """Whether arms have names, and can come and go."""
        return bool(self.problem.arm_registry())


class TransitionTables(NamedTuple):
    """Transitions of a tape, stretch by stretch, and what a problem says of them: a row is known, still, or drifts."""

    tables: Floats
    possible: Any
    known: Any
    known_rows: Floats
    still: Any


@dataclass(frozen=True)
class Fixtures(ABC):
    """What policies that choose one arm, and learn one reward, are tried with."""

    world: Any

    has_arms: ClassVar[bool] = True  # something is numbered that can come and go
    has_rows: ClassVar[bool] = False  # actions are described by rows of features
    has_costs: ClassVar[bool] = False  # choices cost something of budgets, and nothing can be chosen
    has_states: ClassVar[bool] = False  # arms have states, which come with every request
    has_gradients: ClassVar[bool] = False  # points are chosen, and gradients come back
    zero_is_arbitrary: ClassVar[bool] = True  # rewards and their range may be shifted
    lowest_action: ClassVar[int] = 0

    @classmethod
    def of(cls, policy: Policy | None = None) -> Self:
        """The fixtures around a small world; one that suits the policy, where it makes a difference."""
        return cls(cls.small_world(policy))

    @classmethod
    @abstractmethod
    def small_world(cls, policy: Policy | None) -> World:
        """A world with few actions that drifts."""

    @property
    def problem(self) -> Problem:
        """What a policy may know of the world."""
        problem: Problem = self.world.problem(HORIZON)
        return problem

    @property
    @abstractmethod
    def usages(self) -> dict[str, Usage]:
        """The ways to use an agent, by a few words each."""

    # ---- where a contract needs more than the small world: None where the family is not tried with it ----

    def late_world(self) -> World | None:
        """A world that most policies learn quickly in, to try late rewards in."""
        return None

    def stationary_world(self, n_arms: int) -> World | None:
        """A world of so many arms, which never changes."""
        return None

    def crowd(self, n_arms: int) -> ProblemValue | None:
        """A problem of many arms, half of which are chosen at a time, without knowing which are better."""
        return None

    # ---- what kernels read and write ----

    def observe(self, tape: Any, nature: object, t: int) -> tuple[Any, bool]:
        """What round `t` of a whole tape shows, and whether the world is open."""
        context, is_open = verbs.observe(tape, nature, t)
        return context, bool(is_open)

    def context(self, rng: Rng) -> Any:
        """Something that `select` could read."""
        return ()

    def context_of(self, rows: Floats) -> Any:
        """What `select` reads where these rows of features are offered."""
        return rows

    def row(self, rng: Rng) -> Any:
        """What could describe the action of a decision."""
        return self.context(rng)

    def action(self, rng: Rng) -> Any:
        """Something that a policy could choose."""
        return int(rng.integers(self.problem.n_arms))

    def kernel_outcome(self, rng: Rng) -> Any:
        """What `update` could read."""
        return Outcome(float(rng.integers(2)))

    def rewards_of(self, outcome: Any) -> Floats:
        """Every reward of what `update` reads."""
        return np.array([outcome.reward])

    def exists(self, action: object) -> bool:
        """Whether this could be chosen: plain numbers, an arm or a tuple of them."""
        choices, n_arms = action if isinstance(action, tuple) else (action,), self.problem.n_arms
        right = all(isinstance(each, int) and self.lowest_action <= each < n_arms for each in choices)
        return right and len(set(choices)) == max(1, self.problem.slate)

    def every_action(self) -> Iterator[Any]:
        """Actions such that every part of the problem is in one of them."""
        yield from range(self.lowest_action, self.problem.n_arms)

    def problem_with(self, old_indices: Sequence[int]) -> Problem:
        """The problem of other arms, or features: `old_indices[new]` is that of `new` before, or -1."""
        return self.problem._replace(n_arms=len(old_indices))

    def available(self, tape: Any, t: int) -> Floats:
        """Where there are costs: what may have been spent of each resource by round `t`."""
        raise NotImplementedError

    def transitions(self, tape: Any) -> TransitionTables:
        """Where arms have states: how they move in a tape, and what the problem says of that."""
        raise NotImplementedError

    # ---- what agents read ----

    def outcome(self, rng: Rng, arms: Sequence[Any]) -> Arguments:
        """Random arguments of `learn`, with the arms there are now."""
        return self.outcome_of([float(rng.random())])

    def outcome_of(self, rewards: Sequence[float]) -> Arguments:
        """Arguments of `learn` where what was chosen earned these rewards, between 0 and 1."""
        return {"reward": rewards[0]}

    def bad_outcomes(self, rng: Rng) -> list[Arguments]:
        """Arguments that `learn` must refuse."""
        good = self.outcome(rng, ())
        wrong = [good | {"reward": each} for each in (*BAD_NUMBERS, [0.0])]
        return [*wrong, good | {"unknown": 1.0}, good | {"states": [0] * N_ARMS}]

    def external_action(self, problem: Problem, arms: Sequence[Any]) -> Any:
        """An action that could have been chosen outside."""
        return arms[-1] if arms else 0

    @property
    def bad_external_actions(self) -> tuple[Any, ...]:
        """Actions that nobody can have chosen."""
        return "nobody", -1, 99, ["nobody"]

    @property
    def changes(self) -> list[Arguments]:
        """Arguments of `change`, each for an agent at the start of its horizon."""
        return [{"horizon": HORIZON + ROUNDS}, {"horizon": HORIZON - ROUNDS}]

    def bad_changes(self, agent: Any) -> list[Arguments]:
        """Arguments that `change` must refuse: those of other families, and bad values of its own."""
        changes: list[Arguments] = [{"horizon": each} for each in (0, -1, 0.5, "much")]
        changes += [{"n_active": each} for each in (0, -1, 99, 1.5, "much")]
        changes += [{"budgets": {"euros": each}} for each in (-1.0, 0.0, np.nan, np.inf, "much", None)]
        return [*changes, {"budgets": {"gold": 1.0}}, {"budgets": 5}, {"unknown": 1.0}]

    def further_calls(self, agent: Any) -> Iterable[tuple[str, str, Arguments]]:
        """Calls that only agents of this family take: what they do, the method, and arguments for the agent as is."""
        return ()

    # ---- units of measurement ----

    def reward_scales(self, factor: float) -> list[Arguments]:
        """What a problem may say of rewards from 0 to 1, times a factor; the first is enough for every policy."""
        span: Arguments = {"reward_range": (0.0, factor)}
        return [span, {"reward_range": None, "noise": 0.3 * factor}, {"reward_range": None}]

    def cost_scale(self, factor: float) -> Arguments:
        """Where there are costs: what a problem says of them, times a factor."""
        raise NotImplementedError


def random_rows(rng: Rng, count: int) -> Floats:
    """Random directions: no two alike, none zero."""
    rows = rng.standard_normal((count, DIM))
    directions: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return directions
