"""How the cost of a round grows: with the window (it should not) and with the number of arms.

Every run is cut in two tapes; "once full" times the second, when even the longest window has filled.
"""

import statistics
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.sizes import Sizes
from benchmarks.stopwatch import timed_run
from benchmarks.table import Row, row
from driftwise.errors import DriftwiseError
from driftwise.policies import POLICIES, SlidingThompson, SlidingUCB
from driftwise.worlds import Abrupt

ARMS = (2, 10, 50, 100, 500, 1000)
WARM_UP = 5_000

Seconds = tuple[float, float]


def window_rows(sizes: Sizes) -> list[Row]:
    """Slowest over fastest window, once full and over the whole run."""
    rows, half = [], sizes.window_rounds // 2
    for name, kind in {"sliding-ucb": SlidingUCB, "sliding-thompson": SlidingThompson}.items():
        policies = {str(window): kind(window=window) for window in sizes.windows}
        times = _times(policies, dict.fromkeys(policies, 10), half, half, sizes.repeats)
        full = {window: after / half * 1e9 for window, (_, after) in times.items()}
        whole = {window: sum(both) / (2 * half) * 1e9 for window, both in times.items()}
        rows.append(_spread(f"{name}, slowest / fastest window, once full", name, full))
        rows.append(_spread(f"{name}, slowest / fastest window, whole run", name, whole))
    return rows


def _spread(name: str, policy: str, costs: dict[str, float]) -> Row:
    slowest, fastest = max(costs, key=costs.__getitem__), min(costs, key=costs.__getitem__)
    return row(
        name,
        unit="ns/round",
        ours=costs[slowest],
        theirs=costs[fastest],
        ratio=costs[slowest] / costs[fastest],
        target=f"window: {policy}",
        note=", ".join(f"{float(window):.0e}: {ns:.0f}".replace("e+0", "e") for window, ns in costs.items()),
        detail=costs,
    )


def arms_rows(sizes: Sizes) -> list[Row]:
    """Fifty times the arms, for sliding UCB."""
    arms = {"500": 500, "10": 10}
    times = _times(dict.fromkeys(arms, SlidingUCB()), arms, WARM_UP, sizes.arms_rounds, sizes.repeats)
    costs = {label: after / sizes.arms_rounds * 1e9 for label, (_, after) in times.items()}
    return [
        row(
            "sliding-ucb, 500 arms / 10 arms",
            unit="ns/round",
            ours=costs["500"],
            theirs=costs["10"],
            ratio=costs["500"] / costs["10"],
            target="arms: sliding-ucb",
        )
    ]


def cost_by_arms(sizes: Sizes) -> dict[str, dict[int, float]]:
    """Nanoseconds per round of every registered policy, default parameters, by number of arms."""
    costs: dict[str, dict[int, float]] = {}
    for name, kind in POLICIES.items():
        try:
            policies = {str(n_arms): kind() for n_arms in ARMS}
            times = _times(policies, {str(n): n for n in ARMS}, WARM_UP, sizes.curve_rounds, repeats=3)
        except DriftwiseError as why:  # a policy of another family: not for arms without context
            print(f"bench: {name} left out of the costs: {why}", file=sys.stderr)
            continue
        costs[name] = {n_arms: times[str(n_arms)][1] / sizes.curve_rounds * 1e9 for n_arms in ARMS}
    return costs


def _times(
    policies: Mapping[str, Any], arms: Mapping[str, int], first: int, second: int, repeats: int
) -> dict[str, Seconds]:
    """Median seconds of the two parts of a run for each label; the labels take turns."""
    worlds = {label: Abrupt(n_arms=n_arms) for label, n_arms in arms.items()}
    tapes = {label: _two_tapes(world, first, second) for label, world in worlds.items()}
    taken: dict[str, list[list[float]]] = {label: [] for label in policies}
    for repeat in range(repeats + 1):
        for label, policy in policies.items():
            seconds = timed_run(policy, worlds[label].problem(first + second), tapes[label])
            if repeat:  # the first may compile
                taken[label].append(seconds)
    return {
        label: (statistics.median(one for one, _ in runs), statistics.median(two for _, two in runs))
        for label, runs in taken.items()
    }


def _two_tapes(world: Abrupt, first: int, second: int) -> list[Any]:
    """One world of `first + second` rounds, cut there."""
    tape, _ = world.draw(first + second, 1)
    rows = tape.levels.rows
    return [
        tape._replace(levels=tape.levels._replace(rows=rows[:first]), noise=tape.noise[:first]),
        tape._replace(start=first, levels=tape.levels._replace(rows=rows[first:]), noise=tape.noise[first:]),
    ]
