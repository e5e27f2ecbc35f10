"""Build the C twins on the fly and call them from Python."""

import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.core import random
from driftwise.core.types import Trace
from driftwise.kernels import beta_race
from driftwise.policies import SlidingThompson, SlidingUCB

SOURCE = Path(__file__).with_name("twin.c")
FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]


def build() -> ctypes.CDLL:
    """Compile the twins with gcc and hand them the ziggurat's tables."""
    with tempfile.TemporaryDirectory(prefix="driftwise-twin-") as folder:
        target = Path(folder) / "twin.so"
        subprocess.run(["gcc", *FLAGS, "-o", str(target), str(SOURCE), "-lm"], check=True)
        library = ctypes.CDLL(str(target))  # once loaded, its file may go
    tables = [random.NORMAL_X, random.NORMAL_F, random.EXPONENTIAL_X, random.EXPONENTIAL_F, beta_race.TABLE]
    edges = [ctypes.c_double(random.NORMAL_EDGE), ctypes.c_double(random.EXPONENTIAL_EDGE)]
    library.tables(*map(_pointer, tables), *edges)
    return library


def play(library: ctypes.CDLL, policy: SlidingUCB | SlidingThompson, tape: Any, rng: np.uint64, trace: Trace) -> None:
    """Play a whole Bernoulli tape that starts at round 0; the trace is filled as driftwise's `play` fills it."""
    rounds, n_arms = len(tape.noise), tape.levels.table.shape[1]
    shape = [ctypes.c_int64(n_arms), ctypes.c_int64(rounds)]
    world = [_pointer(tape.levels.table), _pointer(tape.levels.rows), _pointer(tape.noise)]
    rest = [*shape, *world, ctypes.c_uint64(int(rng)), _pointer(trace.actions), _pointer(trace.rewards)]
    window = ctypes.c_int64(policy.window)
    if isinstance(policy, SlidingUCB):
        library.sliding_ucb(window, ctypes.c_double(policy.xi), *rest)
    else:
        library.sliding_thompson(window, *rest)


def _pointer(array: Any) -> Any:
    """The address of an array's first element, as C takes it."""
    return ctypes.c_void_p(array.ctypes.data)
