# %% [markdown]
# # Prices under drift
#
# A shop sells one thing at one of five prices. What people are willing to pay falls for a while, then jumps up. A policy that
# remembers everything stays with a price that was right once; one that forgets follows.

# %%
import numpy as np

import driftwise as dw
from driftwise.display.svg import Line, line_plot

PRICES = [9.0, 12.0, 15.0, 18.0, 21.0]
CUSTOMERS = 6000


def willingness(t: int) -> float:
    """What the average customer would pay: it falls, and jumps after two thirds."""
    return 22.0 - 10.0 * t / 4000 if t < 4000 else 24.0


def buys(t: int, price: float, luck: np.random.Generator) -> bool:
    """A customer buys when the price is below what they would pay."""
    return luck.normal(willingness(t), 3.0) > price


# %% [markdown]
# An agent is a policy at work. Prices are its arms, and a reward is what was paid. `Auto` has nothing to set.


# %%
def run_shop(policy: object) -> tuple[dw.Agent, np.ndarray]:
    """Six thousand customers, one after the other; the revenue of each."""
    problem = dw.MultiArmed(PRICES, reward_range=(0, max(PRICES)))
    agent, luck = dw.Agent(policy, problem, seed=1), np.random.default_rng(0)
    revenue = np.zeros(CUSTOMERS)
    for t in range(CUSTOMERS):
        decision = agent.decide()
        revenue[t] = decision.action * buys(t, decision.action, luck)
        agent.learn(decision, reward=revenue[t])
    return agent, revenue


shops = {
    "auto": run_shop(dw.Auto()),
    "remembers all": run_shop(dw.Thompson()),
    "last 500": run_shop(dw.SlidingThompson(window=500)),
}
{name: int(revenue.sum()) for name, (_, revenue) in shops.items()}

# %% [markdown]
# What the agent believes of each price now. The interval is that of the policy: prices that were not tried for long are uncertain.

# %%
shops["auto"][0]

# %% [markdown]
# Revenue per customer over time, averaged over 300 customers.

# %%
window = np.ones(300) / 300
lines = [
    Line(name, range(300, CUSTOMERS + 1, 50), np.convolve(revenue, window, "valid")[::50].tolist())
    for name, (_, revenue) in shops.items()
]
line_plot(lines, title="revenue per customer", x_title="customer", marks=[4000])
