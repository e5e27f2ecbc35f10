"""Shisher, Tripathi, Chiang & Brinton, *Online Learning of Whittle Indices for Restless Bandits ...*, 2025."""

from driftwise.papers import Paper
from driftwise.papers.whittle.claims import claims
from driftwise.papers.whittle.figures import figures
from driftwise.papers.whittle.studies import studies
from driftwise.papers.whittle.table import printed_tables
from driftwise.study.printed import PaperAnswer

LADDER, AGES = "table1/world=ladder/N=10/M=4", "table1/world=ages/N=10/M=4"

PAPER = Paper(
    name="whittle",
    title="Online Learning of Whittle Indices for Restless Bandits with Non-Stationary Transition Kernels",
    source="Shisher, Tripathi, Chiang & Brinton, Purdue University, 2025",
    notes=(
        "What the paper leaves open was settled by its Random column: arms begin at the bottom (at age 1), earn in the "
        "state they reach, and regret is discounted on the ladder and not with ages, although the text discounts "
        "both. The first half of the sources has variance 0.4, ages end at 30; neither is in the paper.",
        "Regret is what an index policy with true transitions earns more on the same luck. Every run has a drift of "
        "its own; the paper's spread suggests that it played one drift path for all.",
        "Our Policy, literal: Algorithm 1 with the charge of lines 4 and 11, the radii of (13), w = 7 by Theorem 2, "
        "eta1 = eta2 = 0.1. calibrated: sqrt(0.3 / C), no w eps, counts pooled over a class; picked because it comes "
        "near Table 1, and its balls do not cover. certain: no balls at all, counts pooled.",
        "UCWhittle, literal: radii by its theorem. static: balls that hold everything, which makes it activate the "
        "first M arms for ever. radius 10: sqrt(10 / C), picked on Table 1. WIQL, literal: as Biswas et al. published "
        "it. step 0.1: a constant step, exploration that fades by the episode, picked on the ladder; with ages it is "
        "judged on numbers on which nothing was picked.",
        "adaptive-whittle is not in the paper: it needs no drift, radius or window. It is compared "
        "with the column of Our Policy on drift paths of another seed, and so is the default of sliding-whittle.",
        "The text prints the WIQL cell (20, 4) of the ladder as 18110-: it is read as 181100, for every number of the "
        "table has five digits that count. The arms of Figures 1 and 2 are not stated: (10, 4) here.",
        "Slips of the text: (16) lacks the discount; (17) lacks lambda M sum gamma^h; (13) prints eta1 twice; the set "
        "phi of section 3.2 is that of passive states; a chance that moves by 0.05 moves its row by 0.1 in the norm "
        "of (8), so that w epsilon is half as wide as it should be; the window of Lemma 3 has w - 1 episodes; (31) "
        "loses the visits that w epsilon is to be multiplied with; in Appendix C alpha >= H should be alpha <= H.",
    ),
    studies=studies,
    claims=claims,
    figures=figures,
    tables=printed_tables,
    answer=PaperAnswer(
        printed="Algorithm 1, a sliding window with optimistic Whittle indices, is printed with the least regret in "
        f"all six settings of Table 1: {{{LADDER}/Our Policy|paper}} on the ladder with ten arms of which four are "
        f"activated, where UCWhittle has {{{LADDER}/UCWhittle|paper}} and Random {{{LADDER}/Random|paper}}. Theorem 2 "
        "promises a regret that grows more slowly than the number of episodes.",
        comes_out="Of {statements} statements {matches} come out as printed: the column of Random in both worlds; with "
        "Algorithm 1 as written, less regret than UCWhittle, WIQL and Random, each as its own paper has it, and "
        "sublinear regret with ages; Lemma 1; that the closed form of Appendix D.2 costs next to nothing; that prior "
        "knowledge helps.",
        does_not="The column of Our Policy does not follow from equation (13). On the ladder its radii hold nearly "
        f"everything for 50 episodes, and {{{LADDER}/Our Policy}} comes out in place of "
        f"{{{LADDER}/Our Policy|paper}}; with ages {{{AGES}/Our Policy}} in place of {{{AGES}/Our Policy|paper}}. The "
        "radii of the authors' runs are not in the paper; a small one, picked on this table, comes near "
        f"({{{LADDER}/Our Policy/calibrated}}). UCWhittle on the ladder is printed with the regret of activating the "
        "first M arms for ever. WIQL is not like Random: as published it loses up to {similar} times as much. Regret "
        "(17) lacks a term, and Theorem 1 bounds regret by more than all that can be lost.",
        use="adaptive-whittle, which needs neither drift, radius nor window: "
        "{use/world=ladder/N=10/M=4/adaptive-whittle} on that ladder, on drift paths on which nothing was picked. "
        "sliding-whittle, as you get it by default, is the calibrated reading with a plan every few slots "
        "({use/world=ladder/N=10/M=4/sliding-whittle}). Do not use equation (13).",
    ),
)
