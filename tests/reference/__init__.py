"""The slow, obvious twins: each policy straight from its paper's formula, recomputed from the whole log every time.

A twin takes the policy's parameters and the problem, is told rewards with `learn`, and answers for decision `t`:

    index policies   indices(t), choose(t)
    Thompson         posteriors(t), win_probabilities(t)     the chance of each arm by quadrature, not by simulation
    uniform          win_probabilities(t)

Where choices are described by features the twins are in FEATURE_TWINS, are told pairs, and answer for the rows shown:

    index policies   indices(t, context), choose(t, context)
    Thompson         posterior(t), win_probabilities(t, context)

Those that choose slates are in SLATE_TWINS, are told what each item paid, and answer with indices(t) and choose(t).

Those with budgets are in BUDGET_TWINS, are told bills and what is under way (`pend`, `settle`), and answer for what may
be spent a round:

    by a program     bounds(t), program(t, rates)            the program is solved by HiGHS
    by a ratio       ratios(t, rates), worths(t, rates)      what a unit of each resource is worth
    by chance        chances(t), worths(t, rates)
    by prices        bounds(t), gains(t, rates), worths(t, rates)

Those that activate arms that move on their own are in RESTLESS_TWINS, are told where all arms went, and answer for the
states shown: indices(t, states), choose(t, states), chances(...) of every set where they draw.
"""

from tests.reference.adaptive_whittle import AdaptiveWhittleTwin
from tests.reference.bandit_over_bandit import BanditOverBanditTwin
from tests.reference.budget_log import BudgetTwin
from tests.reference.cusum_ucb import CusumUCBTwin
from tests.reference.discounted_lin_thompson import DiscountedLinThompsonTwin
from tests.reference.discounted_lin_ucb import DiscountedLinUCBTwin
from tests.reference.discounted_thompson import DiscountedThompsonTwin
from tests.reference.discounted_ucb import DiscountedUCBTwin
from tests.reference.epsilon_greedy import EpsilonGreedyTwin
from tests.reference.exp3 import EXP3Twin
from tests.reference.exp3_ix import EXP3IXTwin
from tests.reference.exp3s import EXP3STwin
from tests.reference.feature_log import FeatureTwin
from tests.reference.gaussian_thompson import GaussianThompsonTwin
from tests.reference.glr_kl_ucb import GLRKLUCBTwin
from tests.reference.greedy_ratio import GreedyRatioTwin
from tests.reference.kalman_mixture import KalmanMixtureTwin
from tests.reference.kl_ucb import KLUCBTwin
from tests.reference.lagrange_bwk import LagrangeBwKTwin
from tests.reference.lin_thompson import LinThompsonTwin
from tests.reference.lin_ucb import LinUCBTwin
from tests.reference.log import Twin
from tests.reference.m_ucb import MUCBTwin
from tests.reference.myopic import MyopicTwin
from tests.reference.page_hinkley_ucb import PageHinkleyUCBTwin
from tests.reference.practical_ad_switch import PracticalAdSwitchTwin
from tests.reference.prequential_pacing import PrequentialPacingTwin
from tests.reference.primal_dual_bwk import PrimalDualBwKTwin
from tests.reference.random_arms import RandomArmsTwin
from tests.reference.restless_log import RestlessTwin
from tests.reference.rexp3 import REXP3Twin
from tests.reference.round_robin import RoundRobinTwin
from tests.reference.ser4 import SER4Twin
from tests.reference.sliding_armed_ucb import SlidingArmedUCBTwin
from tests.reference.sliding_gaussian_thompson import SlidingGaussianThompsonTwin
from tests.reference.sliding_glm_ucb import SlidingGLMUCBTwin
from tests.reference.sliding_gp_ucb import SlidingGPUCBTwin
from tests.reference.sliding_kl_ucb import SlidingKLUCBTwin
from tests.reference.sliding_knapsack_ucb import SlidingKnapsackUCBTwin
from tests.reference.sliding_lin_thompson import SlidingLinThompsonTwin
from tests.reference.sliding_lin_ucb import SlidingLinUCBTwin
from tests.reference.sliding_slate_ucb import SlidingSlateUCBTwin
from tests.reference.sliding_thompson import SlidingThompsonTwin
from tests.reference.sliding_ucb import SlidingUCBTwin
from tests.reference.sliding_whittle import SlidingWhittleTwin
from tests.reference.thompson import ThompsonTwin
from tests.reference.uc_whittle import UCWhittleTwin
from tests.reference.ucb1 import UCB1Twin
from tests.reference.ucb_bwk import UCBBwKTwin
from tests.reference.uniform import UniformTwin
from tests.reference.virtual_queue import VirtualQueueTwin
from tests.reference.whittle_thompson import WhittleThompsonTwin
from tests.reference.wiql import WIQLTwin

