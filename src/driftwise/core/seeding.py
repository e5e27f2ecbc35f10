"""Independent streams from one seed: a stream is named, so adding one changes no other.

The world of run r is drawn from (seed, r, "world"); every policy of that run meets the same world. A policy's own
luck comes from (seed, r, its name and parameters), so a study's results do not depend on who else takes part.
"""

import zlib

import numpy as np

from driftwise.core.random import stream


def key(seed: int, *names: object) -> np.uint64:
    """The key of the stream called `names` under `seed`; unlike names give independent streams."""
    words = [zlib.crc32(part) for name in names for part in (repr(name).encode(), repr(name).encode()[::-1])]
    sequence = np.random.SeedSequence(entropy=int(seed), spawn_key=words)
    return np.uint64(sequence.generate_state(1, np.uint64)[0])


def generator(seed: int, *names: object) -> np.random.Generator:
    """A NumPy generator on the stream called `names`, for what is drawn once per world."""
    return np.random.Generator(np.random.Philox(int(key(seed, *names))))


def at(rng: np.uint64, t: int) -> np.uint64:
    """The stream of round `t`, for calling a kernel from Python: there, a bare int would be taken as signed."""
    return np.uint64(stream(rng, t))
