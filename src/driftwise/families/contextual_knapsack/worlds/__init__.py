"""The worlds of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.contextual_knapsack.worlds.customer_kinds import CustomerKinds as CustomerKinds
from driftwise.families.contextual_knapsack.worlds.switching_customers import SwitchingCustomers as SwitchingCustomers
