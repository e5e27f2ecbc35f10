# %% [markdown]
# # A policy of your own
#
# A policy is a NamedTuple of parameters and two kernels: `select` reads the state, `update` writes it. Both are
# compiled, in the simulation and in a live program alike. This one estimates by a running mean with a constant
# step, so that new rewards count most, and explores now and then.

# %%
from typing import Any, NamedTuple

import numpy as np

import driftwise as dw
import driftwise.extend as dx
from driftwise.checks import check_policy


class RunningState(NamedTuple):
    """A running value per arm: infinite until its first reward, so that every arm is tried."""

    values: dx.PerArm


class RunningGreedy(NamedTuple):
    """Mostly the arm with the largest running value; any arm with probability epsilon."""

    epsilon: float = 0.1
    step: float = 0.1

    def init(self, problem: dx.Problem) -> RunningState:
        """Check parameters, and allocate all that is needed."""
        n_arms = dx.whole("n_arms", problem.n_arms)
        dx.number("epsilon", self.epsilon, above=0.0, below=1.0, closed="[]")
        dx.number("step", self.step, above=0.0, below=1.0, closed="]")
        return RunningState(np.full(n_arms, np.inf))


# %%
@dx.kernel
def select(policy: RunningGreedy, state: RunningState, t: int, context: Any, rng: Any) -> tuple[int, float]:
    """Return the arm and how likely it was."""
    n_arms = len(state.values)
    best = int(np.argmax(state.values))
    luck, rng = dx.uniform(rng)
    arm = best
    if luck < policy.epsilon:
        arm, rng = dx.integers(n_arms, rng)
    share = policy.epsilon / n_arms
    return arm, share + (1.0 - policy.epsilon if arm == best else 0.0)


@dx.kernel
def update(policy: RunningGreedy, state: RunningState, decision: dx.Decision, outcome: dx.Outcome, now: int) -> None:
    """Move the value of the arm towards its reward; the first reward is the first value."""
    value = state.values[decision.action]
    step = policy.step * (outcome.reward - value)
    state.values[decision.action] = value + step if np.isfinite(value) else outcome.reward


dx.register(RunningGreedy, select=select, update=update)

# %% [markdown]
# Does it keep the promises that agents, studies and the service rely on? `check_policy` raises an error where it does
# not, and returns the promises that do not apply to a policy of its kind; the first three of them:

# %%
check_policy(RunningGreedy())[:3]

# %% [markdown]
# It works in an agent at once:

# %%
agent = dw.Agent(RunningGreedy(), ["red", "blue"], seed=0)
decision = agent.decide()
agent.learn(decision, reward=1.0)
decision

# %% [markdown]
# And in a study. Which step? `sweep` plays a grid; policies that do not have the parameter take part as they are.

# %%
study = dw.Study(
    name="how fast to forget",
    worlds={"abrupt": dw.worlds.Abrupt(n_arms=5, phases=5)},
    policies={
        "running": RunningGreedy(),
        "thompson": dw.Thompson(),
        "last 1000": dw.SlidingThompson(window=1000),
    },
    horizon=10_000,
    runs=10,
)
sweep = study.sweep(step=[0.003, 0.01, 0.03, 0.1, 0.3])
results = dw.run(sweep)
summary = results.summary(sweep)
summary

# %% [markdown]
# As a data frame, with a column for the parameter:

# %%
frame = summary.frame()[["policy", "step", "regret", "regret_ci95", "optimal_rate"]]
frame.round({"regret": 0, "regret_ci95": 0, "optimal_rate": 2})

# %% [markdown]
# The step to draw is taken from the table. Ten runs are few: where the intervals of two rows overlap, they do not tell
# which is better, and a step that was chosen by these runs tends to do a little better in them than in others.

# %%
step = float(frame.loc[frame["step"].notna()].set_index("step")["regret"].idxmin())
print(f"step={step:g} has the lowest mean regret of the steps")

# %% [markdown]
# Regret over time, with 95 % bands:

# %%
results.plot(study.sweep(step=[step]))
