"""LinUCB with 40 arms and 5 features against other libraries, each of which keeps a ridge regression per arm.

Ours has a regression per arm too: the context of a round becomes a row per arm, in a block of its own with zeros
elsewhere, 200 features in all.
"""

import numpy as np

from benchmarks.against_peers import Game, against, missing
from benchmarks.peers import settings
from benchmarks.peers.timing import LinearRound, Options, make_linear_world
from benchmarks.sizes import Sizes
from benchmarks.table import Row
from driftwise.core.types import Floats, Problem
from driftwise.families import LinUCB
from driftwise.families.contextual.worlds.base import GAUSSIAN, FeatureTape
from driftwise.measure.levels import Levels

ARMS, WARM_UP = 40, 200
ROUNDS = {"pymab": 1500, "river": 1500, "mabwiser": 400, "contextualbandits": 400, "bayesianbandits": 100}
CASE = "lin-ucb"


def rows(sizes: Sizes) -> list[Row]:
    """A row per peer."""
    return [each for peer in ROUNDS for each in _peer(peer, sizes.peer_pairs)]


def skipped(why: str) -> list[Row]:
    """The rows unmeasured."""
    return [missing(peer, CASE, why) for peer in ROUNDS]


def _peer(peer: str, pairs: int) -> list[Row]:
    options = Options(rounds=ROUNDS[peer], arms=ARMS, window=WARM_UP, seed=0)
    return against(peer, {CASE: game(options)}, {CASE: CASE}, pairs, rounds=options.rounds, arms=ARMS, window=WARM_UP)


def game(options: Options) -> Game:
    """The same world for our policy."""
    warm_up, timed = make_linear_world(options)
    tapes = [_tape(0, warm_up), _tape(len(warm_up), timed)]
    dim = ARMS * settings.FEATURES
    problem = Problem(ARMS, -np.inf, np.inf, settings.LINEAR_NOISE, options.horizon, dim, unit=1.0, family="contextual")
    return Game(LinUCB(ridge=settings.RIDGE), problem, tapes)


def _tape(start: int, rounds: list[LinearRound]) -> FeatureTape:
    noise, means = np.array([noise for noise, _, _ in rounds]), np.array([means for _, means, _ in rounds])
    contexts: Floats = np.array([context for _, _, context in rounds])
    sets: Floats = np.kron(np.eye(ARMS), contexts[:, None, :]).astype(np.float64)
    which, path = np.arange(len(rounds), dtype=np.int32), np.zeros((1, sets.shape[2]))
    return FeatureTape(start, Levels.of_each_round(means), noise, 1.0, GAUSSIAN, sets, which, path)
