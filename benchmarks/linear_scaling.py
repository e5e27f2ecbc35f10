"""How the cost of a round grows for policies that look at features: with the window, the features and the actions."""

import statistics
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.scaling import Costs, chosen, spread, two_tapes
from benchmarks.sizes import Sizes
from benchmarks.stopwatch import timed_run
from benchmarks.table import Row, row
from driftwise.core.verbs import ABOUT
from driftwise.errors import DriftwiseError
from driftwise.policies import SlidingLinUCB
from driftwise.worlds import Rotating

WINDOWS = (100, 1_000, 10_000, 100_000)
FEATURES = (5, 10, 20, 50, 100, 200)
ACTIONS = (10, 40, 160, 640)
BY_FEATURES = (2, 5, 10, 20, 50)
NAME = "sliding-lin-ucb"

Match = tuple[Any, Rotating]


def rows(sizes: Sizes) -> list[Row]:
    """The three of sliding LinUCB."""
    return [_by_window(sizes), _by_features(sizes), _by_actions(sizes)]


def _by_window(sizes: Sizes) -> Row:
    """The same actions in every round: a tape of fresh ones that fills the longest window would fill the memory."""
    world = Rotating(dim=5, n_actions=40, actions="fixed")
    matches = {window: (SlidingLinUCB(window=window), world) for window in WINDOWS}
    costs = _costs(matches, max(WINDOWS), sizes.linear_rounds, sizes.repeats)
    return spread(f"{NAME}, slowest / fastest window, once full", NAME, costs)


def _by_features(sizes: Sizes) -> Row:
    policy = SlidingLinUCB(window=500)
    matches = {dim: (policy, Rotating(dim=dim, n_actions=40)) for dim in FEATURES}
    costs = _costs(matches, 600, sizes.linear_rounds // 20, sizes.repeats)
    return _growth("features", costs, high=200, low=50, expected=16)


def _by_actions(sizes: Sizes) -> Row:
    policy = SlidingLinUCB(window=500)
    matches = {count: (policy, Rotating(dim=5, n_actions=count)) for count in ACTIONS}
    costs = _costs(matches, 600, sizes.linear_rounds // 20, sizes.repeats)
    return _growth("actions", costs, high=640, low=40, expected=16)


def _growth(what: str, costs: Mapping[int, float], *, high: int, low: int, expected: int) -> Row:
    return row(
        f"{NAME}, {high} {what} / {low}, over {expected}",
        unit="ns/round",
        ours=costs[high],
        theirs=costs[low],
        ratio=costs[high] / costs[low] / expected,
        target=f"{what}: {NAME}",
        note=", ".join(f"{value}: {ns:,.0f}" for value, ns in costs.items()),
        detail={str(value): ns for value, ns in costs.items()},
    )


def cost_by_features(sizes: Sizes) -> Costs:
    """Nanoseconds per round of every policy for features, default parameters, forty actions, by number of features."""
    costs: Costs = {}
    for name, kind in chosen(sizes).items():
        if ABOUT[kind].family == "features":
            matches = {dim: (kind(), Rotating(dim=dim, n_actions=40)) for dim in BY_FEATURES}
            try:
                costs[name] = _costs(matches, 500, sizes.feature_curve_rounds, repeats=2)
            except DriftwiseError as why:
                print(f"bench: {name} left out of the costs: {why}", file=sys.stderr)
    return costs


def _costs(matches: Mapping[int, Match], first: int, second: int, repeats: int) -> dict[int, float]:
    """Nanoseconds per round after the first `first`, by what is varied; its values take turns. No horizon is known."""
    tapes = {value: two_tapes(world, first, second) for value, (_, world) in matches.items()}
    taken: dict[int, list[float]] = {value: [] for value in matches}
    for repeat in range(repeats + 1):
        for value, (policy, world) in matches.items():
            seconds = timed_run(policy, world.problem(), tapes[value])
            if repeat:  # the first may compile
                taken[value].append(seconds[1] / second * 1e9)
    return {value: statistics.median(costs) for value, costs in taken.items()}
