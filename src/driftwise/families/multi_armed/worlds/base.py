"""Worlds of K arms: what they share. A world only says how its means drift; rewards, blocks and tapes are here.

    Bernoulli   reward 1 when noise_t < mean_{t,k}, noise_t uniform
    Gaussian    reward mean_{t,k} + sd noise_t, noise_t standard normal

One noise a round serves whichever arm is chosen: each policy sees the right law, and all see the same luck.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import fill_normal, fill_uniform
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Outcome, Problem
from driftwise.core.validation import cast_fields, number, whole
from driftwise.core.verbs import register
from driftwise.errors import ArmError, ParameterError
from driftwise.measure.base_world import BaseWorld
from driftwise.measure.levels import Drift, Levels


class BernoulliTape(NamedTuple):
    """Rounds start .. start + len(noise) - 1 of a world with rewards 0 and 1."""

    start: int
    levels: Levels
    noise: Floats


class GaussianTape(NamedTuple):
    """Rounds start .. start + len(noise) - 1 of a world with rewards spread by `sd` around their means."""

    start: int
    levels: Levels
    noise: Floats
    sd: float


@kernel
def _mean(tape: Any, i: int, action: int) -> float:
    if action < 0 or action >= tape.levels.table.shape[1]:
        raise ArmError("the policy chose an arm that does not exist")
    return float(tape.levels.table[tape.levels.rows[i], action])


@kernel
def _observe(tape: Any, nature: Any, t: int) -> tuple[tuple[()], bool]:
    return (), True


@kernel
def _respond_bernoulli(tape: BernoulliTape, nature: Any, t: int, action: int) -> Outcome:
    i = t - tape.start
    return Outcome(1.0 if tape.noise[i] < _mean(tape, i, action) else 0.0)


@kernel
def _respond_gaussian(tape: GaussianTape, nature: Any, t: int, action: int) -> Outcome:
    i = t - tape.start
    return Outcome(_mean(tape, i, action) + tape.sd * tape.noise[i])


register(BernoulliTape, observe=_observe, respond=_respond_bernoulli)
register(GaussianTape, observe=_observe, respond=_respond_gaussian)


@dataclass(frozen=True, kw_only=True)
class ArmedWorld(BaseWorld):
    """K arms whose means drift; subclasses write `drift` in plain NumPy.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    rewards : str
        `bernoulli` (0 or 1) or `gaussian`.
    sd : float
        Spread of Gaussian rewards around their mean.
    """

    n_arms: int = 5
    rewards: str = "bernoulli"
    sd: float = 0.25

    KINDS: ClassVar[tuple[str, ...]] = ("bernoulli", "gaussian")

    def __post_init__(self) -> None:
        cast_fields(self)
        whole("n_arms", self.n_arms, low=2, high=10**6)
        number("sd", self.sd, above=0.0)
        if self.rewards not in self.KINDS:
            raise ParameterError(f"rewards={self.rewards} is not one of {', '.join(self.KINDS)}")

    @property
    def unused_parameters(self) -> tuple[str, ...]:
        """Rewards 0 and 1 have the spread that their mean gives them."""
        return () if self.rewards == "gaussian" else ("sd",)

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world."""
        if self.rewards == "gaussian":
            return Problem(self.n_arms, -np.inf, np.inf, self.sd, horizon, unit=1.0)
        return Problem(self.n_arms, horizon=horizon)

    @abstractmethod
    def drift(self, horizon: int, seed: int) -> Drift:
        """A function `(start, stop) -> Levels`; it is called in order, block after block."""

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[Any]:
        """The world in blocks of at most `size` rounds: the same rounds, however they are cut."""
        horizon, size = whole("horizon", horizon), whole("size", self.block if size is None else size)
        drift, rng = self.drift(horizon, seed), key(seed, "noise")
        for start in range(0, horizon, size):
            stop = min(horizon, start + size)
            levels, noise = self._checked(drift(start, stop), stop - start), np.empty(stop - start)
            if self.rewards == "gaussian":
                fill_normal(rng, start, noise)
                yield GaussianTape(start, levels, noise, float(self.sd))
            else:
                fill_uniform(rng, start, noise)
                yield BernoulliTape(start, levels, noise)

    def _checked(self, levels: Levels, rounds: int) -> Levels:
        """What a world says of its means is checked once a block: kernels trust it."""
        table = np.ascontiguousarray(levels.table, np.float64)
        rows = np.ascontiguousarray(levels.rows, np.int32)
        name = type(self).__name__
        if table.ndim != 2 or table.shape[1] != self.n_arms:
            raise ParameterError(f"{name} gave means of shape {table.shape}: a row holds n_arms={self.n_arms} numbers")
        if rows.shape != (rounds,) or rows.min(initial=0) < 0 or rows.max(initial=0) >= len(table):
            raise ParameterError(f"{name} gave {rows.size} rows for {rounds} rounds and a table of {len(table)}")
        low, high = float(table.min()), float(table.max())
        if not np.isfinite(low + high):
            raise ParameterError(f"{name} gave a mean that is not finite")
        if self.rewards == "bernoulli" and not -1e-12 <= low <= high <= 1.0 + 1e-12:
            raise ParameterError(f"{name} gave means from {low:g} to {high:g}: Bernoulli means lie in [0, 1]")
        return Levels(table, rows)
