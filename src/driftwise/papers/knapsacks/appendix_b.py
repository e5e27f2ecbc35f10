"""Appendix B: the nearest centres. Figure 1, and Proposition 3, which is true without the claims it rests on."""

from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from driftwise.core.types import Floats
from driftwise.families import KnapsackExample
from driftwise.families.knapsack.hindsight.minimal_spread import nearest_centres
from driftwise.families.knapsack.hindsight.path_length import spread
from driftwise.families.knapsack.hindsight.sandwich import chain
from driftwise.papers.knapsacks.proposition1 import SAME, broken, instance
from driftwise.study.claims import Claim, Evidence, Finding, around, at_most

ROUNDS = 200
INSTANCES = {"quick": 20, "full": 200}


@cache
def figure1() -> tuple[Floats, Floats, Floats]:
    """The change point k, W1 and W1-min at each."""
    points = np.arange(0, ROUNDS + 1, ROUNDS // 20)
    spreads = np.zeros((2, len(points)))
    for place, k in enumerate(points[1:-1], start=1):
        means = KnapsackExample(kind="figure1", k=int(k)).means(ROUNDS, 0)
        spreads[:, place] = spread(means)[0], nearest_centres(means).rewards.value
    return points.astype(float), spreads[0], spreads[1]


def claims(scale: str) -> Iterator[Claim]:
    """The curves of Figure 1, and the line that Proposition 3 needs."""
    for name, says in {"W1": "W1 = 2 k (T - k) / T", "W1-min": "W1-min = min(k, T - k)"}.items():
        yield Claim(
            f"figure-1/{name}",
            f"{says}: shown is by how much it is off, as a share of T",
            (),
            partial(_curve, name=name),
            at_most(SAME),
            paper=0.0,
        )
    yield Claim(
        "figure-1/coincide",
        "W1 and W1-min coincide at k = T/2: shown is their ratio there",
        (),
        _coincide,
        around(1.0, SAME),
        paper=1.0,
    )
    many = INSTANCES[scale]
    yield Claim(
        "proposition-3/nearest-centres",
        f"LP(T) <= sum LP_t + 2 W1-min + 2 q_t W2-min: shown is how many of {many} random instances break it",
        (),
        partial(_nearest, instances=many),
        at_most(0.5),
        paper=0.0,
    )


def _nearest(_: Evidence, *, instances: int) -> Finding:
    return broken([chain(*instance(number)).any_centre for number in range(instances)])


def _curve(_: Evidence, *, name: str) -> Finding:
    k, w1, least = figure1()
    ours, formula = (w1, 2.0 * k * (ROUNDS - k) / ROUNDS) if name == "W1" else (least, np.minimum(k, ROUNDS - k))
    off = float(abs(ours - formula).max()) / ROUNDS
    return Finding(off, why=f"For {len(k)} values of k.")


def _coincide(_: Evidence) -> Finding:
    k, w1, least = figure1()
    middle, quarter = len(k) // 2, len(k) // 4
    return Finding(float(w1[middle] / least[middle]), why=f"At k = T/4 it is {w1[quarter] / least[quarter]:.2f}.")
