"""The worlds of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.knapsack.worlds.ad_pacing import AdPacing as AdPacing
from driftwise.families.knapsack.worlds.budget_rotating import BudgetRotating as BudgetRotating
from driftwise.families.knapsack.worlds.budget_sinusoidal import BudgetSinusoidal as BudgetSinusoidal
from driftwise.families.knapsack.worlds.budget_stationary import BudgetStationary as BudgetStationary
from driftwise.families.knapsack.worlds.budget_switching import BudgetSwitching as BudgetSwitching
from driftwise.families.knapsack.worlds.knapsack_example import KnapsackExample as KnapsackExample
from driftwise.families.knapsack.worlds.network_pricing import NetworkPricing as NetworkPricing
