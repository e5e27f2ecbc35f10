"""Wireless scheduling: sources whose news grow old, and channels that let news through by a drifting chance.

    left alone   age -> age + 1                                  at most `oldest`
    activated    age -> 1 with chance q, else age + 1            reward of age a: -log2(1 - v^a) / 2, v the variance

State s is the age s + 1. The reward is what the last news still tell of the source, in bits; v says how fast that is
lost. The first half of the arms has a channel that never fails, q = 1, which a policy does not know; v = 0.4. The
chance q of the others drifts from 0.1; v = 0.9. What happens to an arm that is left alone is known.

The wireless scheduling of Shisher, Tripathi, Chiang & Brinton, *Online learning of Whittle indices for restless bandits
with non-stationary transition kernels*: 50 episodes of 100 slots that begin at age 1, q a step of 0.05 up with chance
0.7 and else down. That v is 0.4 in the first half, and that rewards count undiscounted, is not said there; no other
reading we tried comes near the published regret of both choosing at random and WIQL.
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.types import Floats
from driftwise.core.validation import number, whole
from driftwise.families.restless.structure import DRIFTING, KNOWN, STATIONARY, RestlessStructure, restless
from driftwise.families.restless.worlds.base import RestlessWorld, halves
from driftwise.families.restless.worlds.wandering import Wandering


@dataclass(frozen=True, kw_only=True)
class AgeOfInformation(RestlessWorld):
    """Half of the channels always work; those of the other half work by a chance that drifts.

    Parameters
    ----------
    oldest : int
        The age beyond which news grow no older.
    success : float
        The chance q of the drifting half in the first episode.
    sure_success : float
        That of the other half.
    variance, sure_variance : float
        v of the drifting half, and of the other.

    >>> AgeOfInformation().problem().structure.rewards[:, 0].round(2)
    array([0.37, 1.66])
    """

    restarts: int = 1
    oldest: int = 30
    success: float = 0.1
    sure_success: float = 1.0
    variance: float = 0.9
    sure_variance: float = 0.4

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("oldest", self.oldest, low=2, high=1000)
        for name in ("success", "sure_success"):
            number(name, getattr(self, name), above=0.0, below=1.0, closed="[]")
        for name in ("variance", "sure_variance"):
            number(name, getattr(self, name), above=0.0, below=1.0)

    @property
    def labels(self) -> list[str]:
        """What drifts."""
        return ["chance of success"]

    def numbers(self, seed: int) -> Wandering:
        """The chance q of the second half."""
        return Wandering(np.array([self.success]), np.zeros(1), np.ones(1))

    def structure(self) -> RestlessStructure:
        """Ages go up by one or back to 1; only what activating does must be learned."""
        size = self.oldest
        kinds = np.zeros((2, 2, size), np.int64)
        kinds[:, 0], kinds[0, 1], kinds[1, 1] = KNOWN, STATIONARY, DRIFTING
        ages = np.arange(1, size + 1)
        variances = np.array([self.sure_variance, self.variance])
        return restless(
            -0.5 * np.log2(-np.expm1(ages * np.log(variances)[:, None])),
            n_arms=self.n_arms,
            classes=halves(self.n_arms),
            support=self._aged(np.array(0.5)) > 0.0,
            kinds=kinds,
            known=self.transitions(np.array([[self.success]]))[0],
            episode=self.episode if self.restarts else 0,
            discount=self.discount,
        )

    def transitions(self, path: Floats) -> Floats:
        """A channel that always works, and one that drifts."""
        sure = np.broadcast_to(self._aged(np.array(self.sure_success)), (len(path), 2, self.oldest, self.oldest))
        return np.stack([sure, self._aged(path[:, 0])], axis=1)

    def _aged(self, success: Floats) -> Floats:
        """The transitions for a chance of success, or for each of several."""
        place = np.arange(self.oldest)
        older = np.minimum(place + 1, self.oldest - 1)
        transitions = np.zeros((*success.shape, 2, self.oldest, self.oldest))
        transitions[..., 0, place, older] = 1.0
        transitions[..., 1, place, older] = 1.0 - success[..., None]
        transitions[..., 1, :, 0] += success[..., None]
        return transitions
