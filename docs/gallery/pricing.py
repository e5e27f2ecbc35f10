# %% [markdown]
# # Prices under drift
#
# A shop sells one thing at one of five prices. What people are willing to pay falls for a while, then jumps up. A
# policy that remembers everything stays with a price that was right once; one that forgets follows.

# %%
import numpy as np
import pandas as pd

import driftwise as dw
from driftwise.display.svg import PlotLine, line_plot

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
    "auto, alert": run_shop(dw.Auto(alertness=4)),
    "last 500": run_shop(dw.SlidingThompson(window=500)),
    "remembers all": run_shop(dw.Thompson()),
}
pd.DataFrame(
    {name: [revenue[:4000].mean(), revenue[4000:].mean()] for name, (_, revenue) in shops.items()},
    index=["while it falls", "after the jump"],
).round(2)

# %% [markdown]
# While willingness falls, `auto` earns most. The jump is another matter: nothing tells a shop that sells at 12
# that people would now pay 18. Where an arm that nobody plays may become the best, unseen, ask for more visits to
# idle arms: `alertness=4`.
#
# What that agent believes of each price now; prices that were not tried for long are uncertain:

# %%
shops["auto, alert"][0]

# %% [markdown]
# Revenue per customer over time, averaged over 300 customers.

# %%
window = np.ones(300) / 300
lines = [
    PlotLine(name, range(300, CUSTOMERS + 1, 50), np.convolve(revenue, window, "valid")[::50].tolist())
    for name, (_, revenue) in shops.items()
]
line_plot(lines, title="revenue per customer", x_title="customer", marks=[4000])
