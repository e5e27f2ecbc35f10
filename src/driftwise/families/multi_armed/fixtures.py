"""What policies for multi-armed bandits are tried with."""

from driftwise.core.fixtures import HORIZON, N_ARMS, NAMES, Fixtures, Usage
from driftwise.core.protocols import Policy
from driftwise.families.multi_armed.problem import MultiArmed
from driftwise.families.multi_armed.worlds import Abrupt


class MultiArmedFixtures(Fixtures):
    """One arm, one reward."""

    @classmethod
    def small_world(cls, policy: Policy | None) -> Abrupt:
        """Few arms, and the best one changes twice."""
        return Abrupt(n_arms=N_ARMS, phases=3)

    @property
    def usages(self) -> dict[str, Usage]:
        """Arms with names."""
        return {"arms": Usage(MultiArmed([*NAMES], horizon=HORIZON))}

    def late_world(self) -> Abrupt:
        """More arms, and one change."""
        return Abrupt(n_arms=10, phases=2)

    def stationary_world(self, n_arms: int) -> Abrupt:
        """A single phase."""
        return Abrupt(n_arms=n_arms, phases=1)
