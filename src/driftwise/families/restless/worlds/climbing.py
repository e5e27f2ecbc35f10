"""Arms on a ladder: those activated climb, the others slip.

    left alone   s -> s - 1 with chance p, else it stays         reward s, of the state a slot leads to
    activated    s -> s + 1 with chance q, else it stays

The first half of the arms is known: p = 0.5 and q = 1. Of the other half, q = 0.5 stays the same and is not known, and
p drifts from 0.5. Every episode begins on the lowest rung. Transitions have at most two entries a row, and a policy may
know which.

The one-dimensional bandit of Shisher, Tripathi, Chiang & Brinton, *Online learning of Whittle indices for restless
bandits with non-stationary transition kernels*: 50 episodes of 100 slots, p a step of 0.05 up with chance 0.7 and else
down. That arms begin at the bottom, earn in the state they reach, and count discounted is not all said there; it is
what the regret of choosing at random, as published, leaves no doubt about.
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.families.restless.structure import DRIFTING, KNOWN, STATIONARY, RestlessStructure, restless
from driftwise.families.restless.worlds.base import RestlessWorld, halves, near, steps
from driftwise.families.restless.worlds.wandering import Wandering


@dataclass(frozen=True, kw_only=True)
class Climbing(RestlessWorld):
    """Half of the arms climb slowly and slip by a chance that drifts; the other half is known.

    Parameters
    ----------
    rungs : int
        States of an arm, 0 .. rungs - 1.
    slip, climb : float
        Of the drifting half: the chance p in the first episode, and q.
    known_slip, known_climb : float
        Of the known half.

    >>> Climbing(n_arms=20, activate=4).problem().slate
    4
    """

    restarts: int = 1
    discounted: int = 1
    rungs: int = 10
    slip: float = 0.5
    climb: float = 0.5
    known_slip: float = 0.5
    known_climb: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("rungs", self.rungs, low=2, high=1000)
        for name in ("slip", "climb", "known_slip", "known_climb"):
            number(name, getattr(self, name), above=0.0, below=1.0, closed="[]")

    @property
    def labels(self) -> list[str]:
        """What drifts."""
        return ["chance to slip"]

    def numbers(self, seed: int) -> Wandering:
        """The chance p of the second half."""
        return Wandering(np.array([self.slip]), np.zeros(1), np.ones(1))

    def structure(self) -> RestlessStructure:
        """Both halves move one rung at most; all is known of the first."""
        size = self.rungs
        kinds = np.zeros((2, 2, size), np.int64)
        kinds[0], kinds[1, 0], kinds[1, 1] = KNOWN, DRIFTING, STATIONARY
        return restless(
            np.tile(np.arange(size, dtype=float), (2, 1)),
            n_arms=self.n_arms,
            classes=halves(self.n_arms),
            support=np.stack([near(False, True, size), near(True, False, size)]),
            kinds=kinds,
            known=self.transitions(np.array([[self.slip]]))[0],
            episode=self.episode if self.restarts else 0,
            discount=self.discount,
        )

    def transitions(self, path: Floats) -> Floats:
        """One rung down when left alone, one up when activated."""
        transitions = np.empty((len(path), 2, 2, self.rungs, self.rungs))
        transitions[:, 0, 0] = steps(np.array(0.0), np.array(self.known_slip), self.rungs)
        transitions[:, 0, 1] = steps(np.array(self.known_climb), np.array(0.0), self.rungs)
        transitions[:, 1, 0] = steps(np.array(0.0), path[:, 0], self.rungs)
        transitions[:, 1, 1] = steps(np.array(self.climb), np.array(0.0), self.rungs)
        return transitions
