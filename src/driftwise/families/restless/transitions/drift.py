"""How fast transitions drift: epsilon, the most that any row changes from one episode to the next.

    epsilon = max over episodes e, classes, actions a and states s of  sum_j | P_{e+1}(j | s, a) - P_e(j | s, a) |

The epsilon of Shisher, Tripathi, Chiang & Brinton, exactly and not by bound. A chance that moves by 0.05 moves two
entries of its row: epsilon is 0.1.
"""

import numpy as np

from driftwise.families.restless.ground_truth import RestlessGroundTruth

CHUNK = 1 << 22  # numbers in the transitions that are looked at at a time


def epsilon(world: RestlessGroundTruth, horizon: int, seed: int) -> float:
    """The epsilon of one run of a restless world.

    >>> from driftwise.families import Climbing
    >>> epsilon(Climbing(), horizon=5000, seed=0)
    0.1
    """
    path, _ = world.segments(horizon, seed)
    largest, size = 0.0, max(1, CHUNK // world.structure().support.size)
    for start in range(0, len(path) - 1, size):
        transitions = world.checked(path[start : start + size + 1])
        largest = max(largest, float(np.abs(np.diff(transitions, axis=0)).sum(axis=-1).max()))
    return round(largest, 12)


def drift(world: RestlessGroundTruth, horizon: int, seed: int) -> dict[str, float | None]:
    """How fast the transitions of one run drift, by the name of the measure."""
    return {"epsilon": epsilon(world, horizon, seed)}
