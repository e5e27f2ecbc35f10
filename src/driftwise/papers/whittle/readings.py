"""What the rows of Table 1 may mean: every policy of the paper by each of its readings.

Our Policy     literal        Algorithm 1 by the radii of (13), w = 7 by Theorem 2, eta1 = eta2 = 0.1, once an episode
               calibrated     sqrt(0.3 / C) and no w eps, counts pooled over a class
               certain        no balls at all, counts pooled
UCWhittle      literal        the radii of its theorem
               static         balls that hold everything: the first M arms are activated for ever
               radius 10      sqrt(10 / C)
WIQL           literal        as Biswas et al. published it
               step 0.1       a constant step, exploration that fades by the episode
Random         literal

A reading whose constants were picked on printed numbers says on which; it is not counted as a match of those.
"""

from typing import NamedTuple

from driftwise.core.protocols import Policy
from driftwise.families import WIQL, RandomArms, SlidingWhittle, UCWhittle
from driftwise.study.claims import LITERAL

EPISODES, EPSILON = 50, 0.05


class ColumnReading(NamedTuple):
    """A row of Table 1 read in one way: the name it is played under, and the worlds its constants were fitted on."""

    row: str
    name: str
    policy: str
    fitted: str = ""
    on: tuple[str, ...] = ()

    def fitted_on(self, world: str) -> str:
        """What was fitted on a world's row; nothing where it was fitted elsewhere."""
        return self.fitted if world in self.on else ""


BOTH = ("ladder", "ages")
READINGS = (
    ColumnReading("Our Policy", LITERAL, "ours-literal"),
    ColumnReading("Our Policy", "calibrated", "ours-calibrated", "the radius, on all six cells of this column", BOTH),
    ColumnReading("Our Policy", "certain", "ours-certain"),
    ColumnReading("UCWhittle", LITERAL, "UCWhittle-literal"),
    ColumnReading("UCWhittle", "static", "UCWhittle-static", "balls that hold everything, on this column", ("ladder",)),
    ColumnReading("UCWhittle", "radius 10", "UCWhittle-10", "the radius, on this column", ("ages",)),
    ColumnReading("Random", LITERAL, "Random"),
    ColumnReading("WIQL", LITERAL, "WIQL-published"),
    ColumnReading("WIQL", "step 0.1", "WIQL", "the step and the exploration, on this column", ("ladder",)),
)
ROWS = tuple(dict.fromkeys(reading.row for reading in READINGS))
NEAREST = {"ladder": "UCWhittle-static", "ages": "UCWhittle-10"}  # the UCWhittle that comes nearest Table 1
ADAPTIVE, SLIDING = "adaptive-whittle", "sliding-whittle"


def calibrated(window: int = 7) -> SlidingWhittle:
    """Small balls, counts pooled, planned once an episode."""
    return SlidingWhittle(window=window, conf="calibrated", scale=0.3, pooled=1, every=0)


def learners() -> dict[str, Policy]:
    """Our Policy and UCWhittle, by every reading."""
    return {
        "UCWhittle-literal": UCWhittle(),
        "UCWhittle-static": UCWhittle(size=1e12),
        "UCWhittle-10": UCWhittle(size=10.0),
        "ours-literal": SlidingWhittle.algorithm1(EPISODES, EPSILON),
        "ours-calibrated": calibrated(),
        "ours-certain": calibrated()._replace(conf="certain"),
    }


def baselines() -> dict[str, Policy]:
    """What plans nothing: cheap, so that more runs are played."""
    return {"Random": RandomArms(), "WIQL-published": WIQL.as_published(), "WIQL": WIQL()}
