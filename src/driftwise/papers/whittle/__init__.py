"""Shisher, Tripathi, Chiang & Brinton, *Online Learning of Whittle Indices for Restless Bandits ...*, 2025."""

from driftwise.papers import Paper
from driftwise.papers.whittle.claims import claims
from driftwise.papers.whittle.figures import figures
from driftwise.papers.whittle.studies import studies

PAPER = Paper(
    name="whittle",
    title="Online Learning of Whittle Indices for Restless Bandits with Non-Stationary Transition Kernels",
    source="Shisher, Tripathi, Chiang & Brinton, Purdue University, 2025",
    notes=(
        "What the paper leaves open was settled by its Random rows: arms begin at the bottom (at age 1), earn in the "
        "state they reach, and regret is discounted on the ladder and not with ages, although the text discounts "
        "both. The first half of the sources has variance 0.4, ages end at 30; neither is in the paper.",
        "Regret is what an index policy with the true kernels earns more on the same luck. Every run has a drift of "
        "its own; the paper's spread suggests that it played one drift path for all.",
        "Our Policy is played by three readings. literal: the radii of (13), w = 7 by Theorem 2, eta = 0.1. "
        "calibrated: sqrt(0.3 / C), no w eps, counts pooled over a class; it was picked because it comes near Table 1, "
        "and its balls do not cover. certain: no balls at all, counts pooled.",
        "UCWhittle is played by three readings. literal: radii by its theorem. vacuous: balls that hold everything, "
        "which makes it activate the first M arms for ever. size=10: sqrt(10 / C), picked on Table 1.",
        "adaptive-whittle is not in the paper: it needs no drift, radius or window. It is compared "
        "with the row of Our Policy on drift paths of another seed.",
        "The text prints the WIQL cell (20, 4) of the ladder as 18110-: it is read as 181100, for every number of the "
        "table has five digits that count. The arms of Figures 1 and 2 are not stated: (10, 4) here.",
    ),
    studies=studies,
    claims=claims,
    figures=figures,
)
