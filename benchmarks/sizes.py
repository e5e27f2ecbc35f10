"""How much is played: enough for steady numbers, or just enough to see that everything runs."""

from typing import NamedTuple


class Sizes(NamedTuple):
    """Rounds and repeats of each measurement; `patience` is the seconds to wait for a quiet machine.

    `policies` are those whose cost per round is measured; none named means all.
    """

    twin_rounds: int
    twin_repeats: int
    linear_twin_rounds: int
    window_rounds: int
    windows: tuple[int, ...]
    arms_rounds: int
    curve_rounds: int
    repeats: int
    study_rounds: int
    study_pairs: int
    patience: float
    memory_rounds: int
    peer_pairs: int
    linear_rounds: int
    feature_curve_rounds: int
    accuracy_rounds: int
    plan_rounds: int
    plan_peer_rounds: int
    knapsack_rounds: int
    scipy_rounds: int
    service_pairs: int
    service_seconds: float
    deployments: int
    regret_rounds: int
    regret_runs: int
    policies: tuple[str, ...] = ()


FULL = Sizes(
    twin_rounds=1_000_000,
    twin_repeats=15,
    linear_twin_rounds=50_000,
    window_rounds=2_000_000,
    windows=(100, 1_000, 10_000, 100_000, 1_000_000),
    arms_rounds=200_000,
    curve_rounds=20_000,
    repeats=5,
    study_rounds=500_000,
    study_pairs=7,
    patience=90.0,
    memory_rounds=10_000_000,
    peer_pairs=3,
    linear_rounds=50_000,
    feature_curve_rounds=500,
    accuracy_rounds=20_000,
    plan_rounds=100_000,
    plan_peer_rounds=10_000,
    knapsack_rounds=200_000,
    scipy_rounds=500,
    service_pairs=9,
    service_seconds=2.0,
    deployments=10_000,
    regret_rounds=3000,
    regret_runs=5,
)
QUICK = Sizes(
    twin_rounds=20_000,
    twin_repeats=2,
    linear_twin_rounds=2_000,
    window_rounds=20_000,
    windows=(100, 10_000),
    arms_rounds=5_000,
    curve_rounds=1_000,
    repeats=1,
    study_rounds=20_000,
    study_pairs=1,
    patience=2.0,
    memory_rounds=100_000,
    peer_pairs=1,
    linear_rounds=2_000,
    feature_curve_rounds=50,
    accuracy_rounds=500,
    plan_rounds=2_000,
    plan_peer_rounds=500,
    knapsack_rounds=12_000,
    scipy_rounds=20,
    service_pairs=1,
    service_seconds=0.3,
    deployments=50,
    regret_rounds=1100,
    regret_runs=2,
    policies=("sliding-ucb", "sliding-lin-ucb", "virtual-queue"),  # the last fits neither arms nor features
)
