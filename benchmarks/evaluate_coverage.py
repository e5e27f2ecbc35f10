"""How often 95 % intervals of `evaluate` cover the truth, and whether estimates are biased.

    python benchmarks/evaluate_coverage.py fixed     fixed policies: 200 logs of each kind, every method
    python benchmarks/evaluate_coverage.py learning  policies that learn, against agents that play for real

Two more arguments may follow: a part of the names of the logs to draw, and how many of each.

The truth of a fixed policy is the mean of its arms' means over the rows of the log. That of a policy that learns is
what agents earn which decide in every row of the same world and see each of their rewards with the probability that
the replay accepts rows with: they `learn` then, and `cancel` otherwise.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import driftwise as dw
from driftwise.core.types import Floats, Ints


class Kind(NamedTuple):
    """A world's means by row and arm, and propensities by row and arm."""

    n_rows: int
    means: Callable[[Floats], Floats]
    shares: Callable[[Floats], Floats]
    noise: float = 0.0  # 0: rewards are 0 or 1


def constant(*values: float) -> Callable[[Floats], Floats]:
    return lambda s: np.tile(np.array(values), (len(s), 1))


def step(s: Floats) -> Floats:
    return np.where(s[:, None] < 0.5, [0.2, 0.4, 0.3], [0.5, 0.3, 0.1])


def season(s: Floats) -> Floats:
    return 0.5 + 0.3 * np.sin(20.0 * s[:, None] + np.array([0.0, 2.0, 4.0]))


def ramp(s: Floats) -> Floats:
    new = 0.1 + 0.7 * s
    return np.column_stack([1.0 - new, 0.7 * new, 0.3 * new])


UNIFORM, SKEWED = constant(1 / 3, 1 / 3, 1 / 3), constant(0.85, 0.1, 0.05)
KINDS = {
    "steady, uniform, 2,000 rows": Kind(2000, constant(0.1, 0.2, 0.3), UNIFORM),
    "rare rewards, uniform, 2,000 rows": Kind(2000, constant(0.01, 0.02, 0.03), UNIFORM),
    "step, skewed, 5,000 rows": Kind(5000, step, SKEWED),
    "season, ramp, 5,000 rows": Kind(5000, season, ramp),
    "season, ramp, Gaussian far from 0, 5,000 rows": Kind(5000, lambda s: 1000.0 + 100.0 * season(s), ramp, 50.0),
    "step, skewed, 500 rows": Kind(500, step, SKEWED),
}


