"""Build the C twins on the fly and call them from Python."""

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.core import random
from driftwise.core.types import Trace
from driftwise.families import PrequentialPacing, SlidingKnapsackUCB, SlidingLinUCB, SlidingThompson, SlidingUCB
from driftwise.families.contextual.linear_optimism import radius_for
from driftwise.families.knapsack.worlds.base import BudgetTape, Till
from driftwise.families.multi_armed import beta_thompson as beta_race

SOURCES = [str(Path(__file__).with_name(name)) for name in ("twin.c", "linear.c", "knapsack.c", "pacing.c")]
FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]


def build() -> ctypes.CDLL:
    """Compile the twins with gcc and hand them the ziggurat's tables."""
    with tempfile.TemporaryDirectory(prefix="driftwise-twin-") as folder:
        target = Path(folder) / "twin.so"
        subprocess.run(["gcc", *FLAGS, "-o", str(target), *SOURCES, "-lm"], check=True)
        library = ctypes.CDLL(str(target))  # once loaded, its file may go
    tables = [random.NORMAL_X, random.NORMAL_F, random.EXPONENTIAL_X, random.EXPONENTIAL_F, beta_race.TABLE]
    edges = [ctypes.c_double(random.NORMAL_EDGE), ctypes.c_double(random.EXPONENTIAL_EDGE)]
    library.tables(*map(_pointer, tables), *edges)
    for function in (library.sliding_lin_ucb, library.sliding_knapsack_ucb, library.prequential_pacing):
        function.restype = ctypes.c_int64
    return library


def play(library: ctypes.CDLL, policy: Any, tape: Any, rng: np.uint64, trace: Trace, problem: Any = None) -> int:
    """Play a whole tape that starts at round 0; the trace is filled as driftwise's `play` fills it.

    A Bernoulli tape of arms, or for linear policies a Gaussian one of features and the problem it poses. What is
    returned is the number of times an inverse was computed afresh.
    """
    return _PLAYERS[type(policy)](library, policy, tape, rng, trace, problem)


def _sliding_ucb(library: ctypes.CDLL, policy: SlidingUCB, tape: Any, rng: np.uint64, trace: Trace, _: Any) -> int:
    library.sliding_ucb(ctypes.c_int64(policy.window), ctypes.c_double(policy.xi), *_armed(tape, rng, trace))
    return 0


def _sliding_thompson(library: ctypes.CDLL, policy: Any, tape: Any, rng: np.uint64, trace: Trace, _: Any) -> int:
    library.sliding_thompson(ctypes.c_int64(policy.window), *_armed(tape, rng, trace))
    return 0


def _armed(tape: Any, rng: np.uint64, trace: Trace) -> list[Any]:
    shape = [ctypes.c_int64(tape.levels.table.shape[1]), ctypes.c_int64(len(tape.noise))]
    world = [_pointer(tape.levels.table), _pointer(tape.levels.rows), _pointer(tape.noise)]
    return [*shape, *world, ctypes.c_uint64(int(rng)), _pointer(trace.actions), _pointer(trace.rewards)]


def _sliding_lin_ucb(
    library: ctypes.CDLL, policy: SlidingLinUCB, tape: Any, rng: np.uint64, trace: Trace, problem: Any
) -> int:
    state = policy.init(problem)
    radius = radius_for.function(policy, state.scale, state.doubt[0])
    _, n_rows, dim = tape.sets.shape
    return int(
        library.sliding_lin_ucb(
            ctypes.c_int64(int(policy.window)),
            ctypes.c_double(policy.ridge),
            ctypes.c_double(radius),
            *map(ctypes.c_int64, (dim, n_rows, len(tape.noise))),
            *map(_pointer, (tape.sets, tape.which, tape.levels.table, tape.levels.rows)),
            ctypes.c_double(tape.sd),
            *map(_pointer, (tape.noise, trace.actions, trace.rewards)),
        )
    )


def spend(
    library: ctypes.CDLL, policy: Any, state: Any, tape: BudgetTape, till: Till, rng: np.uint64, trace: Trace
) -> int:
    """Play a whole tape with budgets; how many rounds were played. Trace and till are filled as `play` fills them.

    Of the state only its constants are read: C has a window of its own.
    """
    world, out = ctypes.byref(_World.of(tape, till)), [_pointer(trace.actions), _pointer(trace.rewards)]
    if isinstance(policy, SlidingKnapsackUCB):
        law = _Knapsack.of(policy, state)
        return int(library.sliding_knapsack_ucb(ctypes.byref(law), world, ctypes.c_uint64(int(rng)), *out))
    return int(library.prequential_pacing(ctypes.byref(_Pacing.of(policy, state)), world, *out))


class _World(ctypes.Structure):
    """The tape and the till, as budgets.h has them."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("arms", "resources", "rounds", "law", "stages")),
        *((name, ctypes.c_void_p) for name in ("rewards", "costs", "noise", "rows", "starts", "there", "known")),
        *((name, ctypes.c_void_p) for name in ("spent", "luck", "paid", "rates", "shut")),
    ]

    @classmethod
    def of(cls, tape: BudgetTape, till: Till) -> "_World":
        _, resources, arms = tape.costs.shape
        arrays = [tape.levels.table, tape.costs, tape.noise, tape.levels.rows, *tape.stages, *till]
        counts = [arms, resources, len(tape.noise), tape.law, len(tape.stages.starts)]
        return cls(*counts, *map(_pointer, arrays))


class _Knapsack(ctypes.Structure):
    """What sliding-knapsack-ucb goes by, as knapsack.c has it."""

    _fields_ = [
        ("sizes", ctypes.c_int64 * 2),
        *((name, ctypes.c_int64) for name in ("clip", "resolve")),
        *((name, ctypes.c_double * 2) for name in ("reaches", "gammas")),
        *((name, ctypes.c_double) for name in ("share", "unit")),
        ("rates", ctypes.c_void_p),
    ]

    @classmethod
    def of(cls, policy: SlidingKnapsackUCB, state: Any) -> "_Knapsack":
        sizes, reaches, gammas = tuple(state.window.sizes), tuple(state.reaches * state.spans), tuple(state.gammas)
        numbers = [state.share[0], state.unit[0]]
        return cls(sizes, policy.clip, policy.resolve, reaches, gammas, *numbers, _pointer(state.rates))


class _Pacing(ctypes.Structure):
    """What prequential-pacing goes by, as pacing.c has it."""

    _fields_ = [
        ("views", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("sizes", "reaches", "limits")),
        *((name, ctypes.c_double) for name in ("fade", "share", "step", "unit")),
    ]

    @classmethod
    def of(cls, policy: PrequentialPacing, state: Any) -> "_Pacing":
        arrays = (state.window.sizes, state.reaches, state.limits)
        numbers = [policy.fade, policy.share, state.step[0], state.unit[0]]
        return cls(len(state.pooled), *map(_pointer, arrays), *numbers)


_PLAYERS: dict[type, Callable[..., int]] = {
    SlidingUCB: _sliding_ucb,
    SlidingThompson: _sliding_thompson,
    SlidingLinUCB: _sliding_lin_ucb,
}


def _pointer(array: Any) -> Any:
    """The address of an array's first element, as C takes it."""
    return ctypes.c_void_p(array.ctypes.data)
