# %% [markdown]
# # A budget that must last
#
# There are 500 units and 3,000 people who ask for a price, one after the other. Sell too cheap, and the stock is
# gone half way; too dear, and it is left over. What people would pay falls for twenty days, then the season
# turns.

# %%
import numpy as np

import driftwise as dw
from driftwise.display.svg import PlotLine, line_plot

PRICES = [19, 29, 39, 49, 59]
DAYS, PER_DAY = 30, 100


def sold(day: int, price: float, luck: np.random.Generator) -> bool:
    """Whether one who asks buys; nobody knows this."""
    willing = 62 - 0.5 * day if day < 20 else 70
    return luck.random() < 0.56 * max(0.0, 1 - price / willing)


# %% [markdown]
# The problem says what the agent needs to know: prices, stock, and how many will ask.

# %%
stock = dw.Knapsack(PRICES, budgets={"units": 500}, horizon=DAYS * PER_DAY, reward_range=(0, max(PRICES)))


def month(policy: object) -> tuple[float, list[float]]:
    """What a month earns, and what is left of the stock after every day."""
    agent, luck, earned, left = dw.Agent(policy, stock, seed=0), np.random.default_rng(1), 0.0, []
    for day in range(DAYS):
        for _ in range(PER_DAY):
            quote = agent.decide()
            if quote.action is None:  # better sell nothing now
                continue
            sale = sold(day, quote.action, luck)
            agent.learn(quote, reward=quote.action * sale, costs={"units": float(sale)})
            earned += quote.action * sale
        left.append(agent.remaining["units"])
    return earned, left


months = {"prequential pacing": month(dw.PrequentialPacing()), "greedy ratio": month(dw.GreedyRatio())}
{name: f"{earned:,.0f}" for name, (earned, _) in months.items()}

# %% [markdown]
# What is left of the stock, day by day. Pacing spends at the rate that will last, and more when a unit earns
# more.

# %%
lines = [PlotLine(name, range(1, DAYS + 1), left) for name, (_, left) in months.items()]
line_plot(lines, title="units left", x_title="day", marks=[20])

# %% [markdown]
# The same question in a simulated world with many runs: `ad-pacing` has two budgets. Regret is against the best
# plan in hindsight.

# %%
study = dw.Study(
    name="pacing",
    worlds={"ads": dw.worlds.AdPacing()},
    policies={"prequential pacing": dw.PrequentialPacing(), "greedy ratio": dw.GreedyRatio()},
    horizon=2000,
    runs=8,
)
results = dw.run(study)
results.summary(study)
