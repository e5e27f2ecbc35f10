"""What `tools/matrix.py` runs in each environment: studies of four families and a contract, printed as JSON."""

import importlib.metadata
import json
import platform

import driftwise as dw
from driftwise import checks
from driftwise.extend import Policy, World

STUDIES: dict[str, tuple[World, Policy]] = {
    "multi-armed": (dw.worlds.Abrupt(), dw.SlidingThompson(window=300)),
    "contextual": (dw.worlds.Rotating(), dw.SlidingLinUCB(window=100)),
    "knapsack": (dw.worlds.BudgetSwitching(), dw.PrequentialPacing()),
    "restless": (dw.worlds.Climbing(), dw.SlidingWhittle()),
}
PACKAGES = ("numba", "numpy", "scipy")


def main() -> None:
    """Regrets of small studies, to the last bit, and the versions that gave them."""
    numbers = {}
    for family, (world, policy) in STUDIES.items():
        study = dw.Study(name=family, worlds={family: world}, policies={family: policy}, horizon=500, runs=2)
        results = dw.run(study)
        numbers[family] = float(results.column(study.cells_of(family, family), "regret").sum())
    checks.check_policy(dw.SlidingThompson(window=300))
    versions = " ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    print(json.dumps({"versions": f"Python {platform.python_version()} {versions}", "numbers": numbers}))


if __name__ == "__main__":
    main()
