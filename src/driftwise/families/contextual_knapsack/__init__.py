"""Contextual bandits with knapsacks: actions have rows of features, and every choice costs something of each budget."""

from driftwise.core.family import Family, Late, add_family
from driftwise.core.spec import catalogue
from driftwise.core.types import Problem
from driftwise.families.contextual_knapsack import policies, worlds
from driftwise.families.contextual_knapsack.adapter import ContextualKnapsackAdapter
from driftwise.families.contextual_knapsack.fixtures import ContextualKnapsackFixtures
from driftwise.families.contextual_knapsack.policies import *  # noqa: F403
from driftwise.families.contextual_knapsack.policies.lin_pacing import LinPacing
from driftwise.families.contextual_knapsack.problem import ContextualKnapsack as ContextualKnapsack
from driftwise.families.contextual_knapsack.service import ContextualKnapsackService
from driftwise.families.contextual_knapsack.words import words_of
from driftwise.families.contextual_knapsack.worlds import *  # noqa: F403
from driftwise.families.knapsack.comparator import BestPlan
from driftwise.families.knapsack.problem import Budgets
from driftwise.measure.variation import norms


def resources(problem: Problem) -> int:
    """How many resources there are."""
    return len(problem.structure.amounts)


CONTEXTUAL_KNAPSACK = add_family(
    Family(
        name="contextual-knapsack",
        chooses="one row of a matrix of features or none, each spending from budgets",
        problem=ContextualKnapsack,
        adapter=ContextualKnapsackAdapter,
        comparator=BestPlan,
        structure=Budgets,
        words=words_of,
        service=ContextualKnapsackService(),
        fixtures=ContextualKnapsackFixtures,
        drift=norms,
        late=Late(lambda problem: problem.dim + resources(problem), resources),
        auto=LinPacing,
        policies=catalogue(policies),
        worlds=catalogue(worlds),
        guests=("multi-armed",),
    )
)
