"""GLR-klUCB. Besson & Kaufmann 2019, algorithm 1 and definition 1.

    if t mod floor(K / alpha) names an arm, play it
    else play argmax_i  max{q : n_i kl(mean_i, q) <= f(t - tau_i)}

    alarm when  max_{0 < s < n}  s kl(mean_1..s, mean_1..n) + (n - s) kl(mean_s+1..n, mean_1..n)  >=  beta(n, delta)

beta(n, delta) = ln(3 n^(3/2) / delta), or that of the theorem. All splits are tried after every reward.
"""

import math

import numpy as np
from scipy import optimize, special

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.kl_ucb import upper
from tests.families.multi_armed.twins.restarts import RestartingTwin


def divergence(p: Floats, q: float) -> Floats:
    """Of Bernoulli laws."""
    return np.asarray(special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q))


class GLRKLUCBTwin(RestartingTwin):
    """Restarts of one arm or of all."""

    def restarts_all(self) -> bool:
        return not self.policy.local

    def indices(self, t: int) -> Floats:
        """The index of every arm; in a round that belongs to an arm, infinite for that arm and nought for the rest."""
        n_arms, alpha = self.problem.n_arms, self.policy.alpha
        turn = t % math.floor(n_arms / alpha) if alpha > 0.0 else t
        if turn < n_arms:
            return np.where(np.arange(n_arms) == turn, math.inf, 0.0)
        ages = [t - start for start in self.read(t).starts]
        return np.array([self.index(*tries, age) for tries, age in zip(self.tries(t), ages, strict=True)])

    def choose(self, t: int) -> int:
        return self.first_of_the_best(self.indices(t), t)

    def index(self, mean: float, count: float, age: int) -> float:
        if count == 0:
            return math.inf
        level = math.log(age) + self.policy.c * math.log(math.log(age)) if age > 1 else 0.0
        return upper(mean, max(0.0, level) / count)

    def alarm(self, rewards: list[float]) -> bool:
        if len(rewards) % self.policy.every:
            return False
        ratios = self.ratios(self.kept(rewards))
        return bool(ratios.max(initial=-math.inf) >= self.threshold(len(self.kept(rewards))))

    def kept(self, rewards: list[float]) -> list[float]:
        """What the test looks at: when `memory` rewards are kept and one more comes, the older half goes first."""
        memory = self.policy.memory
        first = 0
        while len(rewards) - first > memory:
            first += memory // 2
        return rewards[first:]

    def ratios(self, rewards: list[float]) -> Floats:
        """The likelihood ratio of every split that is tried."""
        y, n = np.array(rewards), len(rewards)
        splits = np.array([s for s in range(1, n) if s % self.policy.stride == 0], np.int64)
        if not splits.size:
            return np.array([])
        heads, mean = np.cumsum(y)[splits - 1], min(y.mean(), 1.0)
        before, after = np.clip(heads / splits, 0.0, 1.0), np.clip((y.sum() - heads) / (n - splits), 0.0, 1.0)
        return np.asarray(splits * divergence(before, mean) + (n - splits) * divergence(after, mean))

    def threshold(self, n: int) -> float:
        level = math.log(3.0 * n**1.5 / self.policy.delta)
        return 2.0 * price(level / 2.0) + 6.0 * math.log(1.0 + math.log(n)) if self.policy.proven else level


def price(x: float) -> float:
    """The function T of Kaufmann & Koolen 2018, as a minimum over the base: 2 min_{1 < z <= 3/2} z (y - ln ln z)."""
    inverse = optimize.brentq(lambda u: u - math.log(u) - 1.0 - x, 1.0, 10.0 + 10.0 * x)
    y = (inverse + math.log(2.0 * special.zeta(2.0))) / 2.0
    best = optimize.minimize_scalar(
        lambda z: z * (y - math.log(math.log(z))), bounds=(1.0 + 1e-9, 1.5), method="bounded", options={"xatol": 1e-12}
    )
    return 2.0 * min(float(best.fun), 1.5 * (y - math.log(math.log(1.5))))
