"""A health programme: beneficiaries who keep to it more or less, and health workers who can call a few a week.

    left alone   a level down with the chance `slip` of her group, a level up with the chance 0.05
    called       a level up with the chance `lift` of her group, a level down with a third of `slip`
    earns        her level, from 0 (has lapsed) to 1 (keeps to it in full), where the week leads

Chances that would sum to more than one are scaled down to one. How fast people slip, and how well they answer a call,
differs from group to group and drifts in both. A group is as many people as share their chances; with `groups` as many
as `n_arms`, everybody is different. Nothing is known beforehand but that levels change by one at a time.

The setting is that of Mate et al. 2020 and Biswas et al. 2021, whose data are not public: these chances are made up.
"""

from dataclasses import dataclass

import numpy as np

from driftwise.core.seeding import generator
from driftwise.core.types import Floats, Ints
from driftwise.core.validation import number, whole
from driftwise.families.restless.structure import RestlessStructure, restless
from driftwise.families.restless.worlds.base import RestlessWorld, near, steps
from driftwise.families.restless.worlds.wandering import Wandering

RECOVERS = 0.05  # the chance to get better alone
SPARED = 1.0 / 3.0  # of the chance to slip, what is left of it after a call


@dataclass(frozen=True, kw_only=True)
class HealthAdherence(RestlessWorld):
    """Groups of people who slip, and who answer to calls, by chances that drift.

    An episode is a month of four weeks, and paces the drift.

    Parameters
    ----------
    levels : int
        States of a person, 2 to 5.
    groups : int
        Groups of people with chances of their own.
    slip, lift : float
        The largest chance to slip, and to get better by a call; in the first episode groups have between a third of
        it and all.

    >>> HealthAdherence(levels=2).problem().n_arms
    200
    """

    n_arms: int = 200
    activate: int = 20
    episode: int = 4
    step: float = 0.02
    upward: float = 0.5
    period: float = 12.0
    levels: int = 3
    groups: int = 10
    slip: float = 0.4
    lift: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("levels", self.levels, low=2, high=5)
        whole("groups", self.groups, high=self.n_arms)
        for name in ("slip", "lift"):
            number(name, getattr(self, name), above=0.0, below=1.0, closed="]")

    @property
    def labels(self) -> list[str]:
        """Both chances of every group."""
        return [f"{what} of group {group}" for what in ("slip", "lift") for group in range(self.groups)]

    def numbers(self, seed: int) -> Wandering:
        """Chances to slip, and to get better by a call."""
        most = np.repeat([self.slip, self.lift], self.groups)
        starts = most * generator(seed, "groups").uniform(1.0 / 3.0, 1.0, 2 * self.groups)
        return Wandering(starts, np.zeros_like(most), most)

    def origins(self) -> Ints:
        """All begin in full."""
        return np.full(self.n_arms, self.levels - 1)

    def structure(self) -> RestlessStructure:
        """One level at a time."""
        return restless(
            np.tile(np.arange(self.levels) / (self.levels - 1), (self.groups, 1)),
            n_arms=self.n_arms,
            classes=np.arange(self.n_arms) % self.groups,
            support=np.stack([near(True, True, self.levels)] * 2),
            episode=self.episode if self.restarts else 0,
            discount=self.discount,
        )

    def transitions(self, path: Floats) -> Floats:
        """One level up or down, by what was done."""
        slip, lift = path[:, : self.groups], path[:, self.groups :]
        return np.stack([_balanced(RECOVERS, slip, self.levels), _balanced(lift, SPARED * slip, self.levels)], axis=2)


def _balanced(up: Floats | float, down: Floats, size: int) -> Floats:
    """Steps whose chances together are one at most."""
    scale = 1.0 / np.maximum(1.0, up + down)
    return steps(np.asarray(up * scale), down * scale, size)
