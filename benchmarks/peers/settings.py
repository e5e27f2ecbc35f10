"""What both sides of a comparison are told: the same value, wherever both have the parameter.

Only plain numbers: this is read inside every peer's environment, and by us.
"""

#: Discounted policies: what is left of a weight after one round.
DISCOUNT = 0.999

#: Exploration: epsilon-greedy, EXP3 and EXP3.S, and the policies that detect changes.
EPSILON = 0.1
EXP3_GAMMA = 0.05
DETECTING_SHARE = 0.05

#: CUSUM and Page-Hinkley: slack, and rewards before the test; the height of the alarm is ln(horizon / changes).
CUSUM_SLACK, PAGE_HINKLEY_SLACK = 0.15, 0.1
WARM_UP = 40

#: M-UCB: rewards of an arm that are compared, and how far apart the sums of their halves may be.
MONITORED = 200
MONITORED_GAP = 35.0

#: GLR: the chance of a false alarm, and SMPyBandits' default shortcut: every tenth reward, every tenth cut.
GLR_DELTA = 0.005
GLR_LAZY = 10

#: LinUCB: features of a context, the ridge, the factor on the bonus (in theirs, and at its default), noise of rewards.
FEATURES = 5
RIDGE = 1.0
BONUS = 1.0
LINEAR_NOISE = 0.1
