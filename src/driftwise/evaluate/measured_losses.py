"""What candidates lost in simulated worlds: the rows of `recommendations.csv`, and their means by drift.

`loss` is regret as a share of the attainable reward; `benchmarks/recommendation/` measures it.
"""

import csv
import math
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from driftwise.core.family import FAMILIES
from driftwise.core.protocols import Policy
from driftwise.core.spec import lookup, parse
from driftwise.core.validation import number, whole
from driftwise.errors import ParameterError
from driftwise.families import POLICIES

TABLE = Path(__file__).with_name("recommendations.csv")
DRIFTS = {
    "none": "nothing drifts",
    "slow": "it drifts slowly: options trade places once or twice within the horizon",
    "fast": "it drifts fast: options trade places every thousand rounds or sooner",
    "abrupt": "it jumps: nothing moves but for a few sudden changes",
}
FAR = 5  # a horizon so many times longer or shorter than the nearest one measured is told
ON_TIME = 10.0  # rounds within which a reward counts as on time


class Measurement(NamedTuple):
    """One candidate in one world, as the table has it."""

    kind: str
    drift: str
    delay: str
    horizon: int
    runs: int
    seed: int
    world: str
    policy: str
    propensities: str
    loss: float
    ci95: float
    version: str


Losses = dict[str, dict[str, float]]  # by policy, by drift


class MeasuredLosses(NamedTuple):
    """The rows that match what is known of horizon and delay."""

    rows: tuple[Measurement, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, kind: str, horizon: int, delay: float) -> "MeasuredLosses":
        lookup(kind, FAMILIES, "kind of problem")
        rows, notes = [row for row in read_table() if row.kind == kind], []
        if not rows:
            raise ParameterError(f"nothing was measured for {kind} problems: see benchmarks/recommendation")
        late = delay > ON_TIME
        if late and not any(row.delay != "0" for row in rows):
            notes.append(f"late rewards were not measured for {kind} problems: the numbers are those without delay")
            late = False
        rows = [row for row in rows if (row.delay != "0") == late]
        if late:
            delays = sorted({row.delay for row in rows})
            notes.append(f"late rewards were measured with delays in rounds that are {' and '.join(delays)}")
        if horizon:
            nearest = min({row.horizon for row in rows}, key=lambda each: abs(math.log(each / horizon)))
            rows = [row for row in rows if row.horizon == nearest]
            if not nearest / FAR <= horizon <= nearest * FAR:
                notes.append(f"the nearest horizon that was measured is {nearest:,}")
        return cls(tuple(rows), tuple(notes))

    @property
    def drifts(self) -> list[str]:
        """How the measured worlds drift."""
        return [drift for drift in DRIFTS if any(row.drift == drift for row in self.rows)]

    def losses(self) -> Losses:
        """Mean losses of the candidates that were measured everywhere and that this version has."""
        places = {(row.world, row.horizon) for row in self.rows}
        by_policy: dict[str, dict[tuple[str, int], Measurement]] = defaultdict(dict)
        for row in self.rows:
            by_policy[row.policy][row.world, row.horizon] = row
        return {
            policy: {drift: fmean(row.loss for row in rows.values() if row.drift == drift) for drift in self.drifts}
            for policy, rows in by_policy.items()
            if rows.keys() == places and is_known(policy)
        }


def mean_losses(kind: str = "multi-armed", *, horizon: int = 0, delay: float = 0.0) -> dict[str, dict[str, float]]:
    """The measured losses of all candidates for a kind of problem, by policy and by drift, least first.

    >>> next(iter(mean_losses("multi-armed")))
    'auto'
    """
    losses = MeasuredLosses.of(
        kind, whole("horizon", horizon, low=0), number("delay", delay, above=0.0, closed="[")
    ).losses()
    return dict(sorted(losses.items(), key=lambda each: fmean(each[1].values())))


@cache
def read_table(path: Path = TABLE) -> tuple[Measurement, ...]:
    """All that was measured."""
    kinds = Measurement.__annotations__
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(
            Measurement(**{name: kinds[name](text) for name, text in row.items()}) for row in csv.DictReader(file)
        )


def policy_of(spec: str) -> Policy:
    """The policy that a row names."""
    policy: Policy = parse(spec, POLICIES, "policy")
    return policy


@cache
def is_known(spec: str) -> bool:
    """Whether this version has such a policy."""
    try:
        policy_of(spec)
    except ParameterError:
        return False
    return True
