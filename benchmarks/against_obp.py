"""Values of fixed policies against the Open Bandit Pipeline: the same log, the same policies, the same numbers.

    python -m benchmarks.against_obp      every value beside obp's

Each log is drawn with random propensities; `evaluate` is asked for fixed, uniform and random policies by every method,
and so are obp's estimators, with the predictions of our reward model where they take any.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import driftwise as dw
from benchmarks.peers.measure import ask
from benchmarks.table import TARGETS, Row, not_measured, row
from driftwise.core.types import Floats
from driftwise.evaluate.reward_model import design, fit_rewards

THRESHOLD = 3.0
LOGS = ((2000, 3, 2), (20_000, 10, 5))  # rows, arms, features
METHODS = ("ips", "snips", "dr", "switch-dr")
TARGET = "obp: values"


class Value(NamedTuple):
    """The value of a policy by one method: ours and obp's."""

    n_rows: int
    policy: str
    method: str
    ours: float
    theirs: float

    @property
    def difference(self) -> float:
        """Relative where the value is above 1."""
        return abs(self.ours - self.theirs) / max(1.0, abs(self.theirs))


def rows() -> list[Row]:
    """A row per method: the largest difference over all logs and policies."""
    try:
        values = compare_all()
    except RuntimeError as why:  # it could not be installed or started; the other sections still run
        print(f"bench: obp left out: {why}", file=sys.stderr)
        return skipped("obp does not run here")
    return [
        row(
            _name(method),
            unit="",
            ours=max(each.difference for each in values if each.method == method),
            target=TARGET,
            note=f"{len(values) // len(METHODS)} policies, up to {LOGS[-1][0]:,} rows",
        )
        for method in METHODS
    ]


def skipped(why: str) -> list[Row]:
    """The same rows unmeasured."""
    return [not_measured(_name(method), why, target=TARGET) for method in METHODS]


def _name(method: str) -> str:
    return f"evaluation, {method}: largest difference to obp"


def compare_all() -> list[Value]:
    """Every log, policy and method."""
    return [value for seed, log in enumerate(LOGS) for value in compare(*log, seed)]


def draw(n_rows: int, n_arms: int, width: int, seed: int) -> tuple[dw.Log, dict[str, Floats]]:
    """A log with contexts, and policies as probabilities by row and arm."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n_rows, width))
    scores = context @ rng.normal(size=(width, n_arms))
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) * 0.8 + 0.2 / n_arms
    actions = (rng.random(n_rows)[:, None] > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
    rewards = np.tanh(scores[np.arange(n_rows), actions]) + rng.normal(size=n_rows)
    log = dw.Log.from_arrays(
        actions,
        rewards,
        arms=[f"arm{i}" for i in range(n_arms)],
        propensities=shares[np.arange(n_rows), actions],
        context=context,
    )
    first = np.zeros((n_rows, n_arms))
    first[:, 0] = 1.0
    tables = {"fixed": first, "uniform": np.full((n_rows, n_arms), 1.0 / n_arms)}
    return log, tables | {"random": rng.dirichlet(np.ones(n_arms), n_rows)}


def compare(n_rows: int, n_arms: int, width: int, seed: int) -> list[Value]:
    """The values of three policies on one log."""
    log, tables = draw(n_rows, n_arms, width, seed)
    model = fit_rewards(n_arms, log.actions, log.rewards, design(log.context, len(log)))
    predictions = np.column_stack([model.predict(np.full(n_rows, arm)) for arm in range(n_arms)])
    values = []
    for name, table in tables.items():
        theirs = _by_obp(log, table, predictions)
        for method in METHODS:
            value = log.evaluate({name: table}, method=method, threshold=THRESHOLD, periods=1).policies[name].value
            assert value is not None
            values.append(Value(n_rows, name, method, value.mean, theirs[method]))
    return values


def _by_obp(log: dw.Log, table: Floats, predictions: Floats) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.npz"
        assert log.propensities is not None
        np.savez(
            file,
            actions=log.actions,
            rewards=log.rewards,
            propensities=log.propensities,
            probabilities=table,
            predictions=predictions,
            threshold=THRESHOLD,
        )
        values: dict[str, float] = ask("obp", str(file))["values"]
    return values


def _main() -> int:
    values = compare_all()
    for each in values:
        numbers = f"{each.ours:>20.15f} {each.theirs:>20.15f} {each.difference:.1e}"
        print(f"{each.n_rows:>8,} rows  {each.policy:<8} {each.method:<10} {numbers}")
    return 0 if all(TARGETS[TARGET].met_by(each.difference) for each in values) else 1


if __name__ == "__main__":
    raise SystemExit(_main())
