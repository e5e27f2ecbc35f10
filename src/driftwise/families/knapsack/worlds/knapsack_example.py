"""The constructions of Liu, Jiang & Li, *Non-stationary Bandits with Knapsacks*, NeurIPS 2022, by their `kind`.

    motivating      section 2.1    one arm that costs 1 and pays 1, after half-time 1 + sign delta; the budget is T / 2
    figure1         appendix B     one arm that costs 1 and pays 1 for k rounds, then nothing; the budget is T / 2
    c2              appendix C.2   one arm that pays 1 and costs 1 of the first of two resources, after half-time of the
                                   second; the budget of each is 2 T / 3
    lower-bound-1   theorem 2      in every stretch of H rounds an arm drawn anew pays 1/2 + D, the others 1/2; nothing
                                   costs
    lower-bound-2   theorem 2      all pay 1; in every stretch till half-time an arm drawn anew costs b, the others
                                   b + D, and then all cost b; the budget is b T
    lower-bound-3   theorem 2      one arm that pays r and costs 2 b, after half-time r + sign delta1 and
                                   2 b - sign delta2; the budget is b T

D = min(1/2, sqrt(m / H) / 4), and H is `stretch`, or follows from the `variation` V = V1 or V2 that is wanted:
H = ceil((sqrt(m) / 4 (1 - 1 / m) T / V)^(2/3)), for the second with T / 2 for T.
The first two lower bounds have rewards and costs of 0 and 1, in the others nothing is left to chance; what is drawn by
the seed are the best arms of the stretches.

Deviations: rewards of the motivating example are divided by 1 + delta, so that they lie in [0, 1]. For figure 1, which
is about rewards alone, cost and budget are ours. In the second half of the second lower bound costs are drawn as well,
and D is at most 1 - b.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.core.validation import number, one_of, whole
from driftwise.errors import ParameterError
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.worlds.base import LAWS, BudgetWorld

KINDS = ("motivating", "figure1", "c2", "lower-bound-1", "lower-bound-2", "lower-bound-3")


@dataclass(frozen=True, kw_only=True)
class KnapsackExample(BudgetWorld):
    """One of six constructions of Liu, Jiang & Li (2022), by its `kind`; other parameters are for some kinds only.

    Parameters
    ----------
    kind : str
        motivating, figure1, c2, lower-bound-1, lower-bound-2 or lower-bound-3.
    delta : float
        motivating: by how much the reward changes.
    sign : int
        motivating, lower-bound-3: 1 for a change to the better, -1 to the worse.
    k : int
        figure1: rounds that pay; 0 takes half of them.
    n_arms : int
        lower-bound-1, lower-bound-2: number of arms, m; the other kinds have one arm.
    stretch : int
        lower-bound-1, lower-bound-2: rounds in a stretch, H; 0 takes the one for `variation`.
    variation : float
        lower-bound-1, lower-bound-2: the V that H is made for.
    rate : float
        lower-bound-2, lower-bound-3: budget per round, b.
    reward, delta1, delta2 : float
        lower-bound-3: the reward r, and by how much it and the cost change.

    >>> KnapsackExample(kind="motivating", delta=0.25).means(horizon=4, seed=0).rewards.ravel()
    array([0.8, 1. ])
    """

    kind: str = "motivating"
    delta: float = 0.5
    sign: int = 1
    k: int = 0
    n_arms: int = 4
    stretch: int = 0
    variation: float = 1.0
    rate: float = 0.25
    reward: float = 0.5
    delta1: float = 0.2
    delta2: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("kind", self.kind, KINDS)
        number("delta", self.delta, above=0.0, below=1.0, closed="[]")
        if self.sign not in (-1, 1):
            raise ParameterError(f"sign={self.sign} is not one of -1, 1")
        whole("k", self.k, low=0)
        whole("n_arms", self.n_arms, low=2, high=10**6)
        whole("stretch", self.stretch, low=0)
        number("variation", self.variation, above=0.0)
        number("rate", self.rate, above=0.0, below=0.5, closed="]")
        for name, value, change in (("reward", self.reward, self.delta1), ("2 rate", 2.0 * self.rate, self.delta2)):
            if self.kind == "lower-bound-3" and not 0.0 <= value - change <= value + change <= 1.0:
                raise ParameterError(f"{name}={value:g}, changed by {change:g}, does not stay in [0, 1]")

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return self.n_arms if EXAMPLES[self.kind].many else 1

    def rates(self, horizon: int) -> Floats:
        """As the example says."""
        return np.array(EXAMPLES[self.kind].rates(self))

    def means(self, horizon: int, seed: int) -> Means:
        """As the example says."""
        return EXAMPLES[self.kind].means(self, horizon, seed)

    def changes(self, horizon: int, seed: int) -> list[int]:
        """Where means jump; the best arm of a stretch may be the one of the stretch before."""
        means = self.means(horizon, seed)
        turns = np.flatnonzero(np.diff(means.rows)) + 1
        return [int(t) for t in turns if _differ(means, int(means.rows[t - 1]), int(means.rows[t]))]

    def _tape(self, *args: Any) -> Any:
        return super()._tape(*args)._replace(law=LAWS.index(EXAMPLES[self.kind].law))


def _differ(means: Means, one: int, other: int) -> bool:
    return bool((means.rewards[one] != means.rewards[other]).any() or (means.costs[one] != means.costs[other]).any())


def _turning(first: tuple[Any, Any], second: tuple[Any, Any], when: int, horizon: int) -> Means:
    """One arm with another reward, and other costs, from round `when` on."""
    (reward, costs), (later, later_costs) = first, second
    table = np.array([costs, later_costs])[:, :, None]
    return Means.of([[reward], [later]], table, (np.arange(horizon) >= when).astype(np.int32))


def _motivating(world: KnapsackExample, horizon: int, seed: int) -> Means:
    most = 1.0 + world.delta
    later = (1.0 + world.sign * world.delta) / most
    return _turning((1.0 / most, [1.0]), (later, [1.0]), horizon // 2, horizon)


def _figure1(world: KnapsackExample, horizon: int, seed: int) -> Means:
    if world.k > horizon:
        raise ParameterError(f"k={world.k} does not fit the horizon {horizon}")
    return _turning((1.0, [1.0]), (0.0, [1.0]), world.k or horizon // 2, horizon)


def _c2(world: KnapsackExample, horizon: int, seed: int) -> Means:
    return _turning((1.0, [1.0, 0.0]), (1.0, [0.0, 1.0]), horizon // 2, horizon)


def _best_arms(world: KnapsackExample, rounds: int, seed: int) -> tuple[float, NDArray[np.int64]]:
    """The D of stretches that fill `rounds`, and the best arm of every round."""
    m = world.n_arms
    length = world.stretch or math.ceil((math.sqrt(m) / 4.0 * (1.0 - 1.0 / m) * rounds / world.variation) ** (2 / 3))
    drawn = generator(seed, "best arms").integers(m, size=math.ceil(rounds / length))
    return min(0.5, math.sqrt(m / length) / 4.0), drawn[np.arange(rounds) // length]


def _lower_bound_1(world: KnapsackExample, horizon: int, seed: int) -> Means:
    better, best = _best_arms(world, horizon, seed)
    return Means.of(0.5 + better * np.eye(world.n_arms), np.zeros((world.n_arms, 1, world.n_arms)), best)


def _lower_bound_2(world: KnapsackExample, horizon: int, seed: int) -> Means:
    m, half = world.n_arms, horizon // 2
    dearer, best = _best_arms(world, half, seed) if half else (0.0, np.zeros(0, np.int64))
    costs = np.full((m + 1, 1, m), world.rate)
    costs[:m, 0] += min(dearer, 1.0 - world.rate) * (1.0 - np.eye(m))
    return Means.of(np.ones((m + 1, m)), costs, np.append(best, np.full(horizon - half, m)))


def _lower_bound_3(world: KnapsackExample, horizon: int, seed: int) -> Means:
    reward, cost, sign = world.reward, 2.0 * world.rate, world.sign
    later = reward + sign * world.delta1, [cost - sign * world.delta2]
    return _turning((reward, [cost]), later, horizon // 2, horizon)


class Example(NamedTuple):
    """Its means, its rates, whether it has many arms, and its law of rewards and costs."""

    means: Callable[[KnapsackExample, int, int], Means]
    rates: Callable[[KnapsackExample], list[float]]
    many: bool = False
    law: str = "exact"


EXAMPLES: dict[str, Example] = {
    "motivating": Example(_motivating, lambda world: [0.5]),
    "figure1": Example(_figure1, lambda world: [0.5]),
    "c2": Example(_c2, lambda world: [2.0 / 3.0, 2.0 / 3.0]),
    "lower-bound-1": Example(_lower_bound_1, lambda world: [1.0], many=True, law="bernoulli"),
    "lower-bound-2": Example(_lower_bound_2, lambda world: [world.rate], many=True, law="bernoulli"),
    "lower-bound-3": Example(_lower_bound_3, lambda world: [world.rate]),
}
