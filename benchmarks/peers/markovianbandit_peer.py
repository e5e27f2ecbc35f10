"""Time markovianbandit-pkg: its Whittle indices of given arms, one call each, indexability tested.

    markovianbandit_peer.py ARMS.npz DISCOUNT SIZE ...

The file holds passive kernels, active kernels and rewards as ``0_SIZE``, ``1_SIZE`` and ``2_SIZE``. What it prints goes
nowhere; its first call, which compiles, is not timed.
"""

from __future__ import annotations

import contextlib
import io
import json
import statistics
import sys
import time
from importlib.metadata import version

import numpy as np
from markovianbandit.whittle_computation import compute_whittle_indices  # type: ignore[import-not-found]


def main() -> None:
    """Print one JSON document: seconds per arm, the median, and the indices."""
    told, discount, sizes = np.load(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    results = {}
    for size in sizes:
        seconds, indices = [], []
        for turn, (passive, active, rewards) in enumerate(
            zip(told[f"0_{size}"], told[f"1_{size}"], told[f"2_{size}"], strict=True)
        ):
            for _ in range(2 if turn == 0 else 1):
                with contextlib.redirect_stdout(io.StringIO()):
                    start = time.process_time()
                    _, index = compute_whittle_indices(passive, active, rewards[:, 0], rewards[:, 1], beta=discount)
                    taken = time.process_time() - start
            seconds.append(taken)
            indices.append(index.tolist())
        results[size] = {"seconds": statistics.median(seconds), "indices": indices}
    print(json.dumps({"peer": "markovianbandit", "version": version("markovianbandit-pkg"), "sizes": results}))


if __name__ == "__main__":
    main()
