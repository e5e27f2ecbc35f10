"""What to use: the share of LP(T) that policies collect where everything drifts, on seeds that nothing was tuned on.

`prequential-pacing` is not in the paper, and has no proof. It is compared with all other policies with budgets: those
that do not know the drift either, and those that know V. Two oracles are added: one knows all means and spends evenly
(`even-spending`), one follows the best plan (`best-plan`). Rewards and costs are random, so even the best plan falls a
little short of LP(T).
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.core.types import Floats
from driftwise.families import (
    AdPacing,
    BanditOverBandit,
    BestPlanOracle,
    BudgetSinusoidal,
    BudgetSwitching,
    EvenSpending,
    GreedyRatio,
    LagrangeBwK,
    NetworkPricing,
    PrequentialPacing,
    PrimalDualBwK,
    SlidingKnapsackUCB,
    UCBBwK,
    Uniform,
)
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers.knapsacks.algorithm1 import APPENDIX_D, Algorithm1
from driftwise.papers.knapsacks.power_law import column
from driftwise.papers.knapsacks.series import Maker
from driftwise.study.claims import Claim, Evidence, Finding, at_least
from driftwise.study.findings import mean_of
from driftwise.study.study import Study

ROUNDS, SEED, TARGET = 20_000, 2022, 0.8
RUNS = {"quick": 20, "full": 50}
WORLDS: dict[str, BudgetWorld] = {
    "sinusoidal": BudgetSinusoidal(),
    "switching": BudgetSwitching(),
    "pricing": NetworkPricing(),
    "ads": AdPacing(),
}
OURS = "prequential-pacing"
UNKNOWING: dict[str, Policy] = {
    OURS: PrequentialPacing(),
    "sliding-knapsack-ucb": SlidingKnapsackUCB(),
    "bandit-over-bandit": BanditOverBandit(policy=SlidingKnapsackUCB()),
    "ucb-bwk": UCBBwK(),
    "primal-dual-bwk": PrimalDualBwK(),
    "lagrange-bwk": LagrangeBwK(),
    "greedy-ratio": GreedyRatio(),
    "greedy-ratio:paced=0": GreedyRatio(paced=0),
}
LONG = "prequential-pacing:windows=1"  # keeps all of the past
KNOWING: dict[str, Policy] = {
    "Algorithm 1, V": Algorithm1(),
    "Appendix D, V": APPENDIX_D,
    "practical, V": Algorithm1(conf="practical", clip=1, resolve=1),
}
ORACLES: dict[str, Policy] = {"even-spending": EvenSpending(), "best-plan": BestPlanOracle()}
BLIND = "uniform"
SOLVING = (*KNOWING, "sliding-knapsack-ucb", "bandit-over-bandit", "ucb-bwk")  # a program in every round


# ---- the studies ----


def studies(scale: str, runs: int | None) -> Iterator[Maker]:
    """A study for every world."""
    for name, world in WORLDS.items():
        yield f"what-to-use/{name}", partial(_study, f"what-to-use/{name}", world, runs or RUNS[scale])


def _study(name: str, world: BudgetWorld, runs: int) -> Study:
    others: dict[str, Policy] = {LONG: PrequentialPacing(windows=1), BLIND: Uniform()}
    policies = {**UNKNOWING, **others, **KNOWING, **ORACLES}
    return Study(name=name, worlds={"world": world}, policies=policies, horizon=ROUNDS, runs=runs, seed=SEED)


def shares(evidence: Evidence, world: str, policy: str) -> Floats:
    """The share of LP(T) that every run collected."""
    study = f"what-to-use/{world}"
    return column(evidence, study, policy, "reward") / column(evidence, study, policy, "benchmark")


def average(evidence: Evidence, policy: str) -> Floats:
    """The same, on average over worlds: a number for every run."""
    mean: Floats = np.mean([shares(evidence, world, policy) for world in WORLDS], axis=0)
    return mean


# ---- the claims ----


def claims(scale: str) -> Iterator[Claim]:
    """The share of LP(T), and who collects more. None of it is in the paper."""
    every = tuple(f"what-to-use/{world}" for world in WORLDS)
    yield _claim(
        "share",
        f"{OURS} collects at least {TARGET:g} of LP(T) on average over the four worlds",
        every,
        _share,
        least=TARGET,
    )
    for rival in (name for name in (*UNKNOWING, *KNOWING) if name != OURS):
        knows = "knows V" if rival in KNOWING else "does not know V either"
        yield _claim(
            f"ahead/{rival.replace(', V', '').replace(' ', '-')}",
            f"{OURS} collects more than {rival.removesuffix(', V')}, which {knows}, on average over the four worlds",
            every,
            partial(_ahead, rival=rival),
        )
    yield _claim(
        "even-spending",
        "who knows all means and spends evenly is the ceiling of those that solve a program in every round: shown is "
        "by how much it is ahead of the best of them",
        every,
        _ceiling,
        about="",
    )
    for world in WORLDS:
        yield _claim(
            f"by-world/{world}",
            f"{OURS} collects more than all others that do not know V: shown is by how much",
            (f"what-to-use/{world}",),
            partial(_in_world, world=world, policy=OURS),
        )
        if world == "pricing":
            yield _claim(
                "by-world/pricing/windows=1",
                f"{LONG} collects more than all others that do not know V, where means hardly move",
                ("what-to-use/pricing",),
                partial(_in_world, world=world, policy=LONG),
                about=LONG,
            )


def _claim(
    name: str,
    says: str,
    studies: tuple[str, ...],
    measure: Callable[[Evidence], Finding],
    *,
    least: float = 0.0,
    about: str = OURS,
) -> Claim:
    agrees = at_least(least)
    return Claim(f"what-to-use/{name}", says, studies, measure, agrees, statement=None, about=about)


def _share(evidence: Evidence) -> Finding:
    listed = ", ".join(f"{world} {shares(evidence, world, OURS).mean():.3f}" for world in WORLDS)
    return mean_of(average(evidence, OURS), f"{listed}.")


def _ahead(evidence: Evidence, *, rival: str) -> Finding:
    ours, theirs = average(evidence, OURS), average(evidence, rival)
    return mean_of(ours - theirs, f"{ours.mean():.3f} against {theirs.mean():.3f}.")


def _ceiling(evidence: Evidence) -> Finding:
    ceiling, others = average(evidence, "even-spending"), {name: average(evidence, name) for name in SOLVING}
    nearest = max(others, key=lambda name: float(others[name].mean()))
    ours, plan = average(evidence, OURS).mean(), average(evidence, "best-plan").mean()
    why = (
        f"It collects {ceiling.mean():.3f}, the best plan {plan:.3f}, {nearest} {others[nearest].mean():.3f}; {OURS}, "
        f"which solves none, {ours:.3f}."
    )
    return mean_of(ceiling - others[nearest], why)


def _in_world(evidence: Evidence, *, world: str, policy: str) -> Finding:
    every = {name: shares(evidence, world, name) for name in UNKNOWING if name != OURS}
    ours = shares(evidence, world, policy)
    rival = max(every, key=lambda name: float(every[name].mean()))
    even = shares(evidence, world, "even-spending").mean()
    why = f"{ours.mean():.3f}; next is {rival} with {every[rival].mean():.3f}; even-spending {even:.3f}."
    return mean_of(ours - every[rival], why)
