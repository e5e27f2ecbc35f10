"""The policies of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.multi_armed.policies.cusum_ucb import CusumUCB as CusumUCB
from driftwise.families.multi_armed.policies.discounted_thompson import DiscountedThompson as DiscountedThompson
from driftwise.families.multi_armed.policies.discounted_ucb import DiscountedUCB as DiscountedUCB
from driftwise.families.multi_armed.policies.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from driftwise.families.multi_armed.policies.exp3 import EXP3 as EXP3
from driftwise.families.multi_armed.policies.exp3_ix import EXP3IX as EXP3IX
from driftwise.families.multi_armed.policies.exp3s import EXP3S as EXP3S
from driftwise.families.multi_armed.policies.filter_bank_ucb import FilterBankUCB as FilterBankUCB
from driftwise.families.multi_armed.policies.gaussian_thompson import GaussianThompson as GaussianThompson
from driftwise.families.multi_armed.policies.glr_kl_ucb import GLRKLUCB as GLRKLUCB
from driftwise.families.multi_armed.policies.kl_ucb import KLUCB as KLUCB
from driftwise.families.multi_armed.policies.m_ucb import MUCB as MUCB
from driftwise.families.multi_armed.policies.page_hinkley_ucb import PageHinkleyUCB as PageHinkleyUCB
from driftwise.families.multi_armed.policies.practical_ad_switch import PracticalAdSwitch as PracticalAdSwitch
from driftwise.families.multi_armed.policies.rexp3 import REXP3 as REXP3
from driftwise.families.multi_armed.policies.ser4 import SER4 as SER4
from driftwise.families.multi_armed.policies.sliding_armed_ucb import SlidingArmedUCB as SlidingArmedUCB
from driftwise.families.multi_armed.policies.sliding_gaussian_thompson import (
    SlidingGaussianThompson as SlidingGaussianThompson,
)
from driftwise.families.multi_armed.policies.sliding_kl_ucb import SlidingKLUCB as SlidingKLUCB
from driftwise.families.multi_armed.policies.sliding_thompson import SlidingThompson as SlidingThompson
from driftwise.families.multi_armed.policies.sliding_ucb import SlidingUCB as SlidingUCB
from driftwise.families.multi_armed.policies.thompson import Thompson as Thompson
from driftwise.families.multi_armed.policies.ucb1 import UCB1 as UCB1
from driftwise.families.multi_armed.policies.uniform import Uniform as Uniform
