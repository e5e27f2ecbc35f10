"""The policies of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.contextual_knapsack.policies.arm_pacing import ArmPacing as ArmPacing
from driftwise.families.contextual_knapsack.policies.lin_pacing import LinPacing as LinPacing
from driftwise.families.contextual_knapsack.policies.unpaced_lin_ucb import UnpacedLinUCB as UnpacedLinUCB
