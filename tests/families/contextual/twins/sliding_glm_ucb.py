"""SW-UCB for generalised linear rewards. Cheung, Simchi-Levi & Zhu 2022, section 8.2.

    theta solves  sum (Y - mu(<x, theta>)) x = ridge theta  over the last w rounds, and is cut to length S
    play the row that maximises  <x, theta> + beta |x|_{V^-1}        or mu(<x, theta>) + ... ; V = sum x x'
    beta = 2 k Y_max sqrt(2 d ln(w) ln(2 d T^2) (3 + 2 ln(1 + 2 L^2 / lambda_0))) / c

S in units of the rewards where mu is the identity; except in the first d rounds of every w: there the row is played
that lies farthest from the span of the rows played since the cycle began, as far as they were answered or are under
way; for each that is not, a row at hand is taken to have been played, the farthest of its turn. When all lie in the
span there is nothing to explore. While rows x are under way V^-1 is M^-1 V M^-1, with M = V + sum x x' over those.
"""

import math
from typing import Any

import numpy as np
from scipy import optimize, special

from driftwise.core.types import Floats
from tests.families.contextual.twins.feature_log import WindowedFeatureTwin

# mu, its derivative and its integral
LINKS: dict[str, tuple[Any, Any, Any]] = {
    "identity": (lambda z: z, np.ones_like, lambda z: z**2 / 2),
    "logistic": (special.expit, lambda z: special.expit(z) * special.expit(-z), lambda z: np.logaddexp(0.0, z)),
    "poisson": (np.exp, np.exp, np.exp),
}


class SlidingGLMUCBTwin(WindowedFeatureTwin):
    """The estimate anew at every decision, from zero, by SciPy."""

    def theta(self, t: int) -> Floats:
        """The maximum quasi-likelihood estimate, not cut."""
        rows, rewards = self.pairs(t)
        mean, slope, integral = LINKS[self.policy.link]
        ridge = self.policy.ridge

        def loss(theta: Floats) -> float:
            scores = rows @ theta
            return float(np.sum(integral(scores) - rewards * scores) + ridge * theta @ theta / 2)

        def gradient(theta: Floats) -> Floats:
            return np.array(rows.T @ (mean(rows @ theta) - rewards) + ridge * theta)

        def curvature(theta: Floats) -> Floats:
            return np.array((rows.T * slope(rows @ theta)) @ rows + ridge * np.eye(self.problem.dim))

        start = np.zeros(self.problem.dim)
        with np.errstate(over="ignore"):
            found = optimize.minimize(
                loss, start, jac=gradient, hess=curvature, method="trust-exact", options={"gtol": 1e-9}
            )
        return np.array(found.x - np.linalg.solve(curvature(found.x), gradient(found.x)))

    def radius(self, t: int) -> float:
        """The theorem's beta, scaled."""
        policy, problem = self.policy, self.problem
        slope, far, d = LINKS[policy.link][1], policy.norm * policy.reach, problem.dim
        slopes = slope(np.linspace(-far, far, 2001))
        rounds = problem.horizon or 100
        log = math.log(policy.window) * math.log(2 * d * rounds**2)
        covered = 3 + 2 * math.log(1 + 2 * policy.reach**2 / (policy.coverage or policy.reach**2))
        bounded = math.isfinite(problem.low) and math.isfinite(problem.high)
        top = policy.ceiling or (problem.high - problem.low if bounded else 2 * self.noise(t))
        return float(policy.beta_scale * 2 * slopes.max() * top * math.sqrt(2 * d * log * covered) / slopes.min())

    def indices(self, t: int, context: Floats) -> Floats:
        """What is compared: distances from a span in rounds that explore, upper bounds in others."""
        distances = self.distances(t, context)
        return self.bounds(t, context) if distances is None else distances

    def bounds(self, t: int, context: Floats) -> Floats:
        """The upper bound of each row."""
        theta = self.theta(t)
        longest = self.policy.norm * (self.unit(t) if self.policy.link == "identity" else 1.0)
        theta = theta * min(1.0, longest / max(np.linalg.norm(theta), 1e-300))
        scores = context @ theta
        middle = LINKS[self.policy.link][0](scores) if self.policy.index == "mu" else scores
        return np.array(middle + self.radius(t) * self.widths(t, context))

    def widths(self, t: int, context: Floats) -> Floats:
        """The length of each row in the norm of V^-1 or M^-1 V M^-1; a millionth on the diagonal, to invert V."""
        rows = self.pairs(t)[0]
        gram = rows.T @ rows + 1e-6 * self.policy.reach**2 * np.eye(self.problem.dim)
        narrow = np.linalg.inv(gram + sum(np.outer(x, x) for x in self.under_way(t).values()))
        return np.array(np.sqrt(np.sum((context @ narrow @ gram @ narrow) * context, axis=1)))

    def distances(self, t: int, context: Floats) -> Floats | None:
        """How far each row is from what this cycle has explored; None where there is nothing to explore."""
        position = t % self.policy.window
        if position >= self.problem.dim:
            return None
        played = {entry.t: entry.x for entry in self.known(t)} | self.under_way(t)
        taken = [x for s, x in played.items() if s >= t - position]
        for _ in range(position - len(taken)):
            distances = outside(taken, context)
            if distances is None:
                return None
            taken.append(context[first_of_largest(distances)])
        return outside(taken, context)

    def choose(self, t: int, context: Floats) -> int:
        distances = self.distances(t, context)
        return int(np.argmax(self.bounds(t, context))) if distances is None else first_of_largest(distances)


def outside(taken: list[Floats], rows: Floats) -> Floats | None:
    """The distance of each row from the span of those taken; None when all lie in it."""
    basis = np.array(taken).reshape(len(taken), rows.shape[1])
    rest = rows - rows @ np.linalg.pinv(basis, rcond=1e-6) @ basis
    distances = np.linalg.norm(rest, axis=1)
    longest = np.linalg.norm(rows, axis=1).max()
    return distances if distances.max() > 1e-6 * longest else None


def first_of_largest(distances: Floats) -> int:
    """Distances that agree to nine digits are equal."""
    return int(np.argmax(distances**2 >= np.max(distances**2) * (1.0 - 1e-9)))
