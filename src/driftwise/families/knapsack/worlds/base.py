"""Worlds with budgets: every choice pays and costs, and what is spent is gone. A world says what arms pay and cost.

    bernoulli    reward and every cost are 1 or 0, each by a noise of its own
    together     the same by one noise: what pays also costs
    exact        reward and costs are their means

The reward of a round that would spend more than there is does not count, nor is it spent: the world closes. Spending a
budget to the last cent closes nothing. Sums of cents are compared with a slack of 1e-9.

A budget may come in `portions`, all foreseen, or grow by a share that nobody foresaw (`surprise`, at half-time). Then a
purchase that cannot be paid for fails, and so do all until the next portion comes.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import fill_uniform
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Ints, Problem, Spent
from driftwise.core.validation import cast_fields, number, one_of, whole
from driftwise.core.verbs import register
from driftwise.errors import ArmError
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.problem import Budgets
from driftwise.measure.base_world import BaseWorld
from driftwise.measure.levels import BLOCK, BLOCK_NUMBERS, Levels

LAWS = ("bernoulli", "together", "exact")
BERNOULLI, TOGETHER, EXACT = range(3)
SLACK = 1e-9


class Stages(NamedTuple):
    """Budgets as they come: from round `starts[k]` on there is `there[k]` in all, and `known[k]` is planned with."""

    starts: Ints
    there: Floats
    known: Floats


class BudgetTape(NamedTuple):
    """Rounds start .. start + len(noise) - 1: means of rewards in `levels`, of costs beside it, noise for each."""

    start: int
    levels: Levels
    costs: Floats
    noise: Floats
    law: int
    horizon: int
    stages: Stages


class Till(NamedTuple):
    """What actions change: the sum spent, how much of it was luck, what a round costs, and what may be spent a round.

    `shut` is 1 when a purchase could not be paid for.
    """

    spent: Floats
    luck: Floats
    costs: Floats
    rates: Floats
    shut: Ints


@kernel
def observe_rates(tape: Any, till: Till, t: int) -> tuple[Floats, bool]:
    """The rates from round `t` on; closed for good when a purchase failed and nothing more will come."""
    stages = tape.stages
    stage = _stage(stages, t)
    for resource in range(len(till.rates)):
        remaining = stages.known[stage, resource] - till.spent[resource]
        till.rates[resource] = max(0.0, remaining) / max(1, tape.horizon - t)
    return till.rates, not (till.shut[0] and t >= stages.starts[-1])


@kernel
def _respond(tape: BudgetTape, till: Till, t: int, action: int) -> Spent:
    check_arm(tape, action)
    i, reward = t - tape.start, 0.0
    row = tape.levels.rows[i]
    for resource in range(len(till.costs)):
        till.costs[resource] = 0.0
    if action >= 0:
        reward = _drawn(tape.levels.table[row, action], tape.noise[i, 0], tape.law)
        for resource in range(len(till.costs)):
            own = 0 if tape.law == TOGETHER else resource + 1
            till.costs[resource] = _drawn(tape.costs[row, resource, action], tape.noise[i, own], tape.law)
    return charge(tape, till, t, action, reward)


@kernel
def check_arm(tape: Any, action: int) -> None:
    """Refuse an arm that does not exist; -1 is the null arm."""
    if action < -1 or action >= tape.levels.table.shape[1]:
        raise ArmError("the policy chose an arm that does not exist")


@kernel
def _drawn(mean: float, noise: float, law: int) -> float:
    if law == EXACT:
        return float(mean)
    return 1.0 if noise < mean else 0.0


@kernel
def charge(tape: Any, till: Till, t: int, action: int, reward: float) -> Spent:
    """Pay what a round costs, if it can be paid."""
    stages, row = tape.stages, tape.levels.rows[t - tape.start]
    stage = _stage(stages, t)
    fits = till.shut[0] == 0
    for resource in range(len(till.costs)):
        there = stages.there[stage, resource]
        if till.spent[resource] + till.costs[resource] > there + SLACK * max(1.0, there):
            fits = False
    for resource in range(len(till.costs)):
        if action >= 0 and not till.shut[0]:
            till.luck[resource] += till.costs[resource] - tape.costs[row, resource, action]
        if not fits:
            till.costs[resource] = 0.0
        till.spent[resource] += till.costs[resource]
    till.shut[0] = 0 if fits or _stage(stages, t + 1) > stage else 1
    return Spent(reward if fits else 0.0, till.costs)


@kernel
def _stage(stages: Stages, t: int) -> int:
    stage = 0
    while stage + 1 < len(stages.starts) and stages.starts[stage + 1] <= t:
        stage += 1
    return stage


register(BudgetTape, observe=observe_rates, respond=_respond)


@dataclass(frozen=True, kw_only=True)
class BudgetWorld(BaseWorld):
    """Arms that pay and cost; subclasses say what, in plain NumPy: `means` and `rates`.

    Parameters
    ----------
    portions : int
        In how many equal portions the budget comes, evenly over the run.
    surprise : float
        By which share of itself the budget grows at half-time, unforeseen.
    """

    portions: int = 1
    surprise: float = 0.0

    law: ClassVar[str] = "bernoulli"

    def __post_init__(self) -> None:
        cast_fields(self)
        whole("portions", self.portions)
        number("surprise", self.surprise, above=0.0, closed="[")
        one_of("law", self.law, LAWS)

    @abstractmethod
    def means(self, horizon: int, seed: int) -> Means:
        """What every arm pays and costs on average, in every round."""

    @abstractmethod
    def rates(self, horizon: int) -> Floats:
        """The budget of each resource by the horizon, b = B / T."""

    @property
    @abstractmethod
    def arms(self) -> int:
        """How many arms there are, the null arm not among them."""

    @property
    def block(self) -> int:
        """Rounds in a block."""
        return max(1, min(BLOCK, BLOCK_NUMBERS // (1 + len(self.rates(1)))))

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world: what it will ever have, but for a surprise."""
        amounts = self.rates(max(1, horizon)) * max(1, horizon)
        return Problem(self.arms, horizon=horizon, structure=Budgets(amounts), family="knapsack")

    def stages(self, horizon: int) -> Stages:
        """The budget as it comes."""
        budget = self.problem(horizon).structure.amounts
        starts = [portion * horizon // self.portions for portion in range(self.portions)]
        there = [budget * (portion + 1) / self.portions for portion in range(self.portions)]
        plans = [budget] * self.portions
        if self.surprise:
            half = horizon // 2
            starts = sorted({*starts, half})
            there = [
                budget * (1 + start * self.portions // horizon) / self.portions
                + (budget * self.surprise if start >= half else 0.0)
                for start in starts
            ]
            plans = [budget * (1.0 + self.surprise * (start >= half)) for start in starts]
        return Stages(np.array(starts, np.int64), np.array(there), np.array(plans))

    def changes(self, horizon: int, seed: int) -> list[int]:
        """Rounds at which means jump; empty where they only glide."""
        return []

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[Any]:
        """The world in blocks of at most `size` rounds: the same rounds, however they are cut."""
        horizon, size = whole("horizon", horizon), whole("size", self.block if size is None else size)
        means, stages, rng = self.means(horizon, seed), self.stages(horizon), key(seed, "noise")
        width = 1 + means.n_resources
        for start in range(0, horizon, size):
            rounds = min(horizon, start + size) - start
            noise = np.empty((rounds, width))
            fill_uniform(rng, start * width, noise.reshape(-1))
            levels = Levels(means.rewards, means.rows[start : start + rounds])
            yield self._tape(start, levels, means, noise, horizon, stages)

    def _tape(self, start: int, levels: Levels, means: Means, noise: Floats, horizon: int, stages: Stages) -> Any:
        return BudgetTape(start, levels, means.costs, noise, LAWS.index(self.law), horizon, stages)

    def nature(self, horizon: int = 0) -> Till:
        """Nothing spent yet."""
        stages = self.stages(max(1, horizon))
        resources = stages.there.shape[1]
        rates: Floats = stages.known[0] / max(1, horizon)
        return Till(np.zeros(resources), np.zeros(resources), np.zeros(resources), rates, np.zeros(1, np.int64))
