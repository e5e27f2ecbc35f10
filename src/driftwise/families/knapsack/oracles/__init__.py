"""The policies that know the world before it happens: for comparison, never for use; the file's name is its name."""

from driftwise.families.knapsack.oracles.best_plan import BestPlanOracle as BestPlanOracle
from driftwise.families.knapsack.oracles.even_spending import EvenSpending as EvenSpending
