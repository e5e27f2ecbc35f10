"""Worlds of actions with features: what they share. A world only says how its parameter drifts; the rest is here.

    mean of action a in round t     g(<x_{t,a}, theta_t>)      g the inverse link
    identity   reward <x, theta> + sd noise_t                  noise_t standard normal
    logistic   reward 1 when noise_t < 1 / (1 + exp(-<x, theta>)), noise_t uniform
    poisson    the count whose distribution function first exceeds noise_t, mean exp(<x, theta>)

One noise a round serves whichever action is chosen: each policy sees the right law, and all see the same luck. The
means of all actions are worked out when the tape is drawn, so regret needs to know nothing of features.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.kernel import kernel
from driftwise.core.random import fill_normal, fill_uniform, normal, stream
from driftwise.core.seeding import generator, key
from driftwise.core.types import Floats, Outcome, Problem
from driftwise.core.validation import cast_fields, number, whole
from driftwise.core.verbs import register
from driftwise.errors import ArmError, ParameterError
from driftwise.measure.base_world import BaseWorld
from driftwise.measure.levels import BLOCK, BLOCK_NUMBERS, Levels
from driftwise.measure.variation import Course

GAUSSIAN, BERNOULLI, POISSON = 0, 1, 2
LAWS = {"identity": GAUSSIAN, "logistic": BERNOULLI, "poisson": POISSON}
Path = Callable[[int, int], Floats]
MOST_SIGNS = 12  # features of corner actions: there are 2^12 of them


class FeatureTape(NamedTuple):
    """Rounds start .. start + len(noise) - 1. Round i shows `sets[which[i]]`; `path[i]` is the parameter behind it."""

    start: int
    levels: Levels
    noise: Floats
    sd: float
    law: int
    sets: Floats
    which: NDArray[np.int32]
    path: Floats


@kernel
def _observe(tape: FeatureTape, nature: Any, t: int) -> Any:
    return tape.sets[tape.which[t - tape.start]], True


@kernel
def _respond(tape: FeatureTape, nature: Any, t: int, action: int) -> Outcome:
    i = t - tape.start
    if action < 0 or action >= tape.levels.table.shape[1]:
        raise ArmError("the policy chose an action that does not exist")
    mean = tape.levels.table[tape.levels.rows[i], action]
    if tape.law == GAUSSIAN:
        return Outcome(mean + tape.sd * tape.noise[i])
    if tape.law == BERNOULLI:
        return Outcome(1.0 if tape.noise[i] < mean else 0.0)
    return Outcome(_count(mean, tape.noise[i]))


@kernel(inline=False)
def _count(mean: float, level: float) -> float:
    """The Poisson count at a level of its distribution function."""
    chance = math.exp(-mean)
    total, count = chance, 0.0
    while total <= level and chance > 0.0:
        count += 1.0
        chance *= mean / count
        total += chance
    return count


@kernel
def _fill_directions(rng: Any, start: int, rows: Floats) -> None:
    """Random unit vectors; row i is a function of (rng, start + i) alone: blocks join without a seam."""
    dim = rows.shape[1]
    for i in range(len(rows)):
        own, square = stream(rng, start + i), 0.0
        for j in range(dim):
            rows[i, j], own = normal(own)
            square += rows[i, j] * rows[i, j]
        scale = 1.0 / math.sqrt(square)
        for j in range(dim):
            rows[i, j] *= scale


@kernel
def _fill_scores(sets: Floats, which: Any, theta: Floats, out: Floats) -> None:
    """`out[t, a]` is the product of action a's features and the parameter of round t."""
    for t in range(len(out)):
        place = which[t]
        for a in range(out.shape[1]):
            score = 0.0
            for j in range(theta.shape[1]):
                score += sets[place, a, j] * theta[t, j]
            out[t, a] = score


@kernel
def _unlink(law: int, scores: Floats) -> None:
    """Scores become means, in place."""
    for i in range(len(scores) if law != GAUSSIAN else 0):
        scores[i] = math.exp(scores[i]) if law == POISSON else 1.0 / (1.0 + math.exp(-scores[i]))


register(FeatureTape, observe=_observe, respond=_respond)


