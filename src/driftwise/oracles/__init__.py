"""Policies that know the world before it happens: for comparison, never for use. Each is a file, and a line here.

An oracle has `foresee(problem, world, horizon, seed)` where a policy has `init(problem)`: studies show it the world
that the others are about to meet.
"""

from driftwise.core.spec import catalogue
from driftwise.oracles.best_plan import BestPlanOracle as BestPlanOracle
from driftwise.oracles.even_spending import EvenSpending as EvenSpending
from driftwise.oracles.whittle_oracle import WhittleOracle as WhittleOracle

ORACLES = catalogue(__name__, globals())
