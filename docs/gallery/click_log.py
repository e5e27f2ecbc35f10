# %% [markdown]
# # A click log, diagnosed and evaluated
#
# Three variants of a page were shown at random for a month, and clicks were logged. Does it drift? What would
# another policy have earned? Here the log is made up, so that we know the truth: the variant *video* gets better
# on the 16th.

# %%
import numpy as np
import pandas as pd

import driftwise as dw

luck = np.random.default_rng(3)
rows = 12_000
times = np.sort(luck.integers(0, 30 * 86400, rows))
variants = luck.integers(0, 3, rows)
late_video = (times >= 15 * 86400) & (variants == 2)
rates = 0.08 + 0.01 * variants + 0.06 * late_video
frame = pd.DataFrame(
    {
        "timestamp": pd.Timestamp("2026-09-01", tz="UTC") + pd.to_timedelta(times, unit="s"),
        "variant": np.array(["plain", "photo", "video"])[variants],
        "click": (luck.random(rows) < rates).astype(int),
        "propensity": 1 / 3,
    }
)
frame.head()

# %% [markdown]
# Columns are found by their names and contents. The log shows every arm and how its reward went from the first
# row to the last.

# %%
log = dw.Log.from_frame(frame)
log

# %% [markdown]
# ## Does it drift?
#
# A permutation test tells drift from noise, and the change is dated with an interval.

# %%
diagnosis = log.diagnose()
diagnosis

# %% [markdown]
# ## What would other policies have earned?
#
# Choices were made at random with known propensities, so that the log can be replayed. Intervals are at 95 %.

# %%
policies = {"remembers all": dw.Thompson(), "last 2000": dw.SlidingThompson(window=2000)}
evaluation = log.evaluate(policies)
evaluation

# %% [markdown]
# The same as a data frame, with the difference from what was earned (`gain_mean`).

# %%
evaluation.frame()[["policy", "mean", "low", "high", "gain_mean"]].round(4)

# %% [markdown]
# Start tomorrow with what the log teaches: `feed` lets an agent learn from it.

# %%
agent = dw.Agent(dw.SlidingThompson(window=2000), list(log.arms), seed=0)
log.feed(agent)
agent
