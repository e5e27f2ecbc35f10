"""What a Gaussian process is sure of while rewards are under way: its spreads, not its means.

    S = covariances of the rows under way, s_x = their covariances with x, both as the pairs of the window leave them
    spread^2 of x  <-  spread^2 - s_x' (S + rho N^-1)^-1 s_x        N: how often each row is under way

That is the spread of a process that has seen rewards of these rows, whatever they will be: the GP-BUCB of Desautels,
Krause & Burdick, *Parallelizing exploration-exploitation tradeoffs in Gaussian process bandit optimization*, JMLR 2014.
The stronger rule of bare arms, sqrt(n) / (n + p) in `numerics/pending.py`, does no better here (measured).

A decision costs O(m w^2 + m^2 w) more, with m different rows under way.
"""

from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Scratch
from driftwise.families.contextual.feature_window import FeatureWindow
from driftwise.families.contextual.gp import Process, covariance
from driftwise.families.contextual.pending_ring import NOBODY, PendingRing, slot_under_way
from driftwise.numerics.ridge import factorise

MOST = 64  # different rows under way that are counted


class PendingPoints(NamedTuple):
    """Room to work in: the slots of different rows, how often each is under way; L^-1 K of them, and S + rho / N."""

    slots: Scratch
    times: Scratch
    block: Scratch
    matrix: Scratch
    factor: Scratch
    answer: Scratch


def new_pending_points(window: int) -> PendingPoints:
    """Room for rows of a window."""
    most = min(MOST, window)
    return PendingPoints(
        slots=np.zeros(most, np.int64),
        times=np.zeros(most),
        block=np.zeros((window, most)),
        matrix=np.zeros((most, most)),
        factor=np.zeros((most, most)),
        answer=np.zeros(most),
    )


@kernel(inline=False)
def prepare(points: PendingPoints, ring: PendingRing, process: Process, window: FeatureWindow) -> int:
    """Gather what is under way, and factorise; how many different rows there are."""
    n_points = _gather(points, ring, window)
    for k in range(process.n_pairs[0]):
        for j in range(n_points):
            points.block[k, j] = covariance(process, window.features[process.slots[k]], ring.rows[points.slots[j]])
        for i in range(k):
            weight = process.factor[i, k]
            for j in range(n_points):
                points.block[k, j] -= weight * points.block[i, j]
        for j in range(n_points):
            points.block[k, j] /= process.factor[k, k]
    for i in range(n_points):
        for j in range(i + 1):
            points.matrix[i, j] = covariance(process, ring.rows[points.slots[i]], ring.rows[points.slots[j]])
        points.matrix[i, i] += process.ridge[0] / points.times[i]
    for k in range(process.n_pairs[0]):
        for i in range(n_points):
            weight = points.block[k, i]
            for j in range(i + 1):
                points.matrix[i, j] -= weight * points.block[k, j]
    factorise(points.matrix[:n_points, :n_points], points.factor)
    return n_points


@kernel
def _gather(points: PendingPoints, ring: PendingRing, window: FeatureWindow) -> int:
    """The rows under way, newest first, each once."""
    n_points, remaining, t = 0, ring.waiting[0], window.clock[0] - 1
    while remaining > 0 and t >= max(0, window.clock[0] - window.size[0]):
        slot = slot_under_way(ring, window, t)
        if slot != NOBODY:
            remaining -= 1
            place = 0
            while place < n_points and not _same(ring.rows[slot], ring.rows[points.slots[place]]):
                place += 1
            if place < n_points:
                points.times[place] += 1.0
            elif n_points < len(points.slots):  # Deviation: of more different rows only the newest count.
                points.slots[n_points], points.times[n_points] = slot, 1.0
                n_points += 1
        t -= 1
    return n_points


@kernel
def _same(x: Floats, y: Floats) -> bool:
    i = 0
    while i < len(x) and x[i] == y[i]:
        i += 1
    return i == len(x)


@kernel(inline=False)
def narrow(
    points: PendingPoints, ring: PendingRing, process: Process, n_points: int, context: Floats, start: int
) -> None:
    """Lower the squared spreads of the rows from `start` on that were predicted last, as far as there are any."""
    factor, answer = points.factor, points.answer
    for a in range(min(len(process.squares), len(context) - start)):
        for j in range(n_points):
            answer[j] = covariance(process, ring.rows[points.slots[j]], context[start + a])
        for k in range(process.n_pairs[0]):
            weight = process.block[k, a]
            for j in range(n_points):
                answer[j] -= points.block[k, j] * weight
        for j in range(n_points):
            for i in range(j):
                answer[j] -= factor[j, i] * answer[i]
            answer[j] /= factor[j, j]
            process.squares[a] -= answer[j] * answer[j]
