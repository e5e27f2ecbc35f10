"""adaptive-whittle: every expert's loss in every episode added up anew, the best one's belief drawn, and its indices.

loss of an expert     sum over ended episodes e of fade^(age of e) times -ln of the chance it gave to what e showed
belief of a row       (counts + w share of the pool) / (seen + w), or half a count for every place where w = 0
"""

import math

import numpy as np

from driftwise.core.random import branch, gamma
from driftwise.core.seeding import at
from driftwise.core.types import Floats
from driftwise.families.restless.structure import DRIFTING, KNOWN
from tests.families.restless.twins.index_plan import IndexTwin

EXPERTS = [(window, borrow) for borrow in (0.0, 10.0, 100.0) for window in (1, 2, 4, 8, 16, 32, 0)]


class AdaptiveWhittleTwin(IndexTwin):
    def plan_of(self, t: int) -> int:
        return max(t - t % self.period, t - t % int(self.policy.every))

    def plan(self, start: int) -> Floats:
        rng, table = branch(np.uint64(branch(at(self.rng, start)))), []
        for own in range(len(self.structure.rewards)):
            kernel = np.zeros((2, *self.structure.support.shape[2:]))
            for action in range(2):
                window, borrow = self.expert(start, own, action)
                now = self.ongoing(start, own, start // self.period)[action]
                drifting = self.lately(start, own, window)[action] + now
                lasting = self.lately(start, own, 0)[action] + now
                kinds = self.structure.kinds[own, action]
                counts = np.where((kinds == DRIFTING)[:, None], drifting, lasting)
                pool = self.pool(own, action, counts)
                for places in sorted(pool):
                    for place in range(places):
                        pool[places][place], rng = gamma(pool[places][place], np.uint64(rng))
                for state in range(len(counts)):
                    kernel[action, state] = (
                        self.structure.known[own, action, state]
                        if kinds[state] == KNOWN
                        else self.belief(own, action, state, counts[state], pool, borrow)
                    )
            table.append(self.indices_under(own, kernel))
        return np.array(table)

    def pool(self, own: int, action: int, counts: Floats) -> dict[int, Floats]:
        """How often rows with so many places went to each of them, half a count more."""
        size = len(counts)
        pool = {places: np.full(places, 0.5) for places in range(size + 1)}
        for state in range(size):
            if self.structure.kinds[own, action, state] != KNOWN:
                allowed = self.structure.support[own, action, state]
                pool[int(allowed.sum())] += counts[state][allowed]
        return pool

    def belief(
        self, own: int, action: int, state: int, counts: Floats, pool: dict[int, Floats], borrow: float
    ) -> Floats:
        """A row as an expert sees it."""
        allowed = self.structure.support[own, action, state]
        places = pool[int(allowed.sum())]
        extra = borrow * places / places.sum() if borrow else np.full(len(places), 0.5)
        row = np.zeros(len(counts))
        row[allowed] = (counts[allowed] + extra) / (counts.sum() + extra.sum())
        return row

    def expert(self, start: int, own: int, action: int) -> tuple[int, float]:
        """The one with the least loss; of equal ones the last."""
        ended = start // self.period
        losses = [
            sum(self.policy.fade ** (ended - 1 - e) * self.loss(e, own, action, *expert) for e in range(ended))
            for expert in EXPERTS
        ]
        least = min(losses)
        return [expert for expert, loss in zip(EXPERTS, losses, strict=True) if loss <= least + 1e-12][-1]

    def loss(self, episode: int, own: int, action: int, window: int, borrow: float) -> float:
        """By what was told when the episode ended; what comes later is charged to nobody."""
        end = (episode + 1) * self.period
        counts = self._before(episode, end, own, window)[action]
        pool, happened, loss = self.pool(own, action, counts), self.ongoing(end, own, episode)[action], 0.0
        for state in range(len(counts)):
            if self.structure.kinds[own, action, state] != KNOWN:
                row = self.belief(own, action, state, counts[state], pool, borrow)
                loss -= sum(happened[state, j] * math.log(row[j]) for j in np.flatnonzero(happened[state]))
        return loss

    def _before(self, episode: int, end: int, own: int, window: int) -> Floats:
        """The episodes before one, as far as they were told by its end."""
        return self.count(
            end,
            lambda each: bool(
                self.groups[each.arm] == own
                and 1 <= (age := episode - each.t // self.period)
                and (window == 0 or age <= window)
            ),
        )
