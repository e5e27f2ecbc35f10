"""Values of fixed policies by the estimators of the Open Bandit Pipeline: ``obp_peer.py FILE``.

The file is a NumPy archive with the rows of a log, the probabilities of a policy and predicted rewards; a JSON document
with the estimates is printed. The module of the estimators is loaded without its package, whose other modules train
neural networks: for those alone it imports torch, and an empty module stands in for it.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np


def load_estimators() -> types.ModuleType:
    """Return ``obp.ope.estimators``, as it was installed."""
    spec = find_spec("obp")
    assert spec is not None and spec.submodule_search_locations
    root = Path(next(iter(spec.submodule_search_locations)))
    for name, folder in {"obp": root, "obp.ope": root / "ope"}.items():
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    torch = types.ModuleType("torch")
    torch.Tensor = type("Tensor", (), {})  # type: ignore[attr-defined]
    sys.modules["torch"] = torch
    return importlib.import_module("obp.ope.estimators")


def main(file: str) -> None:
    """Print the estimates."""
    ope, rows = load_estimators(), np.load(file)
    inputs = {
        "reward": rows["rewards"],
        "action": rows["actions"],
        "pscore": rows["propensities"],
        "action_dist": rows["probabilities"][:, :, None],
    }
    predictions = {"estimated_rewards_by_reg_model": rows["predictions"][:, :, None]}
    values = {
        "ips": ope.InverseProbabilityWeighting().estimate_policy_value(**inputs),
        "snips": ope.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**inputs),
        "dr": ope.DoublyRobust().estimate_policy_value(**inputs, **predictions),
        "switch-dr": ope.SwitchDoublyRobust(tau=float(rows["threshold"])).estimate_policy_value(
            **inputs, **predictions
        ),
    }
    print(json.dumps({"version": version("obp"), "values": {name: float(value) for name, value in values.items()}}))


if __name__ == "__main__":
    main(sys.argv[1])
