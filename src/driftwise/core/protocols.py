"""What policies, worlds, tapes and comparators promise, method by method."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftwise.core.types import Floats, Problem, Record, State


class Policy(Record, Protocol):
    """A NamedTuple of parameters. Its behaviour is in the kernels registered for its class (`core/verbs.py`)."""

    def init(self, problem: Problem) -> State:
        """The state before the first round: a NamedTuple of arrays.

        Refuses, with a `ParameterError` that names the value and the rule, parameters or a problem it cannot work with.
        Allocates all that the policy will ever need: kernels allocate nothing. The same problem gives the same bytes.
        """


class LevelTable(Record, Protocol):
    """Numbers of every round, each distinct row stored once: round i has row `rows[i]` of `table`."""

    @property
    def table(self) -> Floats:
        """The distinct rows."""

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of each round."""


class Tape(Record, Protocol):
    """A block of rounds, from round `start` on: everything random that does not depend on what is chosen.

    It is a NamedTuple of arrays that kernels read (`observe`, `respond`) and never write.
    """

    @property
    def start(self) -> int:
        """The first round of the block."""

    @property
    def levels(self) -> LevelTable:
        """The means of every round, where actions have means (`measure/levels.py`)."""


class World(Protocol):
    """What policies are tried in: it says what is known in advance, and draws tapes."""

    def __hash__(self) -> int: ...

    @property
    def block(self) -> int:
        """How many rounds a tape should have, to fit into memory."""

    @property
    def lasting(self) -> bool:
        """Whether action k is the same action in every round; of fresh ones, no mean can be followed through time."""

    def problem(self, horizon: int = 0) -> Problem:
        """What a policy may know before the first round of a run of `horizon` rounds."""

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[Any]:
        """The tapes of one run, in order, each of at most `size` rounds.

        The same seed gives the same numbers whatever the size of the blocks.
        """

    def nature(self, horizon: int = 0) -> Any:
        """What the choices of one run change in the world, as it is before the first round; () where nothing."""

    def draw(self, horizon: int, seed: int) -> tuple[Any, Any]:
        """A whole run as one tape, and a fresh nature."""

    def changes(self, horizon: int, seed: int) -> list[int]:
        """The rounds at which something jumps, in order."""

    def courses(self, horizon: int, seed: int) -> Iterator[Any]:
        """What drifts, stretch by stretch: `Course` of `measure/variation.py`."""


class Comparator(Protocol):
    """What regret is measured against in one run of a world."""

    def __init__(self, world: World, horizon: int, seed: int) -> None: ...

    def block(self, tape: Any) -> Any:
        """What the verb `missed` compares the rounds of a tape with; called once for each tape, in order."""

    def tell(self, ledger: Any, nature: Any) -> Mapping[str, float]:
        """Further results of a run, at its end, by name."""
