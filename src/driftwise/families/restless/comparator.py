"""Runs are compared with what an oracle earns in the same rounds: it plays the very tapes a run meets.

regret          sum over slots of what the oracle earned minus what the run earned; both discounted within an episode
                where the world says so. Both meet the same luck, so that whoever chooses like the oracle has none
optimal rate    share of slots in which no less was earned than by the oracle
benchmark       all that the oracle earned

Oracles do not depend on what a run does: one play serves all policies of a run.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.protocols import Tape
from driftwise.core.seeding import key
from driftwise.core.validation import cast
from driftwise.families.restless.ground_truth import RestlessGroundTruth
from driftwise.families.restless.oracles.whittle_oracle import WhittleOracle
from driftwise.measure.comparator import ByPath
from driftwise.measure.ledger import Ledger


class Rival:
    """An oracle on its way through a world, block by block. Subclasses say which."""

    oracle: ClassVar[Any]

    def __init__(self, world: RestlessGroundTruth, horizon: int, seed: int) -> None:
        self._problem, self._horizon = world.problem(horizon), horizon
        self._policy = cast(self.oracle)
        self._state = self._policy.foresee(self._problem, world, horizon, seed)
        self._nature, self._rng = world.nature(horizon), key(seed, "oracle")
        self._earned = 0.0

    def block(self, tape: Tape) -> ByPath:
        """What the oracle earns in the rounds of a tape."""
        rounds = len(tape.levels.rows)
        trace = trace_for(self._problem, tape.start, rounds)
        played = play(self._policy, self._state, tape, self._nature, self._rng, trace, self._horizon)
        trace.rewards[played:] = 0.0
        self._earned += float(np.sum(trace.rewards))
        return ByPath(trace.rewards)

    def tell(self, ledger: Ledger, nature: Any) -> Mapping[str, float]:
        """What the oracle earned in all."""
        return {"benchmark": self._earned}


class WhittleRival(Rival):
    """Whittle's index policy with the true transitions."""

    oracle = WhittleOracle()
