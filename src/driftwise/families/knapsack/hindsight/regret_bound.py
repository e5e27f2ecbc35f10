"""The regret that theory allows a sliding window over bandits with budgets, with its constants.

Theorem 1 of Liu, Jiang & Li, *Non-stationary Bandits with Knapsacks*, by the terms of its proof:

    (1/b) (4 sqrt(T) L2 + (14 + 2 d) (m V2 T^2 L2)^(1/3) + 8 sqrt(2 m T L2) + 1)       running out of a resource early
        +  4 sqrt(T) L1 + 16 (m V1 T^2 L1)^(1/3) + 8 sqrt(2 m T L1)                    not knowing the rewards
        +  2 (W1 + q W2)                                                               not knowing the future
    L1 = ln(12 m T^3),   L2 = ln(12 m d T^3)

It holds with probability at least 1 - 1/T, and in expectation with one more, for windows tuned by V1 and V2 and the
printed radii. b is the smallest budget of a round. The paper's statement leaves out 8 sqrt(2 m T L1), which its proof
has. The factor 1/b of d V2 is needed: the proof perturbs programs whose prices only 1/b bounds. The printed proof also
needs the prices of LP(mean), through a step that is false (`sandwich.py`). The outer inequality does without: with tau
the round in which a resource runs out, LP(T) - sum_(t < tau) LP_t <= 2 (W1 + q W2) + (T - tau + 1) max LP_t. So q need
bound the prices of the rounds only.

The numbers are large: with ten arms and 0.25 to spend a round it takes five million rounds in which nothing drifts for
the bound to fall below T. They tell how regret grows, not how large it is.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from driftwise.core.validation import number, whole
from driftwise.errors import ParameterError
from driftwise.families.knapsack.hindsight.path_length import Unrest
from driftwise.families.knapsack.means import positive


def knapsack_bound(unrest: Unrest, rates: ArrayLike, *, horizon: int, n_arms: int, price: float) -> float:
    """The expected regret that Theorem 1 allows.

    Parameters
    ----------
    unrest : Unrest
        How the means drift; `Unrest(0.0, np.zeros(d), 0.0, 0.0)` if they do not.
    rates : ArrayLike
        The budgets of a round, B_j / T.
    horizon, n_arms : int
        T and m.
    price : float
        A bound on the prices of the rounds, q; 1 / b if nothing better is known.

    Examples
    --------
    >>> still = Unrest(0.0, np.zeros(1), 0.0, 0.0)
    >>> [round(knapsack_bound(still, [0.5], horizon=T, n_arms=5, price=2.0) / T, 2) for T in (10**4, 10**6, 10**8)]
    [8.08, 1.06, 0.13]
    """
    rounds, arms = whole("horizon", horizon), whole("n_arms", n_arms)
    price = number("price", price, above=0.0, closed="[")
    budgets = positive(np.atleast_1d(np.asarray(rates, np.float64)))
    if budgets.shape != np.shape(unrest.cost_steps):
        raise ParameterError(f"rates of shape {budgets.shape} do not fit {np.size(unrest.cost_steps)} resources")
    logs = math.log(12.0 * arms * rounds**3), math.log(12.0 * arms * len(budgets) * rounds**3)
    rewards = _unknown(rounds, arms, unrest.reward_steps, logs[0], 16.0)
    costs = _unknown(rounds, arms, float(np.max(unrest.cost_steps)), logs[1], 14.0 + 2.0 * len(budgets))
    return (
        (costs + 1.0) / float(budgets.min()) + rewards + 2.0 * (unrest.reward_spread + price * unrest.cost_spread) + 1.0
    )


def _unknown(rounds: int, arms: int, steps: float, log: float, factor: float) -> float:
    """What the means of a window of the right length may be wrong by, over the whole run."""
    drift = factor * math.cbrt(arms * steps * rounds**2 * log)
    return 4.0 * math.sqrt(rounds) * log + drift + 8.0 * math.sqrt(2.0 * arms * rounds * log)
