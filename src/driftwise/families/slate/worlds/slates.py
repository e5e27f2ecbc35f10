"""Several items are chosen at once, and each pays: products on a page, advertisements in a newsletter, crews on call.

    Bernoulli   item k pays 1 when noise_{t,k} < mean_{t,k}, noise uniform
    Gaussian    item k pays mean_{t,k} + sd noise_{t,k}, noise standard normal

The means are those of a world of bare arms, which are the items here. Items have noise of their own: the same item
pays the same in a round whatever it is shown beside.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.random import fill_normal, fill_uniform
from driftwise.core.seeding import key
from driftwise.core.spec import parse
from driftwise.core.types import Floats, Ints, Problem, SlateOutcome
from driftwise.core.validation import cast_fields, whole
from driftwise.core.verbs import register
from driftwise.errors import ArmError, ParameterError
from driftwise.families.multi_armed.worlds.abrupt import Abrupt
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.families.multi_armed.worlds.random_walk import RandomWalk
from driftwise.families.multi_armed.worlds.sinusoidal import Sinusoidal
from driftwise.families.multi_armed.worlds.stationary import Stationary
from driftwise.measure.base_world import BaseWorld
from driftwise.measure.levels import BLOCK, BLOCK_NUMBERS, Levels

GAUSSIAN, BERNOULLI = 0, 1
DRIFTS: dict[str, type[ArmedWorld]] = {
    "abrupt": Abrupt,
    "random-walk": RandomWalk,
    "sinusoidal": Sinusoidal,
    "stationary": Stationary,
}


class SlateTape(NamedTuple):
    """Rounds start .. start + len(noise) - 1, with a noise for each item."""

    start: int
    levels: Levels
    noise: Floats
    sd: float
    law: int


class Tray(NamedTuple):
    """What the items chosen in this round paid, in the order of the slate."""

    items: Floats


@kernel
def _observe(tape: SlateTape, nature: Tray, t: int) -> tuple[tuple[()], bool]:
    return (), True


@kernel
def _respond(tape: SlateTape, nature: Tray, t: int, action: Ints) -> SlateOutcome:
    _check(action, len(nature.items), tape.levels.table.shape[1])
    i, total = t - tape.start, 0.0
    for place in range(len(action)):
        item = action[place]
        mean, noise = tape.levels.table[tape.levels.rows[i], item], tape.noise[i, item]
        if tape.law == GAUSSIAN:
            nature.items[place] = mean + tape.sd * noise
        else:
            nature.items[place] = 1.0 if noise < mean else 0.0
        total += nature.items[place]
    return SlateOutcome(total, nature.items)


@kernel
def _check(action: Ints, size: int, n_items: int) -> None:
    if len(action) != size:
        raise ArmError("the policy chose a slate of another size")
    for place in range(size):
        if action[place] < 0 or action[place] >= n_items:
            raise ArmError("the policy chose an item that does not exist")
        for before in range(place):
            if action[before] == action[place]:
                raise ArmError("the policy chose an item twice")


register(SlateTape, observe=_observe, respond=_respond)


@dataclass(frozen=True, kw_only=True)
class Slates(BaseWorld):
    """Any `size` of the items are chosen in a round; their means drift as those of the arms of another world.

    Parameters
    ----------
    size : int
        Items in a slate.
    drift : str
        The world whose arms are the items, with its parameters: abrupt, random-walk, sinusoidal or stationary. On the
        command line it stands in parentheses: `slates:size=2,drift=(abrupt:n_arms=20,phases=3)`.

    >>> Slates(size=2, drift="abrupt:n_arms=20").problem().n_arms
    20
    """

    size: int = 3
    drift: str = "(sinusoidal:n_arms=12)"

    def __post_init__(self) -> None:
        cast_fields(self)
        bare = str(self.drift).removeprefix("(").removesuffix(")")
        object.__setattr__(self, "drift", f"({bare})" if ":" in bare else bare)
        whole("size", self.size)
        if self.size >= self.world.n_arms:
            raise ParameterError(f"size={self.size} leaves no choice among {self.world.n_arms} items")

    @property
    def world(self) -> ArmedWorld:
        """The world behind."""
        world: ArmedWorld = parse(self.drift.removeprefix("(").removesuffix(")"), DRIFTS, "drift")
        return world

    @property
    def block(self) -> int:
        """Rounds in a block: fewer where there are many items."""
        return max(1, min(BLOCK, BLOCK_NUMBERS // self.world.n_arms))

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know of this world; range and noise are those of an item."""
        return self.world.problem(horizon)._replace(slate=self.size, family="slate")

    def changes(self, horizon: int, seed: int) -> list[int]:
        """The same as those of the world behind."""
        return self.world.changes(horizon, seed)

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[SlateTape]:
        """The world in blocks of at most `size` rounds: the same rounds, however they are cut."""
        world, rng = self.world, key(seed, "items")
        gaussian = world.rewards == "gaussian"
        for tape in world.tapes(horizon, seed, whole("size", self.block if size is None else size)):
            noise = np.empty((len(tape.levels.rows), world.n_arms))
            (fill_normal if gaussian else fill_uniform)(rng, tape.start * world.n_arms, noise.reshape(-1))
            yield SlateTape(tape.start, tape.levels, noise, world.sd, GAUSSIAN if gaussian else BERNOULLI)

    def nature(self, horizon: int = 0) -> Tray:
        """An empty tray."""
        return Tray(np.zeros(self.size))
