"""Any world, with rewards that come late or never.

When a reward comes does not depend on what was chosen, so delays are on the tape. The mailbox is `nature`: decisions
wait in a ring by their own round, and hang in lists by the round they arrive in. Within a round the oldest comes first.
A decision pends until its reward comes. That one is lost is known when no reward can come any more, after the longest
delay: until then it pends, too.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.dispatch import decision_of, put_costs, put_row, take_outcome
from driftwise.core.family import FAMILIES, Late
from driftwise.core.kernel import kernel
from driftwise.core.random import fill_uniform
from driftwise.core.seeding import key
from driftwise.core.types import Decision, Floats, Ints
from driftwise.core.validation import cast_fields, number, whole
from driftwise.core.verbs import observe, pend, register, respond, settle, update
from driftwise.errors import ParameterError

LOST = -1
LONGEST = 10**7


class DelayedTape(NamedTuple):
    """A tape, and how many rounds after round start + i its reward arrives; LOST means never."""

    start: int
    tape: Any
    delays: NDArray[np.int64]

    def __getattr__(self, name: str) -> Any:
        """What else there is to know of it is known by the tape behind."""
        return _behind(self.tape, name)


class Mailbox(NamedTuple):
    """Decisions under way. Slot t mod size belongs to round t; `first`, `last` and `after` are lists by arrival."""

    nature: Any
    actions: Ints
    rewards: Floats
    propensities: Floats
    contexts: Any
    costs: Any
    streams: NDArray[np.uint64]
    lost: NDArray[np.bool_]
    rounds: Ints
    first: Ints
    last: Ints
    after: Ints

    def __getattr__(self, name: str) -> Any:
        """What else there is to know of it is known by the nature behind."""
        return _behind(self.nature, name)


def _behind(thing: object, name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(thing, name)


@kernel
def _observe(tape: DelayedTape, nature: Mailbox, t: int) -> Any:
    return observe(tape.tape, nature.nature, t)


@kernel
def _respond(tape: DelayedTape, nature: Mailbox, t: int, action: Any) -> Any:
    return respond(tape.tape, nature.nature, t, action)


@kernel
def _deliver(tape: DelayedTape, nature: Mailbox, policy: Any, state: Any, decision: Decision, outcome: Any) -> None:
    size = len(nature.rounds)
    now = decision.t
    here = now % size
    delay = tape.delays[now - tape.start]
    nature.lost[here] = delay == LOST
    if delay == LOST:
        delay = size - 1
    _post(nature, here, (now + delay) % size, decision, outcome)
    pend(policy, state, decision)
    slot = nature.first[here]
    nature.first[here] = -1
    while slot >= 0:
        late = decision_of(
            nature.rounds[slot],
            nature.actions[slot],
            nature.propensities[slot],
            nature.contexts,
            slot,
            nature.streams[slot],
        )
        settle(policy, state, late)
        if not nature.lost[slot]:
            update(policy, state, late, take_outcome(nature.costs, slot, nature.rewards[slot]), now)
        slot = nature.after[slot]


@kernel
def _post(nature: Mailbox, slot: int, due: int, decision: Decision, outcome: Any) -> None:
    """Hang a decision at the end of the list of the round it is due in."""
    nature.rounds[slot] = decision.t
    nature.actions[slot] = decision.action
    nature.propensities[slot] = decision.propensity
    put_row(nature.contexts, slot, decision.context)
    nature.streams[slot] = decision.rng
    nature.rewards[slot] = outcome.reward
    put_costs(nature.costs, slot, outcome)
    nature.after[slot] = -1
    if nature.first[due] < 0:
        nature.first[due] = slot
    else:
        nature.after[nature.last[due]] = slot
    nature.last[due] = slot


register(DelayedTape, observe=_observe, respond=_respond, deliver=_deliver)


@dataclass(frozen=True, kw_only=True)
class Delayed:
    """A world whose rewards arrive late, or are lost.

    Parameters
    ----------
    world : ArmedWorld
        The world behind.
    delay : float
        Rounds until a reward comes; the mean, when `kind` is geometric.
    kind : str
        `fixed` or `geometric`.
    lost : float
        Share of rewards that never come.
    """

    world: Any
    delay: float = 0.0
    kind: str = "fixed"
    lost: float = 0.0

    unused_parameters: ClassVar[tuple[str, ...]] = ()  # its own: the world behind has a list for itself

    def __post_init__(self) -> None:
        number("lost", self.lost, above=0.0, below=1.0, closed="[")
        if isinstance(self.world, Delayed):
            raise ParameterError("a delayed world cannot be delayed again: give it the longer delay")
        family = FAMILIES[self.world.problem().family]
        if family.late is None:
            raise ParameterError(f"a {family.name} world cannot be delayed: delay one where a single arm is chosen")
        if self.kind not in ("fixed", "geometric"):
            raise ParameterError(f"delay kind {self.kind!r} is not one of fixed, geometric")
        if self.kind == "fixed":
            whole("delay", self.delay, low=0, high=LONGEST)
        else:
            number("delay", self.delay, above=0.0, below=LONGEST, closed="[]")
        cast_fields(self)

    @property
    def longest(self) -> int:
        """No reward comes later than this many rounds after its decision."""
        if self.kind == "fixed" or self.delay == 0.0:
            return int(self.delay)
        return math.ceil(37.0 / math.log1p(1.0 / self.delay))  # -log of the smallest 53-bit uniform is below 37

    def __getattr__(self, name: str) -> Any:
        """All else is as in the world behind."""
        return _behind(self.world, name)

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[DelayedTape]:
        """The tapes of the world behind, each with its delays."""
        late, gone = key(seed, "delays"), key(seed, "losses")
        for tape in self.world.tapes(horizon, seed, size):
            draws = np.empty((2, len(tape.levels.rows)))
            fill_uniform(late, tape.start, draws[0])
            fill_uniform(gone, tape.start, draws[1])
            delays = np.where(draws[1] < self.lost, LOST, self._delays(draws[0]))
            yield DelayedTape(tape.start, tape, delays.astype(np.int64))

    def _delays(self, uniforms: Floats) -> NDArray[Any]:
        if self.kind == "fixed" or self.delay == 0.0:
            return np.full(len(uniforms), int(self.delay))
        quotient = math.log1p(-1.0 / (1.0 + self.delay))  # geometric from 0 on, with the given mean
        return np.floor(np.log1p(-uniforms) / quotient)

    def nature(self, horizon: int = 0) -> Mailbox:
        """An empty mailbox."""
        size, problem = self.longest + 1, self.problem(horizon)
        late = FAMILIES[problem.family].late or Late()
        width, resources = late.row(problem), late.costs(problem)
        return Mailbox(
            nature=self.world.nature(horizon),
            actions=np.zeros(size, np.int64),
            rewards=np.zeros(size),
            propensities=np.zeros(size),
            contexts=np.zeros((size, width)) if width else (),
            costs=np.zeros((size, resources)) if resources else (),
            streams=np.zeros(size, np.uint64),
            lost=np.zeros(size, np.bool_),
            rounds=np.zeros(size, np.int64),
            first=np.full(size, -1, np.int64),
            last=np.full(size, -1, np.int64),
            after=np.full(size, -1, np.int64),
        )

    def draw(self, horizon: int, seed: int) -> tuple[DelayedTape, Mailbox]:
        """The whole world as one tape, and an empty mailbox."""
        (tape,) = self.tapes(horizon, seed, size=whole("horizon", horizon))
        return tape, self.nature(horizon)
