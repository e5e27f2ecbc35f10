"""Appendix D.2: with gamma = 0.99, the index of the average cost "does not affect the performance".

The closed form (`families/restless/whittle/age_of_information.py`) is for the average cost; the policy is judged by
discounted ones. An oracle that knows every channel and goes by the closed form is played against the one that goes by
the exact discounted index, on the same luck: what it earns less is what the approximation costs.

It is affected where that is 5% of the regret printed for Our Policy, in any cell of Table 1.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from driftwise.core.foresight import not_live
from driftwise.core.types import About, Floats, Problem
from driftwise.core.verbs import register
from driftwise.errors import ParameterError
from driftwise.families import AgeOfInformation
from driftwise.families.restless.ground_truth import RestlessGroundTruth
from driftwise.families.restless.oracles.whittle_oracle import (
    WhittleOracle,
    WhittleOracleState,
    indices_of,
    rank_by_truth,
    select_by_truth,
    unmoved,
)
from driftwise.families.restless.whittle.age_of_information import age_index
from driftwise.study.claims import Claim, Evidence, Finding, between
from driftwise.study.findings import mean_of

OUR_POLICY = {(10, 1): 419.75, (10, 4): 426.46, (20, 4): 656.53}  # printed in Table 1, wireless scheduling


class ClosedFormOracle(NamedTuple):
    """Knows every channel, and goes by the index of the average cost in closed form."""

    def init(self, problem: Problem) -> WhittleOracleState:
        """Refused: it needs the world."""
        not_live(self, problem)

    def foresee(self, problem: Problem, world: RestlessGroundTruth, horizon: int, seed: int) -> WhittleOracleState:
        """The closed form of all channels to come."""
        if not isinstance(world, AgeOfInformation):
            raise ParameterError(f"the closed form is of ages, and {type(world).__name__} has none")
        state = WhittleOracle().foresee(problem, world, horizon, seed)
        state.indices[:] = closed_form_indices(world, world.segments(horizon, seed)[0]) / world.discount
        return state


def closed_form_indices(world: AgeOfInformation, path: Floats) -> Floats:
    """The index of every row of the path, class and age; 0 where a channel never works."""
    costs = -world.structure().rewards
    indices = np.zeros((len(path), *costs.shape))
    indices[:, 0] = age_index(costs[0], world.sure_success)
    for row, success in enumerate(path[:, 0]):
        if success > 0.0:
            indices[row, 1] = age_index(costs[1], float(success))
    return indices


register(
    ClosedFormOracle,
    about=About("the world itself", "the standard", "Tripathi & Modiano 2024", family="restless", learns_rewards=False),
    select=select_by_truth,
    update=unmoved,
    rank=rank_by_truth,
)


def appendix() -> Iterator[Claim]:
    """The approximation, in the cell that it affects most."""
    yield Claim(
        id="appendixD2",
        says="with gamma = 0.99 the index of the average cost does not affect the performance",
        studies=tuple(f"appendixD2/N={n}/M={m}" for n, m in OUR_POLICY),
        measure=_most_affected,
        agrees=between(-0.05, 0.05),
    )


def _most_affected(evidence: Evidence) -> Finding:
    """What the closed form loses against the exact index, as a share of the regret printed for Our Policy."""
    shares = {
        (n, m): mean_of(evidence.regrets(f"appendixD2/N={n}/M={m}", "closed form") / printed)
        for (n, m), printed in OUR_POLICY.items()
    }
    farthest = max(shares.values(), key=lambda each: abs(each.ours) + each.error)
    listed = ", ".join(f"{cell} {each.ours:+.1%}" for cell, each in shares.items())
    return farthest._replace(
        why=f"Of the regret printed for Our Policy it loses {listed}; indices are {off():.1%} off."
    )


def off() -> float:
    """How far the closed form is from the exact index, of the largest index, for a channel that works every time."""
    world = AgeOfInformation()
    path = np.ones((1, 1))
    exact, closed = indices_of(world, path)[0, 1], closed_form_indices(world, path)[0, 1]
    return float(np.abs(closed - exact).max() / np.abs(exact).max())
