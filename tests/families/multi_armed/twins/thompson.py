"""Thompson sampling for rewards in a range. Agrawal & Goyal 2012, algorithms 1 and 2.

    theta_i ~ Beta(S_i + 1, F_i + 1); play the arm with the largest theta
    observe the reward r in [0, 1]; perform a Bernoulli trial with success probability r

and count its outcome: S_i successes, F_i failures.
"""

import numpy as np
from scipy import stats

from driftwise.core.types import Floats
from tests.families.multi_armed.twins.log import Entry, Twin
from tests.families.multi_armed.twins.race import win_probabilities
from tests.fixtures.splitmix import branch, uniform


class ThompsonTwin(Twin):
    """Over all history."""

    def posteriors(self, t: int) -> Floats:
        """One row (a, b) of a Beta posterior per arm."""
        rows = []
        for entries in self.by_arm(t):
            successes = sum(self._succeeds(entry) for entry in entries)
            rows.append([successes + 1.0, len(entries) - successes + 1.0])
        return np.array(rows)

    def win_probabilities(self, t: int) -> Floats:
        return win_probabilities([stats.beta(a, b) for a, b in self.posteriors(t)])

    def _succeeds(self, entry: Entry) -> bool:
        """The Bernoulli trial, on the stream that belongs to the decision."""
        place = (entry.reward - self.problem.low) / (self.problem.high - self.problem.low)
        return uniform(branch(entry.rng)) < place
