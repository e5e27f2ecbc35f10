"""What oracles, comparators and bounds read of a restless world: its true transitions."""

from typing import Protocol

from driftwise.core.protocols import World
from driftwise.core.types import Floats, Ints
from driftwise.families.restless.structure import RestlessStructure


class RestlessGroundTruth(World, Protocol):
    """A restless world that tells its transitions in advance."""

    @property
    def episode(self) -> int:
        """The slots of an episode."""

    @property
    def restarts(self) -> int:
        """1 where every episode starts from the origins, 0 where arms go on from where they are."""

    @property
    def discount(self) -> float:
        """The discount that indices are computed with."""

    @property
    def discounted(self) -> int:
        """1 where rewards are discounted within an episode, 0 where they are not."""

    @property
    def activate(self) -> int:
        """How many arms are activated in a slot."""

    @property
    def at_most(self) -> int:
        """1 where fewer may be."""

    def structure(self) -> RestlessStructure:
        """What a problem says of the arms: types, rewards, costs, and which transitions are possible."""

    def origins(self) -> Ints:
        """The state of each arm at the start."""

    def segments(self, horizon: int, seed: int) -> tuple[Floats, Ints]:
        """The rows of drifting numbers of one run, each once, and the row of each episode."""

    def checked(self, path: Floats) -> Floats:
        """The transition matrices for rows of drifting numbers, by class and action; every row sums to one."""
