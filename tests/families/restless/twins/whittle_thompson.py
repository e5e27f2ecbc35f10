"""Thompson sampling over transitions: every row from Dirichlet(1/2 + counts), by gammas, class by class.

The gammas are the library's own, from the stream of the plan's slot: their law is tested where they live.
"""

import numpy as np

from driftwise.core.random import branch, gamma
from driftwise.core.seeding import at
from driftwise.core.types import Floats
from driftwise.families.restless.structure import DRIFTING, KNOWN
from tests.families.restless.twins.index_plan import IndexTwin


class WhittleThompsonTwin(IndexTwin):
    def plan(self, start: int) -> Floats:
        rng, table = branch(np.uint64(branch(at(self.rng, start)))), []
        for own in range(len(self.structure.rewards)):
            ever, lately = self.lately(start, own, 0), self.lately(start, own, self.policy.window)
            kernel = np.zeros(ever.shape)
            for action, state in np.ndindex(*kernel.shape[:2]):
                kind = self.structure.kinds[own, action, state]
                if kind == KNOWN:
                    kernel[action, state] = self.structure.known[own, action, state]
                    continue
                for after in np.flatnonzero(self.structure.support[own, action, state]):
                    seen = (lately if kind == DRIFTING else ever)[action, state, after]
                    kernel[action, state, after], rng = gamma(0.5 + seen, np.uint64(rng))
                kernel[action, state] /= kernel[action, state].sum()
            table.append(self.indices_under(own, kernel))
        return np.array(table)
