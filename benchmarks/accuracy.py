"""How far the indices of sliding LinUCB stray from a fresh factorisation of the window's pairs, on unkind features.

    python -m benchmarks.accuracy                 every stream for a million rounds: a quarter of an hour
    python -m benchmarks.accuracy --rounds 20000 --only fresh one-hot

The policy plays; at rounds drawn at random the index of every action is compared with one worked out from the pairs in
the window, in extended precision. An error counts relatively to |<x, theta>| + beta width(x): where the two cancel, no
index is good to so many digits.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.sizes import Sizes
from benchmarks.stopwatch import RNG
from benchmarks.table import Row, row
from driftwise.core.play import play
from driftwise.core.types import Floats, Problem, new_trace
from driftwise.kernels.linear_optimism import most_promising_row, radius_for
from driftwise.kernels.ridge import solve
from driftwise.policies import SlidingLinUCB
from driftwise.worlds.arms import Levels
from driftwise.worlds.features import GAUSSIAN, FeatureTape

ROWS, POOL, NOISE, STRETCH = 40, 64, 0.1, 10_000

Rows = Callable[[Any, int], Floats]
Schedule = Callable[[Any, Any], Any]


def _any(rng: Any, rounds: Any) -> Any:
    return rng.integers(0, POOL, len(rounds))


class Stream(NamedTuple):
    """Sets of actions, and which of them is shown in a round."""

    dim: int
    window: int
    ridge: float
    rows: Rows
    which: Schedule = _any


def directions(rng: Any, dim: int) -> Floats:
    """Random unit vectors."""
    rows: Floats = rng.standard_normal((POOL, ROWS, dim))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    return rows


def nearly_collinear(rng: Any, dim: int) -> Floats:
    """All within a hundredth of one direction."""
    return np.full(dim, dim**-0.5) + 0.01 * directions(rng, dim)


def two_scales(rng: Any, dim: int) -> Floats:
    """Once more a thousand times larger."""
    rows = directions(rng, dim)
    return np.concatenate([rows, 1e3 * rows])


def odd_units(rng: Any, dim: int) -> Floats:
    """Every feature has a unit of its own."""
    return directions(rng, dim) * np.logspace(-3, 3, dim)


def one_hot(rng: Any, dim: int) -> Floats:
    """Arms without features in common."""
    return np.eye(dim)[None].repeat(POOL, axis=0)


def blocks(rng: Any, dim: int) -> Floats:
    """A block of five features per arm."""
    context, n_arms = rng.standard_normal((POOL, 5)), dim // 5
    rows = np.zeros((POOL, n_arms, dim))
    for arm in range(n_arms):
        rows[:, arm, 5 * arm : 5 * arm + 5] = context
    return rows


def staircase(rng: Any, dim: int) -> Floats:
    """Unit vectors, and one direction that comes a thousand and thirty times as long."""
    rows, large = directions(rng, dim), np.full((1, ROWS, dim), dim**-0.5)
    return np.concatenate([rows, 1e3 * large, 31.0 * large])


def alternate(rng: Any, rounds: Any) -> Any:
    """The first sets for seven hundred rounds, then the second."""
    return _any(rng, rounds) + POOL * (rounds // 700 % 2)


def rarely(rng: Any, rounds: Any) -> Any:
    """One of the second sets now and then."""
    return _any(rng, rounds) + POOL * (rng.random(len(rounds)) < 1 / 600)


def down_the_stairs(rng: Any, rounds: Any) -> Any:
    """The longest first: what outweighs the rest leaves the window in steps."""
    step = rounds % 100
    return np.where(step < 2, POOL + step, _any(rng, rounds))


STREAMS = {
    "fresh": Stream(200, 1000, 1.0, directions),
    "fresh, ridge 1e-3": Stream(50, 300, 1e-3, directions),
    "window shorter than d": Stream(200, 50, 1.0, directions),
    "short, ridge 1e-3": Stream(20, 3, 1e-3, directions),
    "collinear": Stream(20, 300, 1.0, nearly_collinear),
    "collinear, ridge 1e-3": Stream(20, 300, 1e-3, nearly_collinear),
    "scale changes by 1e3": Stream(20, 300, 1.0, two_scales, alternate),
    "scale and ridge": Stream(5, 300, 1e-3, two_scales, alternate),
    "rarely 1e3": Stream(50, 300, 1.0, two_scales, rarely),
    "odd units": Stream(20, 300, 1.0, odd_units),
    "one-hot": Stream(40, 300, 1.0, one_hot),
    "one-hot, short, ridge 1e-3": Stream(40, 10, 1e-3, one_hot),
    "blocks": Stream(40, 300, 1.0, blocks),
    "staircase": Stream(20, 50, 1.0, staircase, down_the_stairs),
}


class Game:
    """Sliding LinUCB on a stream."""

    def __init__(self, stream: Stream, seed: int = 0) -> None:
        self.stream, self.rng, self.t = stream, np.random.default_rng(seed), 0
        self.policy = SlidingLinUCB(window=stream.window, ridge=stream.ridge)
        self.sets = np.ascontiguousarray(stream.rows(self.rng, stream.dim))
        self.n_rows = self.sets.shape[1]
        theta = self.rng.standard_normal(stream.dim)
        self.means = self.sets @ (theta / np.linalg.norm(theta))
        self.state = self.policy.init(Problem(self.n_rows, -np.inf, np.inf, NOISE, 0, stream.dim, unit=1.0))

    def play(self, stop: int) -> None:
        """Play on to round `stop`."""
        while self.t < stop:
            rounds = np.arange(self.t, min(stop, self.t + STRETCH))
            which = self.stream.which(self.rng, rounds).astype(np.int32)
            noise, levels = self.rng.standard_normal(len(rounds)), Levels(self.means, which)
            path = np.zeros((1, self.stream.dim))
            tape = FeatureTape(self.t, levels, noise, NOISE, GAUSSIAN, self.sets, which, path)
            play(self.policy, self.state, tape, (), RNG, new_trace(self.t, len(rounds)), int(rounds[-1]) + 1)
            self.t = int(rounds[-1]) + 1

    def error(self) -> float:
        """The largest relative error of an index, were the actions of the next round shown now."""
        rows = self.sets[int(self.stream.which(self.rng, np.array([self.t]))[0])]
        ridge, window = self.state.ridge, self.state.window
        radius = radius_for.function(self.policy, self.state.scale, self.state.doubt[0])
        solve(ridge)
        most_promising_row(ridge, rows, radius)
        ours = ridge.forms.means[: self.n_rows].copy()
        means, widths = exact(window.features[window.filled], window.rewards[window.filled], self.stream.ridge, rows)
        return float(np.max(np.abs(ours - means - radius * widths) / (np.abs(means) + radius * widths)))


def exact(features: Floats, rewards: Floats, ridge: float, rows: Floats) -> tuple[Any, Any]:
    """<x, theta> and the width of every row, from the pairs, in extended precision."""
    x, y = features.astype(np.longdouble), rewards.astype(np.longdouble)
    lower = _cholesky(x.T @ x + np.longdouble(ridge) * np.eye(x.shape[1], dtype=np.longdouble))
    solved = _forward(lower, np.column_stack([x.T @ y, rows.T.astype(np.longdouble)]))
    return solved[:, 1:].T @ solved[:, 0], np.sqrt((solved[:, 1:] ** 2).sum(axis=0))


def _cholesky(matrix: Any) -> Any:
    lower = np.zeros_like(matrix)
    for k in range(len(matrix)):
        lower[k, k] = np.sqrt(matrix[k, k] - lower[k, :k] @ lower[k, :k])
        lower[k + 1 :, k] = (matrix[k + 1 :, k] - lower[k + 1 :, :k] @ lower[k, :k]) / lower[k, k]
    return lower


def _forward(lower: Any, right: Any) -> Any:
    solved = right.copy()
    for k in range(len(lower)):
        solved[k] = (right[k] - lower[k, :k] @ solved[:k]) / lower[k, k]
    return solved


def worst_error(game: Game, rounds: int, looks: int, say: Callable[[str], None] = lambda text: None) -> float:
    """The largest error over `rounds` rounds, by looking at some drawn at random, one in each of `looks` stretches."""
    worst, stretch = 0.0, rounds // looks
    for look in range(looks):
        game.play(look * stretch + int(game.rng.integers(1, stretch + 1)))
        worst = max(worst, game.error())
        if look % max(1, looks // 10) == 0:
            say(f"round {game.t:,}: worst so far {worst:.1e}, {game.state.ridge.repairs[0]:,} fresh inverses")
    game.play(rounds)
    return max(worst, game.error())


def rows(sizes: Sizes) -> list[Row]:
    """A row per stream."""
    return [_row(name, sizes.accuracy_rounds) for name in STREAMS]


def _row(name: str, rounds: int) -> Row:
    stream = STREAMS[name]
    game = Game(stream)
    worst = worst_error(game, rounds, _looks(stream))
    return row(
        f"index, relative error, {name}",
        unit="",
        ours=worst,
        target="accuracy",
        note=f"d={stream.dim}, w={stream.window}: {game.state.ridge.repairs[0]:,} fresh inverses in {rounds:,} rounds",
    )


def _looks(stream: Stream) -> int:
    """Fewer where the exact answer takes long."""
    return 20 if stream.dim > 100 else 100


def main() -> int:
    """Play the streams, a line each."""
    parser = argparse.ArgumentParser(description="Compare indices with exact ones, over long runs.")
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", choices=list(STREAMS), default=list(STREAMS), metavar="STREAM")
    options = parser.parse_args()
    for name in options.only:
        game = Game(STREAMS[name])
        looks = min(options.rounds, 5 * _looks(STREAMS[name]))
        worst = worst_error(game, options.rounds, looks, lambda text, name=name: print(f"  {name}: {text}", flush=True))  # type: ignore[misc]
        print(f"{name}: {worst:.1e} in {options.rounds:,} rounds, {game.state.ridge.repairs[0]:,} fresh inverses")
    return 0


if __name__ == "__main__":
    sys.exit(main())
