"""What policies with features and budgets are tried with: what contextual ones are, with the budgets of knapsacks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftwise.core.fixtures import DIM, HORIZON, N_ARMS, Arguments, Rng, Usage, random_rows
from driftwise.core.protocols import Policy, World
from driftwise.core.serialization import arrays
from driftwise.core.types import ArmIds, Floats, PerArm, Problem, Scratch
from driftwise.families.contextual.fixtures import ContextualFixtures
from driftwise.families.contextual.problem import Contextual
from driftwise.families.contextual_knapsack.problem import ContextualKnapsack
from driftwise.families.contextual_knapsack.worlds import CustomerKinds
from driftwise.families.knapsack.fixtures import BUDGETS, N_RESOURCES, KnapsackFixtures
from driftwise.families.knapsack.worlds.base import BudgetWorld


@dataclass(frozen=True, kw_only=True)
class PlainPrices(CustomerKinds):
    """Customers of one kind; prices have no features in common."""

    kinds: int = 1
    prices: int = N_ARMS

    @property
    def features(self) -> Floats:
        """A unit vector for each price."""
        return np.eye(self.prices)


class ContextualKnapsackFixtures(KnapsackFixtures):
    """One row of a matrix or none, a reward and costs."""

    has_rows = True

    @classmethod
    def of(cls, policy: Policy | None = None) -> "ContextualKnapsackFixtures":
        """Policies that remember something of every arm need arms with names, and to them rows are arms."""
        world = cls.small_world(policy)
        return (cls if policy is None or not _remembers_arms(policy, world) else NamedArmsFixtures)(world)

    @classmethod
    def small_world(cls, policy: Policy | None) -> BudgetWorld:
        """Few prices, of which the best changes."""
        return PlainPrices()

    @property
    def usages(self) -> dict[str, Usage]:
        """The three sources of features; the costs of a retired arm still move prices."""
        return {how: _budgeted(usage) for how, usage in ContextualFixtures(self.world).usages.items()}

    def late_world(self) -> BudgetWorld:
        """Customers who differ."""
        return CustomerKinds()

    def stationary_world(self, n_arms: int) -> BudgetWorld | None:
        """Rows are not counted."""
        return None

    def observe(self, tape: Any, nature: object, t: int) -> tuple[Any, bool]:
        """A copy: the world writes every round into the same matrix."""
        context, is_open = super().observe(tape, nature, t)
        return context.copy(), is_open

    def context(self, rng: Rng) -> Floats:
        """A row for every action, and what may be spent of each resource a round."""
        return self.context_of(random_rows(rng, N_ARMS), rng.uniform(0.1, 0.5, N_RESOURCES))

    def context_of(self, rows: Floats, rates: Floats | None = None) -> Floats:
        """Rows with rates."""
        rates = np.full(N_RESOURCES, 0.3) if rates is None else rates
        return np.hstack([rows, np.broadcast_to(rates, (len(rows), N_RESOURCES))])

    def row(self, rng: Rng) -> Floats:
        """One row."""
        row: Floats = self.context(rng)[0]
        return row

    def problem_with(self, old_indices: Sequence[int]) -> Problem:
        """Features come and go here, not rows."""
        return self.problem._replace(dim=len(old_indices))

    def further_calls(self, agent: Any) -> Iterator[tuple[str, str, Arguments]]:
        """As with budgets alone, with a request where one is needed."""
        rows = agent.adapter.rows
        request: Arguments = {"actions": np.eye(DIM)} if rows.n_features else {}
        request |= {"context": np.full(rows.context, 0.5)} if rows.context else {}
        for what, method, arguments in super().further_calls(agent):
            yield what, method, arguments | (request if method == "decide" else {})


class NamedArmsFixtures(ContextualKnapsackFixtures):
    """One arm or none, by its name: its features are not looked at."""

    has_rows = False

    @property
    def usages(self) -> dict[str, Usage]:
        """Where arms have names. What is known of an arm goes with it."""
        return {how: replace(usage, forgets=True) for how, usage in super().usages.items() if usage.named}

    def problem_with(self, old_indices: Sequence[int]) -> Problem:
        """Arms come and go."""
        return self.problem._replace(n_arms=len(old_indices))


def _remembers_arms(policy: Policy, world: World) -> bool:
    state = policy.init(world.problem(HORIZON))
    return len(list(arrays(state))) > len(list(arrays(state, but=(Scratch, PerArm, ArmIds))))


def _budgeted(usage: Usage) -> Usage:
    """The same with budgets."""
    problem = usage.problem
    assert isinstance(problem, Contextual)
    budgeted = ContextualKnapsack(
        problem.arms, problem.n_features, problem.context_dim, budgets=BUDGETS, horizon=HORIZON
    )
    return replace(usage, problem=budgeted, forgets=False)
