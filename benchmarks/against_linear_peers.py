"""LinUCB with 40 arms and 5 features against other libraries, each of which keeps a ridge regression per arm.

Ours is played in two forms. With a regression per arm, as theirs, in their world: the context of a round becomes a row
per arm, in a block of its own with zeros elsewhere, 200 features in all. And with one regression for 40 rows of 5
features: as many actions and features, but a problem of its own.
"""

import numpy as np

from benchmarks.against_peers import Game, against, missing
from benchmarks.peers import settings
from benchmarks.peers.timing import LinearRound, Options, make_linear_world
from benchmarks.scaling import two_tapes
from benchmarks.sizes import Sizes
from benchmarks.table import Row
from driftwise.core.types import Floats, Problem
from driftwise.policies import LinUCB
from driftwise.worlds import Rotating
from driftwise.worlds.arms import Levels
from driftwise.worlds.features import GAUSSIAN, FeatureTape

ARMS, WARM_UP = 40, 200
ROUNDS = {"river": 1500, "mabwiser": 400, "contextualbandits": 400}
PER_ARM, SHARED = "lin-ucb", "lin-ucb of shared features"


def rows(sizes: Sizes) -> list[Row]:
    """Two rows per peer."""
    return [each for peer in ROUNDS for each in _peer(peer, sizes.peer_pairs)]


def skipped(why: str) -> list[Row]:
    """The rows unmeasured."""
    return [missing(peer, name, why) for peer in ROUNDS for name in (PER_ARM, SHARED)]


def _peer(peer: str, pairs: int) -> list[Row]:
    options = Options(rounds=ROUNDS[peer], arms=ARMS, window=WARM_UP, seed=0)
    games = {PER_ARM: _per_arm(options), SHARED: _shared(options)}
    asked = dict.fromkeys(games, "lin-ucb")
    return against(peer, games, asked, pairs, rounds=options.rounds, arms=ARMS, window=WARM_UP)


def _per_arm(options: Options) -> Game:
    warm_up, timed = make_linear_world(options)
    tapes = [_tape(0, warm_up), _tape(len(warm_up), timed)]
    return _game(options, ARMS * settings.FEATURES, tapes)


def _tape(start: int, rounds: list[LinearRound]) -> FeatureTape:
    noise, means = np.array([noise for noise, _, _ in rounds]), np.array([means for _, means, _ in rounds])
    contexts: Floats = np.array([context for _, _, context in rounds])
    sets: Floats = np.kron(np.eye(ARMS), contexts[:, None, :]).astype(np.float64)
    which, path = np.arange(len(rounds), dtype=np.int32), np.zeros((1, sets.shape[2]))
    return FeatureTape(start, Levels.of_each_round(means), noise, 1.0, GAUSSIAN, sets, which, path)


def _shared(options: Options) -> Game:
    world = Rotating(dim=settings.FEATURES, n_actions=ARMS, sd=settings.LINEAR_NOISE)
    return _game(options, settings.FEATURES, two_tapes(world, options.window, options.rounds))


def _game(options: Options, dim: int, tapes: list[FeatureTape]) -> Game:
    problem = Problem(ARMS, -np.inf, np.inf, settings.LINEAR_NOISE, options.horizon, dim, unit=1.0)
    return Game(LinUCB(ridge=settings.RIDGE), problem, tapes)
