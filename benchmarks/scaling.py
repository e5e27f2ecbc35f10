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
from driftwise.core.spec import parameters
from driftwise.errors import DriftwiseError
from driftwise.families import POLICIES, Abrupt, SlidingThompson, SlidingUCB

ARMS = (2, 10, 50, 100, 500, 1000)
WARM_UP = 5_000

Seconds = tuple[float, float]
Costs = dict[str, dict[int, float]]


def window_rows(sizes: Sizes) -> list[Row]:
    """Slowest over fastest window, once full and over the whole run."""
    rows, half = [], sizes.window_rounds // 2
    for name, kind in {"sliding-ucb": SlidingUCB, "sliding-thompson": SlidingThompson}.items():
        policies = {window: kind(window=window) for window in sizes.windows}
        times = _times(policies, dict.fromkeys(policies, 10), half, half, sizes.repeats)
        full = {window: after / half * 1e9 for window, (_, after) in times.items()}
        whole = {window: sum(both) / (2 * half) * 1e9 for window, both in times.items()}
        rows.append(spread(f"{name}, slowest / fastest window, once full", name, full))
        rows.append(spread(f"{name}, slowest / fastest window, whole run", name, whole))
    return rows


def spread(name: str, policy: str, costs: Mapping[int, float]) -> Row:
    """Slowest over fastest of the costs by window."""
    slowest, fastest = max(costs, key=costs.__getitem__), min(costs, key=costs.__getitem__)
    return row(
        name,
        unit="ns/round",
        ours=costs[slowest],
        theirs=costs[fastest],
        ratio=costs[slowest] / costs[fastest],
        target=f"window: {policy}",
        note=", ".join(f"{window:.0e}: {ns:.0f}".replace("e+0", "e") for window, ns in costs.items()),
        detail={str(window): ns for window, ns in costs.items()},
    )


def arms_rows(sizes: Sizes) -> list[Row]:
    """Fifty times the arms, for sliding UCB."""
    arms = {500: 500, 10: 10}
    times = _times(dict.fromkeys(arms, SlidingUCB()), arms, WARM_UP, sizes.arms_rounds, sizes.repeats)
    costs = {n_arms: after / sizes.arms_rounds * 1e9 for n_arms, (_, after) in times.items()}
    return [
        row(
            "sliding-ucb, 500 arms / 10 arms",
            unit="ns/round",
            ours=costs[500],
            theirs=costs[10],
            ratio=costs[500] / costs[10],
            target="arms: sliding-ucb",
        )
    ]


def cost_by_arms(sizes: Sizes) -> Costs:
    """Nanoseconds per round of every registered policy, default parameters, by number of arms."""
    policies = {name: {n_arms: kind() for n_arms in ARMS} for name, kind in chosen(sizes).items()}
    arms = {n_arms: n_arms for n_arms in ARMS}
    return _costs(policies, arms, WARM_UP, sizes.curve_rounds)


def cost_by_window(sizes: Sizes) -> Costs:
    """Nanoseconds per round of every policy with a window, ten arms, once the longest has filled.

    Other parameters keep their defaults. M-UCB's window counts the rewards of one arm, so its longest does not fill.
    """
    kinds = {name: kind for name, kind in chosen(sizes).items() if "window" in parameters(kind)}
    policies = {name: {window: kind(window=window) for window in sizes.windows} for name, kind in kinds.items()}
    return _costs(policies, dict.fromkeys(sizes.windows, 10), sizes.window_rounds // 2, sizes.arms_rounds)


def chosen(sizes: Sizes) -> dict[str, Any]:
    """The policies whose costs are measured, by name."""
    return {name: kind for name, kind in POLICIES.items() if not sizes.policies or name in sizes.policies}


def _costs(policies: Mapping[str, Mapping[int, Any]], arms: Mapping[int, int], first: int, second: int) -> Costs:
    """The cost of a round in the second part of a run, by policy and by what is varied."""
    costs: Costs = {}
    misfits = []
    for name, variants in policies.items():
        try:
            times = _times(variants, arms, first, second, repeats=3)
        except DriftwiseError:  # a policy of another family
            misfits.append(name)
            continue
        costs[name] = {value: after / second * 1e9 for value, (_, after) in times.items()}
    if misfits:
        print(f"bench: left out of these costs, made for other problems: {', '.join(misfits)}", file=sys.stderr)
    return costs


def _times(
    policies: Mapping[int, Any], arms: Mapping[int, int], first: int, second: int, repeats: int
) -> dict[int, Seconds]:
    """Median seconds of the two parts of a run for each value of what is varied; the values take turns."""
    worlds = {value: Abrupt(n_arms=n_arms) for value, n_arms in arms.items()}
    tapes = {value: two_tapes(world, first, second) for value, world in worlds.items()}
    taken: dict[int, list[list[float]]] = {value: [] for value in policies}
    for repeat in range(repeats + 1):
        for value, policy in policies.items():
            seconds = timed_run(policy, worlds[value].problem(first + second), tapes[value])
            if repeat:  # the first may compile
                taken[value].append(seconds)
    return {
        value: (statistics.median(one for one, _ in runs), statistics.median(two for _, two in runs))
        for value, runs in taken.items()
    }


def two_tapes(world: Any, first: int, second: int) -> list[Any]:
    """One world of `first + second` rounds, cut there."""
    tape, _ = world.draw(first + second, 1)
    return [_stretch(tape, 0, first), _stretch(tape, first, first + second)]


def _stretch(tape: Any, start: int, stop: int) -> Any:
    """Rounds `start` .. `stop - 1` of a tape that starts at 0."""
    by_round = {name: getattr(tape, name)[start:stop] for name in ("noise", "which", "path") if name in tape._fields}
    return tape._replace(start=start, levels=tape.levels._replace(rows=tape.levels.rows[start:stop]), **by_round)
