"""Every policy by name. A new one is a file in this folder and a line here; the file's name is the policy's."""

from driftwise.core.spec import catalogue
from driftwise.policies.exp3 import EXP3 as EXP3
from driftwise.policies.exp3_ix import EXP3IX as EXP3IX
from driftwise.policies.exp3s import EXP3S as EXP3S
from driftwise.policies.gaussian_thompson import GaussianThompson as GaussianThompson
from driftwise.policies.rexp3 import REXP3 as REXP3
from driftwise.policies.ser4 import SER4 as SER4
from driftwise.policies.sliding_gaussian_thompson import SlidingGaussianThompson as SlidingGaussianThompson
from driftwise.policies.sliding_thompson import SlidingThompson as SlidingThompson
from driftwise.policies.sliding_ucb import SlidingUCB as SlidingUCB
from driftwise.policies.thompson import Thompson as Thompson
from driftwise.policies.ucb1 import UCB1 as UCB1
from driftwise.policies.uniform import Uniform as Uniform

POLICIES = catalogue(__name__, globals())
