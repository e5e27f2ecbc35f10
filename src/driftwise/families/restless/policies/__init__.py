"""The policies of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.restless.policies.adaptive_whittle import AdaptiveWhittle as AdaptiveWhittle
from driftwise.families.restless.policies.myopic import Myopic as Myopic
from driftwise.families.restless.policies.random_arms import RandomArms as RandomArms
from driftwise.families.restless.policies.round_robin import RoundRobin as RoundRobin
from driftwise.families.restless.policies.sliding_whittle import SlidingWhittle as SlidingWhittle
from driftwise.families.restless.policies.uc_whittle import UCWhittle as UCWhittle
from driftwise.families.restless.policies.whittle_thompson import WhittleThompson as WhittleThompson
from driftwise.families.restless.policies.wiql import WIQL as WIQL
