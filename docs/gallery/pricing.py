# %% [markdown]
# # Prices under drift
#
# A shop sells one thing at one of five prices. What people are willing to pay falls for a while, then jumps to a
# little more than it was in the beginning. Four policies set the price: which one earns most is different before the
# jump and after it.

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
    {name: [revenue[:4000].mean(), revenue[4000:].mean(), revenue.mean()] for name, (_, revenue) in shops.items()},
    index=["while it falls", "after the jump", "in all"],
).round(2)

# %% [markdown]
# While willingness falls, `auto` earns most, and the policy that remembers everything earns least: it goes on trying
# 18, which was right in the beginning.
#
# After the jump the order is turned round. Nothing tells a shop that sells at 12 that people would now pay 18, and
# `auto` does not try 18 again: in all it earns least. The policy that remembers everything wins, because this jump
# leads back to where it began; had it led to a price that was never good, old memories would have been of no use.
# `last 500` forgets every price that it has not tried for 500 customers, tries it again, and soon finds out: it earns
# most in all, and pays for that while nothing jumps. Where an arm that nobody plays may become the best, ask `auto` for
# more visits to idle arms: `alertness=4` finds the jump after a thousand customers.
#
# These are single runs, which show what can happen and not how often; the notebook on a budget has a study.
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
