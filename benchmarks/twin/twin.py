"""Build the C twins on the fly and call them from Python."""

import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.core import random
from driftwise.kernels import beta_race

SOURCE = Path(__file__).with_name("twin.c")
FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]


def pointer(array: Any) -> Any:
    """The address of an array's first element, as C takes it."""
    return ctypes.c_void_p(array.ctypes.data)


def build() -> ctypes.CDLL:
    """Compile the twins with gcc and hand them the ziggurat's tables."""
    target = Path(tempfile.mkdtemp(prefix="driftwise-twin-")) / "twin.so"
    subprocess.run(["gcc", *FLAGS, "-o", str(target), str(SOURCE), "-lm"], check=True)
    library = ctypes.CDLL(str(target))
    tables = [random.NORMAL_X, random.NORMAL_F, random.EXPONENTIAL_X, random.EXPONENTIAL_F, beta_race.TABLE]
    edges = [ctypes.c_double(random.NORMAL_EDGE), ctypes.c_double(random.EXPONENTIAL_EDGE)]
    library.tables(*map(pointer, tables), *edges)
    return library


def play(library: ctypes.CDLL, name: str, *, window: int, tape: Any, rng: np.uint64) -> tuple[Any, Any]:
    """Play a whole Bernoulli tape; return actions and rewards."""
    rounds, n_arms = len(tape.noise), tape.levels.table.shape[1]
    actions, rewards = np.empty(rounds, np.int64), np.empty(rounds)
    shape = [ctypes.c_int64(n_arms), ctypes.c_int64(rounds)]
    world = [pointer(tape.levels.table), pointer(tape.levels.rows), pointer(tape.noise)]
    rest = [*shape, *world, ctypes.c_uint64(int(rng)), pointer(actions), pointer(rewards)]
    if name == "sliding-ucb":
        library.sliding_ucb(ctypes.c_int64(window), ctypes.c_double(0.6), *rest)
    else:
        library.sliding_thompson(ctypes.c_int64(window), *rest)
    return actions, rewards