TWINS: dict[str, type[Twin]] = {
    "uniform": UniformTwin,
    "ucb1": UCB1Twin,
    "thompson": ThompsonTwin,
    "gaussian-thompson": GaussianThompsonTwin,
    "sliding-ucb": SlidingUCBTwin,
    "sliding-thompson": SlidingThompsonTwin,
    "sliding-gaussian-thompson": SlidingGaussianThompsonTwin,
    "exp3": EXP3Twin,
    "exp3s": EXP3STwin,
    "exp3-ix": EXP3IXTwin,
    "rexp3": REXP3Twin,
    "ser4": SER4Twin,
    "kl-ucb": KLUCBTwin,
    "sliding-kl-ucb": SlidingKLUCBTwin,
    "discounted-ucb": DiscountedUCBTwin,
    "discounted-thompson": DiscountedThompsonTwin,
    "epsilon-greedy": EpsilonGreedyTwin,
    "cusum-ucb": CusumUCBTwin,
    "page-hinkley-ucb": PageHinkleyUCBTwin,
    "m-ucb": MUCBTwin,
    "glr-kl-ucb": GLRKLUCBTwin,
    "practical-ad-switch": PracticalAdSwitchTwin,
    "sliding-armed-ucb": SlidingArmedUCBTwin,
    "bandit-over-bandit": BanditOverBanditTwin,
}

FEATURE_TWINS: dict[str, type[FeatureTwin]] = {
    "lin-ucb": LinUCBTwin,
    "lin-thompson": LinThompsonTwin,
    "sliding-lin-ucb": SlidingLinUCBTwin,
    "sliding-lin-thompson": SlidingLinThompsonTwin,
    "discounted-lin-ucb": DiscountedLinUCBTwin,
    "discounted-lin-thompson": DiscountedLinThompsonTwin,
    "kalman-mixture": KalmanMixtureTwin,
    "sliding-gp-ucb": SlidingGPUCBTwin,
    "sliding-glm-ucb": SlidingGLMUCBTwin,
}

POINT_TWINS = {
    "virtual-queue": VirtualQueueTwin,
}

SLATE_TWINS = {
    "sliding-slate-ucb": SlidingSlateUCBTwin,
}

BUDGET_TWINS: dict[str, type[BudgetTwin]] = {
    "sliding-knapsack-ucb": SlidingKnapsackUCBTwin,
    "ucb-bwk": UCBBwKTwin,
    "primal-dual-bwk": PrimalDualBwKTwin,
    "lagrange-bwk": LagrangeBwKTwin,
    "greedy-ratio": GreedyRatioTwin,
    "prequential-pacing": PrequentialPacingTwin,
}

RESTLESS_TWINS: dict[str, type[RestlessTwin]] = {
    "random-arms": RandomArmsTwin,
    "round-robin": RoundRobinTwin,
    "wiql": WIQLTwin,
    "myopic": MyopicTwin,
    "sliding-whittle": SlidingWhittleTwin,
    "uc-whittle": UCWhittleTwin,
    "whittle-thompson": WhittleThompsonTwin,
    "adaptive-whittle": AdaptiveWhittleTwin,
}
