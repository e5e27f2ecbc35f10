"""Every world by name. A new one is a file in this folder and a line here; the file's name is the world's."""

from driftwise.core.spec import catalogue
from driftwise.worlds.abrupt import Abrupt as Abrupt
from driftwise.worlds.ac_mab import ACMAB as ACMAB
from driftwise.worlds.ad_pacing import AdPacing as AdPacing
from driftwise.worlds.age_of_information import AgeOfInformation as AgeOfInformation
from driftwise.worlds.asc_mab import ASCMAB as ASCMAB
from driftwise.worlds.budget_rotating import BudgetRotating as BudgetRotating
from driftwise.worlds.budget_sinusoidal import BudgetSinusoidal as BudgetSinusoidal
from driftwise.worlds.budget_stationary import BudgetStationary as BudgetStationary
from driftwise.worlds.budget_switching import BudgetSwitching as BudgetSwitching
from driftwise.worlds.climbing import Climbing as Climbing
from driftwise.worlds.convex_gap import ConvexGap as ConvexGap
from driftwise.worlds.convex_hard import ConvexHard as ConvexHard
from driftwise.worlds.convex_linear import ConvexLinear as ConvexLinear
from driftwise.worlds.convex_quadratic import ConvexQuadratic as ConvexQuadratic
from driftwise.worlds.drifting_surface import DriftingSurface as DriftingSurface
from driftwise.worlds.flights import Flights as Flights
from driftwise.worlds.health_adherence import HealthAdherence as HealthAdherence
from driftwise.worlds.knapsack_example import KnapsackExample as KnapsackExample
from driftwise.worlds.machine_maintenance import MachineMaintenance as MachineMaintenance
from driftwise.worlds.network_pricing import NetworkPricing as NetworkPricing
from driftwise.worlds.piecewise_linear import PiecewiseLinear as PiecewiseLinear
from driftwise.worlds.random_walk import RandomWalk as RandomWalk
from driftwise.worlds.restless_table import RestlessTable as RestlessTable
from driftwise.worlds.rotating import Rotating as Rotating
from driftwise.worlds.sc_mab import SCMAB as SCMAB
from driftwise.worlds.sine_pair import SinePair as SinePair
from driftwise.worlds.sinusoidal import Sinusoidal as Sinusoidal
from driftwise.worlds.slates import Slates as Slates
from driftwise.worlds.stationary import Stationary as Stationary

WORLDS = catalogue(__name__, globals())
