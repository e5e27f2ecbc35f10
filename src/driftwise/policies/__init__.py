"""Every policy by name. A new one is a file in this folder and a line here; the file's name is the policy's."""

from driftwise.core.spec import catalogue
from driftwise.policies.adaptive_whittle import AdaptiveWhittle as AdaptiveWhittle
from driftwise.policies.bandit_over_bandit import BanditOverBandit as BanditOverBandit
from driftwise.policies.cusum_ucb import CusumUCB as CusumUCB
from driftwise.policies.discounted_lin_thompson import DiscountedLinThompson as DiscountedLinThompson
from driftwise.policies.discounted_lin_ucb import DiscountedLinUCB as DiscountedLinUCB
from driftwise.policies.discounted_thompson import DiscountedThompson as DiscountedThompson
from driftwise.policies.discounted_ucb import DiscountedUCB as DiscountedUCB
from driftwise.policies.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from driftwise.policies.exp3 import EXP3 as EXP3
from driftwise.policies.exp3_ix import EXP3IX as EXP3IX
from driftwise.policies.exp3s import EXP3S as EXP3S
from driftwise.policies.gaussian_thompson import GaussianThompson as GaussianThompson
from driftwise.policies.glr_kl_ucb import GLRKLUCB as GLRKLUCB
from driftwise.policies.greedy_ratio import GreedyRatio as GreedyRatio
from driftwise.policies.kalman_mixture import KalmanMixture as KalmanMixture
from driftwise.policies.kl_ucb import KLUCB as KLUCB
from driftwise.policies.lagrange_bwk import LagrangeBwK as LagrangeBwK
from driftwise.policies.lin_thompson import LinThompson as LinThompson
from driftwise.policies.lin_ucb import LinUCB as LinUCB
from driftwise.policies.m_ucb import MUCB as MUCB
from driftwise.policies.myopic import Myopic as Myopic
from driftwise.policies.page_hinkley_ucb import PageHinkleyUCB as PageHinkleyUCB
from driftwise.policies.practical_ad_switch import PracticalAdSwitch as PracticalAdSwitch
from driftwise.policies.prequential_pacing import PrequentialPacing as PrequentialPacing
from driftwise.policies.primal_dual_bwk import PrimalDualBwK as PrimalDualBwK
from driftwise.policies.random_arms import RandomArms as RandomArms
from driftwise.policies.rexp3 import REXP3 as REXP3
from driftwise.policies.round_robin import RoundRobin as RoundRobin
from driftwise.policies.ser4 import SER4 as SER4
from driftwise.policies.sliding_armed_ucb import SlidingArmedUCB as SlidingArmedUCB
from driftwise.policies.sliding_gaussian_thompson import SlidingGaussianThompson as SlidingGaussianThompson
from driftwise.policies.sliding_glm_ucb import SlidingGLMUCB as SlidingGLMUCB
from driftwise.policies.sliding_gp_ucb import SlidingGPUCB as SlidingGPUCB
from driftwise.policies.sliding_kl_ucb import SlidingKLUCB as SlidingKLUCB
from driftwise.policies.sliding_knapsack_ucb import SlidingKnapsackUCB as SlidingKnapsackUCB
from driftwise.policies.sliding_lin_thompson import SlidingLinThompson as SlidingLinThompson
from driftwise.policies.sliding_lin_ucb import SlidingLinUCB as SlidingLinUCB
from driftwise.policies.sliding_slate_ucb import SlidingSlateUCB as SlidingSlateUCB
from driftwise.policies.sliding_thompson import SlidingThompson as SlidingThompson
from driftwise.policies.sliding_ucb import SlidingUCB as SlidingUCB
from driftwise.policies.sliding_whittle import SlidingWhittle as SlidingWhittle
from driftwise.policies.thompson import Thompson as Thompson
from driftwise.policies.uc_whittle import UCWhittle as UCWhittle
from driftwise.policies.ucb1 import UCB1 as UCB1
from driftwise.policies.ucb_bwk import UCBBwK as UCBBwK
from driftwise.policies.uniform import Uniform as Uniform
from driftwise.policies.virtual_queue import VirtualQueue as VirtualQueue
from driftwise.policies.whittle_thompson import WhittleThompson as WhittleThompson
from driftwise.policies.wiql import WIQL as WIQL

POLICIES = catalogue(__name__, globals())