def draw(kind: Kind, rng: np.random.Generator) -> tuple[Ints, Floats, Floats, Floats]:
    """Actions, rewards, propensities, and the means of all arms."""
    s = (np.arange(kind.n_rows) + 0.5) / kind.n_rows
    means, shares = kind.means(s), kind.shares(s)
    actions = (rng.random(kind.n_rows)[:, None] > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
    rows = np.arange(kind.n_rows)
    mean = means[rows, actions]
    rewards = mean + kind.noise * rng.standard_normal(kind.n_rows) if kind.noise else rng.random(kind.n_rows) < mean
    return actions, np.asarray(rewards, float), shares[rows, actions], means


def log_of(kind: Kind, rng: np.random.Generator, known: bool = True) -> tuple[dw.Log, Floats]:
    actions, rewards, propensities, means = draw(kind, rng)
    return dw.Log.from_arrays(
        actions, rewards, arms=["a", "b", "c"], propensities=propensities if known else None
    ), means


def fixed(kinds: dict[str, Kind], n_logs: int = 200) -> None:
    print(f"{'log':<48}{'policy':<10}{'method':<22}{'covered':>8}{'bias/se':>9}{'half width':>12}")
    for title, kind in kinds.items():
        methods = [(method, True) for method in ("dr", "ips", "snips", "switch-dr")] + [("dr", False)]
        for method, known in methods:
            hits: dict[str, list[tuple[bool, float, float]]] = {}
            for seed in range(n_logs):
                log, means = log_of(kind, np.random.default_rng(seed), known)
                truths = {"fixed:a": means[:, 0].mean(), "fixed:c": means[:, 2].mean(), "uniform": means.mean()}
                for name, each in log.evaluate(list(truths), method=method, periods=1).policies.items():
                    if each.value is not None:
                        error = each.value.mean - truths[name]
                        inside = each.value.low <= truths[name] <= each.value.high
                        hits.setdefault(name, []).append((inside, error, each.value.high - each.value.low))
            for name, found in hits.items():
                inside, errors, widths = (np.array(column, float) for column in zip(*found, strict=True))
                bias = errors.mean() / (errors.std() / np.sqrt(len(errors)))
                label = method if known else f"{method}, estimated"
                print(
                    f"{title:<48}{name:<10}{label:<22}{inside.mean():>8.1%}{bias:>9.2f}{widths.mean() / 2:>12.4f}",
                    flush=True,
                )


def earned_for_real(policy: object, kind: Kind, seed: int, sight: float, reward_range: tuple[float, float]) -> float:
    """The mean reward of an agent that decides in every row and sees a share of its rewards."""
    rng = np.random.default_rng(10**6 + seed)
    s = (np.arange(kind.n_rows) + 0.5) / kind.n_rows
    means = kind.means(s)
    agent = dw.Agent(
        policy, dw.MultiArmed(["a", "b", "c"], reward_range=reward_range, horizon=kind.n_rows), seed=10**6 + seed
    )
    place, luck, seen, total = {"a": 0, "b": 1, "c": 2}, rng.random(kind.n_rows), rng.random(kind.n_rows), 0.0
    for t in range(kind.n_rows):
        decision = agent.decide()
        mean = means[t, place[str(decision.action)]]
        total += mean
        if seen[t] < sight:
            agent.learn(decision, reward=float(luck[t] < mean))
        else:
            agent.cancel(decision)
    return total / kind.n_rows


def learning(kinds: dict[str, Kind], n_logs: int = 200) -> None:
    policies = [dw.Thompson(), dw.SlidingUCB(window=300), dw.DiscountedThompson(), dw.EXP3(gamma=0.1), dw.UCB1()]
    print(f"{'log':<36}{'policy':<20}{'method':<8}{'truth':>8}{'mean':>8}{'bias/se':>9}{'covered':>9}")
    for title, kind in kinds.items():
        sight = float(kind.shares(np.linspace(0.0, 1.0, kind.n_rows)).min())
        for policy in policies:
            real = np.array([earned_for_real(policy, kind, seed, sight, (0.0, 1.0)) for seed in range(n_logs)])
            truth, doubt = real.mean(), real.std() / np.sqrt(n_logs)
            for method in ("dr", "snips", "replay"):
                found, inside = [], []
                for seed in range(n_logs):
                    log, _ = log_of(kind, np.random.default_rng(seed))
                    options = {"method": method, "periods": 1, "seed": seed, "acceptance": sight}
                    value = log.evaluate({"p": policy}, **options).policies["p"].value
                    if value is not None:
                        found.append(value.mean)
                        inside.append(value.low <= truth <= value.high)
                errors = np.array(found) - truth
                error = np.hypot(errors.std() / np.sqrt(len(errors)), doubt)
                print(
                    f"{title:<36}{type(policy).__name__:<20}{method:<8}{truth:>8.4f}{np.mean(found):>8.4f}"
                    f"{errors.mean() / error:>9.2f}{np.mean(inside):>9.1%}",
                    flush=True,
                )


if __name__ == "__main__":
    what, some = {"fixed": fixed, "learning": learning}[sys.argv[1]], sys.argv[2:3] or [""]
    what({title: kind for title, kind in KINDS.items() if some[0] in title}, *map(int, sys.argv[3:]))
