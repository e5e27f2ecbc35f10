# %% [markdown]
# # Visits of a health programme
#
# A programme looks after forty people. Each is lapsed, wavering or steady, and moves on from week to week,
# visited or not. Six can be visited in a week. Whom? Where a visit changes most: the *Whittle index* of a
# person's state. How people move is learned on the way, and drifts.

# %%
import numpy as np

import driftwise as dw
from driftwise.display.svg import PlotLine, line_plot

STATES = ["lapsed", "wavering", "steady"]
PEOPLE = {f"{area}-{i:02}": area for area in ("north", "south") for i in range(20)}


def next_state(state: int, area: str, week: int, visited: bool, luck: np.random.Generator) -> int:
    """What nobody knows: in the north visits help until week 40, in the south after it."""
    helps = 0.8 if (area == "north") == (week < 40) else 0.1
    up, down = (helps, 0.05) if visited else (0.05, 0.35)
    return min(2, max(0, state + (luck.random() < up) - (luck.random() < down)))


# %% [markdown]
# The problem, as the agent knows it: who there is, what states they have and what these are worth, and that
# nobody moves by more than one state in a week.

# %%
steps = {"lapsed": ["lapsed", "wavering"], "steady": ["wavering", "steady"]}
visits = dw.Restless(
    list(PEOPLE),
    n_active=6,
    states=STATES,
    state_rewards={"lapsed": 0.0, "wavering": 0.5, "steady": 1.0},
    arm_types=PEOPLE,
    transitions={"passive": steps, "active": steps},
    discount=0.95,
)


def programme(policy: object, weeks: int = 80) -> tuple[dw.Agent, list[list[str]], list[float]]:
    """The agent after so many weeks, whom it visited, and the share of steady people week by week."""
    agent, luck = dw.Agent(policy, visits, seed=1), np.random.default_rng(4)
    states, lists, shares = dict.fromkeys(PEOPLE, 1), [], []
    for week in range(weeks):
        decision = agent.decide(states={name: STATES[state] for name, state in states.items()})
        chosen = set(decision.action)
        states = {name: next_state(state, PEOPLE[name], week, name in chosen, luck) for name, state in states.items()}
        agent.learn(decision, states={name: STATES[state] for name, state in states.items()})
        lists.append(sorted(chosen))
        shares.append(float(np.mean([state == 2 for state in states.values()])))
    return agent, lists, shares


learned, lists, shares = programme(dw.AdaptiveWhittle(every=1))
_, _, in_turn = programme(dw.RoundRobin())
print(f"steady people per week: {np.mean(shares) * 40:.1f} with indices, {np.mean(in_turn) * 40:.1f} taking turns")

# %% [markdown]
# Next week's list, and how many of the visits went to the north before week 40 and after it has settled.

# %%
print("next week:", ", ".join(lists[-1]))
north = [np.mean([name.startswith("north") for name in names]) for names in lists]
before, after = np.mean(north[20:40]), np.mean(north[60:])
print(f"share of visits to the north: {before:.0%} before week 40, {after:.0%} from week 60 on")

# %% [markdown]
# Steady people, week by week; averages of eight weeks.

# %%
window = np.ones(8) / 8
lines = [
    PlotLine(name, range(8, 81), (np.convolve(values, window, "valid") * 40).tolist())
    for name, values in (("Whittle indices", shares), ("taking turns", in_turn))
]
line_plot(lines, title="steady people of 40", x_title="week", marks=[40])
