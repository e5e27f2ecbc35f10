"""Bandits with knapsacks: every choice costs something of each budget; to choose nothing is always possible."""

from driftwise.core.family import Family, Late, add_family
from driftwise.core.spec import catalogue
from driftwise.core.types import Problem
from driftwise.families.knapsack import oracles, policies, worlds
from driftwise.families.knapsack.adapter import KnapsackAdapter
from driftwise.families.knapsack.comparator import BestPlan
from driftwise.families.knapsack.fixtures import KnapsackFixtures
from driftwise.families.knapsack.oracles import *  # noqa: F403
from driftwise.families.knapsack.policies import *  # noqa: F403
from driftwise.families.knapsack.policies.prequential_pacing import PrequentialPacing
from driftwise.families.knapsack.problem import Budgets
from driftwise.families.knapsack.problem import Knapsack as Knapsack
from driftwise.families.knapsack.service import KnapsackService
from driftwise.families.knapsack.words import words_of
from driftwise.families.knapsack.worlds import *  # noqa: F403
from driftwise.measure.variation import norms


def resources(problem: Problem) -> int:
    """How many resources there are: rates for each are kept of a decision, and costs of its outcome."""
    return len(problem.structure.amounts)


KNAPSACK = add_family(
    Family(
        name="knapsack",
        chooses="one arm or none, each spending from budgets",
        problem=Knapsack,
        adapter=KnapsackAdapter,
        comparator=BestPlan,
        structure=Budgets,
        words=words_of,
        service=KnapsackService(),
        drift=norms,
        late=Late(resources, resources),
        fixtures=KnapsackFixtures,
        auto=PrequentialPacing,
        policies=catalogue(policies),
        worlds=catalogue(worlds),
        oracles=catalogue(oracles),
        guests=("multi-armed",),
    )
)
