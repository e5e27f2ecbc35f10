"""SER4, after Allesiardo, Feraud & Maillard 2017, as the specification of the sliding-window paper gives it.

    shuffle the active set; pull each of its arms once; then
    remove arm k if  mean_max - mean_k + epsilon >= C sqrt(ln(4 K r^2 / delta) / r)
    with probability phi start over with all arms

delta = 1 / N, epsilon = 1 / (K N), phi = sqrt(B / (N K ln(K N))). A pass ends with time; what counts is what was told
by then of decisions since the last reset, r the smaller count of the two arms compared. Chance comes from the reward
told last, on the stream of the round in which the pass ends.
"""

import math
from typing import NamedTuple

from tests.families.multi_armed.twins.log import Twin
from tests.fixtures.splitmix import branch, step, stream


class Standing(NamedTuple):
    """The order of the present pass and its first round; the first rounds of all episodes, the present one last."""

    order: list[int]
    start: int
    episodes: list[int]


class SER4Twin(Twin):
    """Every pass since round 0 played again at each decision."""

    def horizon(self) -> int:
        return int(self.policy.horizon or self.problem.horizon)

    def phi(self) -> float:
        n_arms, horizon = self.problem.n_arms, self.horizon()
        if self.policy.reset >= 0.0:
            return float(self.policy.reset)
        return min(1.0, math.sqrt(self.policy.changes / (horizon * n_arms * math.log(n_arms * horizon))))

    def choose(self, t: int) -> int:
        order, start, _ = self.standing(t)
        return order[t - start]

    def standing(self, t: int) -> Standing:
        everyone = [*range(self.problem.n_arms)]
        _, rng = chance(self.stream(0))
        now = Standing(shuffled(everyone, rng), 0, [0])
        for s in range(1, t + 1):
            if s < now.start + len(now.order):
                continue
            u, rng = chance(self.stream(s))
            if u < self.phi():
                now = Standing(shuffled(everyone, rng), s, [*now.episodes, s])
            elif len(now.order) == 1:
                now = now._replace(start=s)
            else:
                left = self.survivors(sorted(now.order), self.since(now.episodes[-1], s))
                now = Standing(shuffled(left, rng), s, now.episodes)
        return now

    def stream(self, s: int) -> int:
        """Chance in round `s`: of the reward told last before it."""
        told = self.known(s)
        return stream(branch(told[-1].rng) if told else 0, s)

    def since(self, episode: int, t: int) -> list[list[float]]:
        """Each arm's rewards, from 0 to 1, of the decisions since `episode`, as far as told before `t`."""
        low, span = self.problem.low, self.problem.high - self.problem.low
        return [[(entry.reward - low) / span for entry in entries if entry.t >= episode] for entries in self.by_arm(t)]

    def survivors(self, active: list[int], rewards: list[list[float]]) -> list[int]:
        """The active set after a pass."""
        means = {k: math.fsum(rewards[k]) / len(rewards[k]) for k in active if rewards[k]}
        if not means:
            return active
        best = max(means, key=lambda k: (means[k], -k))
        return [k for k in active if k == best or k not in means or not self.falls(k, best, means, rewards)]

    def falls(self, k: int, best: int, means: dict[int, float], rewards: list[list[float]]) -> bool:
        n_arms, horizon = self.problem.n_arms, self.horizon()
        r = min(len(rewards[k]), len(rewards[best]))
        radius = self.policy.scale * math.sqrt(math.log(4 * n_arms * r**2 * horizon) / r)
        return bool(means[best] - means[k] + 1.0 / (n_arms * horizon) >= radius)

    def stale(self) -> int:
        """Rewards told in a later episode than their decision's."""
        resets = self.standing(max((entry.arrival for entry in self.log), default=0)).episodes
        return sum(any(entry.t < reset <= entry.arrival for reset in resets) for entry in self.log)


def chance(rng: int) -> tuple[float, int]:
    """Uniform on [0, 1), and the stream moved on."""
    word, rng = step(rng)
    return (word >> 11) / 2**53, rng


def below(n: int, rng: int) -> tuple[int, int]:
    """A whole number in 0 .. n - 1: the upper half of a word times n, words that would favour some drawn again."""
    while True:
        word, rng = step(rng)
        product = (word >> 32) * n
        if product % 2**32 >= (2**32 - n) % n:
            return product >> 32, rng


def shuffled(arms: list[int], rng: int) -> list[int]:
    """Each arm in turn takes a random place, and who sat there moves to the end."""
    order: list[int] = []
    for arm in arms:
        at, rng = below(len(order) + 1, rng)
        order.append(arm)
        order[at], order[-1] = arm, order[at]
    return order
