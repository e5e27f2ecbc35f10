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
from driftwise.kernels import beta_race
from driftwise.policies import SlidingLinUCB, SlidingThompson, SlidingUCB

SOURCES = [str(Path(__file__).with_name(name)) for name in ("twin.c", "linear.c")]
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
    library.sliding_lin_ucb.restype = ctypes.c_int64
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
    radius = policy.init(problem).radius[0]
    _, n_rows, dim = tape.sets.shape
    return int(
        library.sliding_lin_ucb(
            ctypes.c_int64(policy.window),
            ctypes.c_double(policy.ridge),
            ctypes.c_double(radius),
            *map(ctypes.c_int64, (dim, n_rows, len(tape.noise))),
            *map(_pointer, (tape.sets, tape.which, tape.levels.table, tape.levels.rows)),
            ctypes.c_double(tape.sd),
            *map(_pointer, (tape.noise, trace.actions, trace.rewards)),
        )
    )


_PLAYERS: dict[type, Callable[..., int]] = {
    SlidingUCB: _sliding_ucb,
    SlidingThompson: _sliding_thompson,
    SlidingLinUCB: _sliding_lin_ucb,
}


def _pointer(array: Any) -> Any:
    """The address of an array's first element, as C takes it."""
    return ctypes.c_void_p(array.ctypes.data)