@dataclass(frozen=True, kw_only=True)
class FeaturedWorld(BaseWorld):
    """Actions described by features, and a drifting parameter behind their rewards; subclasses write `path`.

    Parameters
    ----------
    dim : int
        Number of features.
    n_actions : int
        Actions to choose from in a round; with `basis` actions there are `dim`, with `corners` 2^dim.
    actions : str
        `fresh` (random unit vectors, new every round), `fixed` (random unit vectors, the same throughout), `basis`
        (the unit vectors of the axes: arms without features in common) or `corners` (those of a hypercube inside the
        unit ball: every sign of 1 / sqrt(dim) in every place).
    link : str
        `identity` (linear, Gaussian noise), `logistic` (rewards 0 and 1) or `poisson` (counts).
    sd : float
        Spread of linear rewards around their mean.
    """

    dim: int = 5
    n_actions: int = 40
    actions: str = "fresh"
    link: str = "identity"
    sd: float = 0.1

    SETS: ClassVar[tuple[str, ...]] = ("fresh", "fixed", "basis", "corners")

    def __post_init__(self) -> None:
        cast_fields(self)
        whole("dim", self.dim, high=10**4)
        whole("n_actions", self.n_actions, low=2, high=10**6)
        number("sd", self.sd, above=0.0)
        if self.actions not in self.SETS:
            raise ParameterError(f"actions={self.actions} is not one of {', '.join(self.SETS)}")
        if self.actions == "basis" and self.dim < 2:
            raise ParameterError(f"dim={self.dim} leaves no choice: basis actions need dim of at least 2")
        if self.actions == "corners" and self.dim > MOST_SIGNS:
            raise ParameterError(f"dim={self.dim} gives 2^{self.dim} corners: corners need dim of at most {MOST_SIGNS}")
        if self.link not in LAWS:
            raise ParameterError(f"link={self.link} is not one of {', '.join(LAWS)}")

    @property
    def choices(self) -> int:
        """Actions in a round."""
        counts = {"basis": self.dim, "corners": 1 << min(self.dim, MOST_SIGNS)}
        return counts.get(self.actions, self.n_actions)

    @property
    def unused_parameters(self) -> tuple[str, ...]:
        """Only linear rewards have a spread of their own; the sets of some actions have the size that `dim` gives."""
        spread = () if self.link == "identity" else ("sd",)
        return (*spread, "n_actions") if self.actions in ("basis", "corners") else spread

    @property
    def lasting(self) -> bool:
        """Whether action k is the same action in every round; of fresh ones, no mean can be followed through time."""
        return self.actions != "fresh"

    @property
    def block(self) -> int:
        """Rounds in a block: fewer where every round brings features of its own."""
        return BLOCK if self.actions != "fresh" else max(1, min(BLOCK, BLOCK_NUMBERS // (self.n_actions * self.dim)))

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world; parameters are about 1 long, and so are means."""
        ranges = {"identity": (-np.inf, np.inf, self.sd), "logistic": (0.0, 1.0, 0.5), "poisson": (0.0, np.inf, 1.0)}
        low, high, noise = ranges[self.link]
        return Problem(self.choices, low, high, noise, horizon, self.dim, unit=1.0, family="contextual")

    @abstractmethod
    def path(self, horizon: int, seed: int) -> Path:
        """A function `(start, stop) -> parameters`, a row per round; it is called in order, block after block."""

    def courses(self, horizon: int, seed: int) -> Iterator[Course]:
        """The parameter, and the means where actions last; of fresh actions only the parameter is drawn."""
        if self.lasting:
            yield from super().courses(horizon, seed)
            return
        path = self.path(whole("horizon", horizon), seed)
        for start in range(0, horizon, BLOCK):
            yield Course(start, Levels.of_each_round(path(start, min(horizon, start + BLOCK))), None)

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[FeatureTape]:
        """The world in blocks of at most `size` rounds: the same rounds, however they are cut."""
        horizon, size = whole("horizon", horizon), whole("size", self.block if size is None else size)
        path, rng, law = self.path(horizon, seed), key(seed, "noise"), LAWS[self.link]
        for start in range(0, horizon, size):
            stop = min(horizon, start + size)
            theta, noise = self._checked(path(start, stop), stop - start), np.empty(stop - start)
            sets, which = self._sets(seed, start, stop)
            (fill_normal if law == GAUSSIAN else fill_uniform)(rng, start, noise)
            levels = Levels.of_each_round(self._means(sets, which, theta))
            yield FeatureTape(start, levels, noise, float(self.sd), law, sets, which, theta)

    def _sets(self, seed: int, start: int, stop: int) -> tuple[Floats, NDArray[np.int32]]:
        """The action sets of a stretch of rounds, and which round has which."""
        if self.actions == "basis":
            return np.eye(self.dim)[None], np.zeros(stop - start, np.int32)
        if self.actions == "corners":
            return corners(self.dim)[None] / math.sqrt(self.dim), np.zeros(stop - start, np.int32)
        fresh = self.actions == "fresh"
        sets = np.empty(((stop - start) if fresh else 1, self.n_actions, self.dim))
        _fill_directions(key(seed, "actions"), start * self.n_actions if fresh else 0, sets.reshape(-1, self.dim))
        return sets, np.arange(stop - start, dtype=np.int32) if fresh else np.zeros(stop - start, np.int32)

    def _means(self, sets: Floats, which: NDArray[np.int32], theta: Floats) -> Floats:
        if self.actions == "basis":
            means = theta.copy()
        else:
            means = np.empty((len(theta), self.choices))
            _fill_scores(sets, which, theta, means)
        _unlink(LAWS[self.link], means.reshape(-1))
        return means

    def _checked(self, path: Floats, rounds: int) -> Floats:
        """What a world says of its parameter is checked once a block: kernels trust it."""
        theta = np.ascontiguousarray(path, np.float64)
        if theta.shape != (rounds, self.dim):
            raise ParameterError(
                f"{type(self).__name__} gave parameters of shape {theta.shape}: "
                f"{rounds} rounds need {rounds} rows of dim={self.dim} numbers"
            )
        if not np.isfinite(theta).all():
            raise ParameterError(f"{type(self).__name__} gave a parameter that is not finite")
        return theta


def unit_vectors(count: int, dim: int, seed: int, name: str) -> Floats:
    """Random directions, a row each."""
    rows = generator(seed, name).standard_normal((count, dim))
    directions: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return directions


def corners(dim: int) -> Floats:
    """Every row of `dim` signs.

    >>> corners(2)
    array([[ 1.,  1.],
           [-1.,  1.],
           [ 1., -1.],
           [-1., -1.]])
    """
    places = np.arange(2**dim)[:, None] >> np.arange(dim)[None, :]
    return np.asarray(1.0 - 2.0 * (places & 1), float)
