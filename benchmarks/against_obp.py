"""Values of fixed policies against the Open Bandit Pipeline: the same log, the same policies, the same numbers.

    python -m benchmarks.against_obp

Each log is drawn with random propensities; `evaluate` is asked for fixed, uniform and random policies by every method,
and so are obp's estimators, with the predictions of our reward model where they take any.
"""

import tempfile
from pathlib import Path

import numpy as np

import driftwise as dw
from benchmarks.peers.measure import ask
from driftwise.core.types import Floats
from driftwise.evaluate.reward_model import design, fit_rewards

LARGEST_DIFFERENCE = 1e-12
THRESHOLD = 3.0


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


def compare(n_rows: int, n_arms: int, width: int, seed: int) -> float:
    """The largest relative difference; a line for each policy and method."""
    log, tables = draw(n_rows, n_arms, width, seed)
    model = fit_rewards(n_arms, log.actions, log.rewards, design(log.context, len(log)))
    predictions = np.column_stack([model.predict(np.full(n_rows, arm)) for arm in range(n_arms)])
    largest = 0.0
    for name, table in tables.items():
        ours = {
            method: log.evaluate({name: table}, method=method, threshold=THRESHOLD, periods=1).policies[name].value
            for method in ("ips", "snips", "dr", "switch-dr")
        }
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
            document = ask("obp", str(file))
        for method, theirs in document["values"].items():
            value = ours[method]
            assert value is not None
            difference = abs(value.mean - theirs) / max(1.0, abs(theirs))
            largest = max(largest, difference)
            print(f"{n_rows:>8,} rows  {name:<8} {method:<10} {value.mean:>20.15f} {theirs:>20.15f} {difference:.1e}")
    print(f"obp {document['version']}: largest difference {largest:.1e}")
    return largest


if __name__ == "__main__":
    worst = max(compare(2000, 3, 2, 0), compare(20_000, 10, 5, 1))
    raise SystemExit(0 if worst <= LARGEST_DIFFERENCE else 1)
