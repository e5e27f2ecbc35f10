"""What is measured: worlds by kind of problem and by how they drift, and the candidates that compete in them.

All is text, as the command line reads it, so that every row of the table can be played again from the row alone.

    none      nothing moves
    slow      means trade places once or twice within the horizon
    fast      means trade places about every thousand rounds, or faster
    abrupt    nothing moves but for a few jumps of everything at once
"""

from collections.abc import Iterator
from typing import NamedTuple

WINDOWS = (100, 300, 1000, 3000, 10_000)
DISCOUNTS = (0.99, 0.999, 0.9999)


class Length(NamedTuple):
    """A horizon, and how many runs of it are played."""

    horizon: int
    runs: int


class Kind(NamedTuple):
    """What is measured for one kind of problem; `{fast}` in a world stands for how often means come round."""

    lengths: tuple[Length, ...]
    worlds: dict[str, tuple[str, ...]]
    policies: tuple[str, ...]
    late_lengths: tuple[Length, ...] = ()
    late_policies: tuple[str, ...] = ()


class Match(NamedTuple):
    """Every candidate in one world, for one horizon and delay."""

    kind: str
    drift: str
    delay: str
    length: Length
    world: str
    policies: tuple[str, ...]


def _each(name: str, parameter: str, values: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(f"{name}:{parameter}={value}" for value in values)


SEED = 20_000  # of all measurements; studies of users start at 0
LATE = "geometric:100"
KNOWN = ("exp3", "epsilon-greedy", "uniform", "auto:floor", "greedy-ratio")  # how names of such policies begin
SAMPLED = ("thompson",)  # what is in the names of such policies

KINDS = {
    "multi-armed": Kind(
        lengths=(Length(1000, 40), Length(10_000, 12), Length(100_000, 4)),
        worlds={
            "none": ("stationary", "sinusoidal:cycles=1e-9,middle=0.05,amplitude=0.03"),
            "slow": ("sinusoidal:cycles=1", "random-walk", "sinusoidal:cycles=1,middle=0.05,amplitude=0.03"),
            "fast": ("sinusoidal:cycles={fast}", "random-walk:step=0.03"),
            "abrupt": ("abrupt:phases=5", "abrupt:n_arms=10,phases=8"),
        },
        policies=(
            "auto",
            *_each("sliding-thompson", "window", WINDOWS),
            *_each("discounted-thompson", "gamma", DISCOUNTS),
            *_each("sliding-gaussian-thompson", "window", WINDOWS[1:4]),
            *_each("sliding-ucb", "window", WINDOWS[1:4]),
            "thompson",
            "glr-kl-ucb",
            "bandit-over-bandit:policy=sliding-thompson",
            "exp3s:changes=5",
            "epsilon-greedy",
            "auto:floor=0.05",
            "uniform",
        ),
        late_lengths=(Length(10_000, 12),),
        late_policies=(
            "auto",
            "auto:floor=0.05",
            *_each("sliding-thompson", "window", WINDOWS),
            *_each("sliding-gaussian-thompson", "window", WINDOWS[1:4]),
            "thompson",
        ),
    ),
    "contextual": Kind(
        lengths=(Length(1000, 20), Length(10_000, 4), Length(30_000, 2)),
        worlds={
            "none": ("abrupt-linear:n_actions=20,phases=1,sd=0.3",),
            "slow": (
                "rotating:n_actions=20,turns=0.5,sd=0.3",
                "piecewise-linear:n_actions=20,actions=fixed,breaks=2,sd=0.3",
            ),
            "fast": ("rotating:n_actions=20,turns={fast},sd=0.3",),
            "abrupt": ("abrupt-linear:n_actions=20,phases=5,sd=0.3",),
        },
        policies=(
            "auto",
            "auto:floor=0.05",
            "filter-bank-lin-ucb",
            "kalman-mixture",
            *_each("sliding-lin-thompson", "window", WINDOWS[:4]),
            *_each("sliding-lin-ucb", "window", WINDOWS[:4]),
            "lin-thompson",
            "bandit-over-bandit:policy=sliding-lin-ucb",
        ),
        late_lengths=(Length(10_000, 4),),
        late_policies=(
            "auto",
            "auto:floor=0.05",
            "filter-bank-lin-ucb",
            "kalman-mixture",
            *_each("sliding-lin-thompson", "window", WINDOWS[:4]),
        ),
    ),
    "slate": Kind(
        lengths=(Length(1000, 20), Length(10_000, 6)),
        worlds={
            "none": ("slates:drift=(stationary:n_arms=12)",),
            "slow": ("slates:drift=(sinusoidal:n_arms=12,cycles=1)",),
            "fast": ("slates:drift=(sinusoidal:n_arms=12,cycles={fast})",),
            "abrupt": ("slates:drift=(abrupt:n_arms=12,phases=5)",),
        },
        policies=(
            "auto",
            *_each("sliding-slate-ucb", "window", WINDOWS),
            *(f"sliding-slate-ucb:window={window},scale=0.5" for window in WINDOWS),
            "bandit-over-bandit:policy=sliding-slate-ucb",
        ),
    ),
    "knapsack": Kind(
        lengths=(Length(1000, 20), Length(10_000, 6)),
        worlds={
            "none": ("budget-stationary",),
            "slow": ("budget-sinusoidal:cycles=1", "network-pricing"),
            "fast": ("budget-sinusoidal:cycles={fast}",),
            "abrupt": ("budget-switching", "budget-rotating"),
        },
        policies=(
            "auto",
            "prequential-pacing",
            *_each("sliding-knapsack-ucb", "window", WINDOWS[:4]),
            "ucb-bwk",
            "primal-dual-bwk",
            "greedy-ratio",
        ),
    ),
    "contextual-knapsack": Kind(
        lengths=(Length(1000, 20), Length(10_000, 4)),
        worlds={
            "none": ("customer-kinds:swing=0",),
            "slow": ("customer-kinds:cycles=1",),
            "fast": ("customer-kinds:cycles={fast}",),
            "abrupt": ("switching-customers",),
        },
        policies=("auto", *_each("lin-pacing", "gamma", DISCOUNTS), "arm-pacing", "unpaced-lin-ucb"),
    ),
    "restless": Kind(
        lengths=(Length(1000, 10), Length(5000, 4)),
        worlds={
            "none": ("climbing:drift=none",),
            "slow": ("climbing:step=0.02",),
            "fast": ("climbing:step=0.1,upward=0.5",),
            "abrupt": ("climbing:drift=abrupt,phases=3",),
        },
        policies=(
            "auto",
            "adaptive-whittle",
            "whittle-thompson",
            "whittle-thompson:window=20",
            "sliding-whittle",
            "sliding-whittle:window=20",
            "round-robin",
        ),
    ),
    "convex": Kind(
        lengths=(Length(1000, 10), Length(10_000, 3)),
        worlds={
            "none": ("convex-linear",),
            "slow": ("convex-linear:variation=2,cycles=1",),
            "fast": ("convex-linear:variation=2,cycles={fast}",),
            "abrupt": ("convex-linear:variation=4,cycles=3",),
        },
        policies=(
            "auto",
            *(
                f"virtual-queue:weight={weight},inertia={inertia}"
                for weight in (0.3, 1, 3)
                for inertia in (0.1, 0.3, 1)
            ),
        ),
    ),
}


def matches(kind: str, *, late: bool) -> Iterator[Match]:
    """All that is measured for a kind, with rewards on time or late, shortest horizons first."""
    grid = KINDS[kind]
    lengths, policies = (grid.late_lengths, grid.late_policies) if late else (grid.lengths, grid.policies)
    for length in lengths:
        for drift, worlds in grid.worlds.items():
            for world in worlds:
                spec = world.format(fast=max(3, length.horizon // 700))
                yield Match(kind, drift, LATE if late else "0", length, spec, policies)


def propensities_of(policy: str) -> str:
    """Whether a policy tells the probability of what it chose, can be sampled for it, or has nothing to tell."""
    if policy.startswith(KNOWN):
        return "known"
    return "sampled" if any(part in policy for part in SAMPLED) else "none"
