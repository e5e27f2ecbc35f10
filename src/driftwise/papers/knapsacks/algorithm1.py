"""Algorithm 1 in the forms that are played: as printed, and with narrower bounds, cut to [0, 1].

    paper      radius sqrt(2 ln(12 m T^3) / (n + 1)), nothing cut, the same budget a round from first to last
    quarter    a quarter of that radius, bounds cut to [0, 1]; about what sqrt(ln(T) / (2 n)) gives
    tenth      a tenth of it, cut
    resolved   a tenth of it, cut, and solved with what is left of the budget
    appendix   the radius and the smaller budget of Appendix D

All have the windows of the theorems for the V1 and V2 that the run will have: the paper asks for them in advance.
"""

from typing import NamedTuple

from driftwise.core.foresight import not_live
from driftwise.core.types import About, Problem
from driftwise.core.verbs import VERBS, register
from driftwise.families import SlidingKnapsackUCB
from driftwise.families.knapsack.ground_truth import KnapsackGroundTruth
from driftwise.families.knapsack.hindsight.path_length import steps
from driftwise.families.knapsack.means import Means
from driftwise.families.knapsack.policies.sliding_knapsack_ucb import SlidingKnapsackUCBState

READINGS = {
    "paper": "literal",
    "quarter": "a quarter of the radius",
    "tenth": "a tenth of the radius",
    "resolved": "a tenth of the radius, re-solved",
}


class Algorithm1(NamedTuple):
    """The sliding-window algorithm of the paper, which knows V1 and V2 of the run to come.

    Parameters
    ----------
    conf : str
        The radius: `paper`, `appendix` for that of Appendix D, or `practical`.
    scale : float
        Multiplies the radius.
    clip, resolve, shrink : int
        As in `sliding-knapsack-ucb`.
    """

    conf: str = "paper"
    scale: float = 1.0
    clip: int = 0
    resolve: int = 0
    shrink: int = 0

    def init(self, problem: Problem) -> SlidingKnapsackUCBState:
        """Refused: it needs the V of the world."""
        not_live(self, problem)

    def foresee(self, problem: Problem, world: KnapsackGroundTruth, horizon: int, seed: int) -> SlidingKnapsackUCBState:
        """Only V1 and V2 are looked up."""
        return self.tuned(world.means(horizon, seed)).init(problem)

    def tuned(self, means: Means) -> SlidingKnapsackUCB:
        """The policy with windows for the variations of these means."""
        v1, v2 = steps(means)
        windows = SlidingKnapsackUCB.appendix if self.conf == "appendix" else SlidingKnapsackUCB.paper
        policy = windows(means.horizon, means.n_arms, means.n_resources, v1, float(v2.max()))
        return policy._replace(**self._asdict())


register(
    Algorithm1,
    about=About("V1 and V2 of the run", "O(V^(1/3) T^(2/3) d / b + W)", "Liu, Jiang & Li 2022", family="knapsack"),
    **{verb: VERBS[verb].kernel_for(SlidingKnapsackUCB) for verb in ("advance", "select", "pend", "settle", "update")},
)

FORMS: dict[str, Algorithm1] = {
    "paper": Algorithm1(),
    "quarter": Algorithm1(scale=0.25, clip=1),
    "tenth": Algorithm1(scale=0.1, clip=1),
    "resolved": Algorithm1(scale=0.1, clip=1, resolve=1),
}
APPENDIX_D = Algorithm1(conf="appendix", clip=1, shrink=1)
