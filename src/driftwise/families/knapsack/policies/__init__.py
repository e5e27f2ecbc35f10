"""The policies of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.knapsack.policies.greedy_ratio import GreedyRatio as GreedyRatio
from driftwise.families.knapsack.policies.lagrange_bwk import LagrangeBwK as LagrangeBwK
from driftwise.families.knapsack.policies.prequential_pacing import PrequentialPacing as PrequentialPacing
from driftwise.families.knapsack.policies.primal_dual_bwk import PrimalDualBwK as PrimalDualBwK
from driftwise.families.knapsack.policies.sliding_knapsack_ucb import SlidingKnapsackUCB as SlidingKnapsackUCB
from driftwise.families.knapsack.policies.ucb_bwk import UCBBwK as UCBBwK
