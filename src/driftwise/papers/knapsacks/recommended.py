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
from driftwise.core.seeding import key
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
)
from driftwise.families.knapsack.hindsight.path_length import steps
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.measure.summary import estimate, paired_difference
from driftwise.papers.knapsacks.forms import forms
from driftwise.papers.knapsacks.powers import column
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.study import Study

ROUNDS, SEED, TARGET = 20_000, 2022, 0.85
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
KNOWING = ("Algorithm 1, V", "Appendix D, V", "practical, V")
ORACLES: dict[str, Policy] = {"even-spending": EvenSpending(), "best-plan": BestPlanOracle()}


# ---- the studies ----


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """A study for every world."""
    for name, world in WORLDS.items():
        yield f"recommended/{name}", partial(_study, f"recommended/{name}", world, runs or RUNS[scale])


def _study(name: str, world: BudgetWorld, runs: int) -> Study:
    return Study(
        name=name,
        worlds={"world": world},
        policies={**UNKNOWING, LONG: PrequentialPacing(windows=1), **knowing(world, runs), **ORACLES},
        horizon=ROUNDS,
        runs=runs,
        seed=SEED,
    )


def knowing(world: BudgetWorld, runs: int) -> dict[str, Policy]:
    """Those that know V: its mean over the runs to come."""
    moved = [steps(world.means(ROUNDS, int(key(SEED, run, "world")))) for run in range(runs)]
    v1, v2 = (float(np.mean([np.max(each[i]) for each in moved])) for i in (0, 1))
    chosen = forms(world, ROUNDS, v1, v2)
    practical = chosen["paper"]._replace(conf="practical", clip=1, resolve=1)
    appendix = SlidingKnapsackUCB.appendix(ROUNDS, world.arms, len(world.rates(ROUNDS)), v1, v2)
    return dict(zip(KNOWING, (chosen["paper"], appendix, practical), strict=True))


def shares(evidence: Evidence, world: str, policy: str) -> Floats:
    """The share of LP(T) that every run collected."""
    study = f"recommended/{world}"
    return column(evidence, study, policy, "reward") / column(evidence, study, policy, "benchmark")


def average(evidence: Evidence, policy: str) -> Floats:
    """The same, on average over worlds: a number for every run."""
    mean: Floats = np.mean([shares(evidence, world, policy) for world in WORLDS], axis=0)
    return mean


# ---- the claims ----

STILL = (
    "Means hardly move here, V1 is 0.44 in all: all of the past is worth keeping, and trying shorter windows costs. "
    "With windows=1, which keeps it, it is ahead."
)


def claims(scale: str) -> Iterator[Claim]:
    """The share of LP(T), and who collects more."""
    every = tuple(f"recommended/{world}" for world in WORLDS)
    yield Claim(
        "recommended/average/share",
        f"{OURS} collects at least 0.85 of LP(T) on average over the four worlds",
        every,
        _judge_share,
        paper=TARGET,
    )
    for rival in (name for name in UNKNOWING if name != OURS):
        yield Claim(
            f"recommended/ahead/{rival}",
            f"{OURS} collects more than {rival}, which does not know V either, on average over the four worlds",
            every,
            partial(_judge_ahead, rival=rival),
        )
    yield Claim(
        "recommended/ahead/knowing-v",
        f"{OURS} collects more even than those that know V",
        every,
        _judge_knowing,
    )
    yield Claim(
        "recommended/average/even-spending",
        "who knows all means and spends evenly is the natural ceiling of those that solve a program in every round",
        every,
        _judge_ceiling,
    )
    for world in WORLDS:
        yield Claim(
            f"recommended/by-world/{world}",
            f"{OURS} collects more than all others that do not know V",
            (f"recommended/{world}",),
            partial(_judge_world, world=world, policy=OURS),
            known=STILL if world == "pricing" else "",
        )
        if world == "pricing":
            yield Claim(
                "recommended/by-world/pricing/windows=1",
                f"{LONG} collects more than all others that do not know V, where means hardly move",
                ("recommended/pricing",),
                partial(_judge_world, world=world, policy=LONG),
            )


def _judge_share(evidence: Evidence) -> Finding:
    ours = estimate(average(evidence, OURS))
    listed = ", ".join(f"{world} {shares(evidence, world, OURS).mean():.3f}" for world in WORLDS)
    return Finding(*ours, ours.mean >= TARGET, f"{listed}.")


def _judge_ahead(evidence: Evidence, *, rival: str) -> Finding:
    ours, theirs = average(evidence, OURS), average(evidence, rival)
    ahead = paired_difference(ours, theirs)
    why = f"{ours.mean():.3f} against {theirs.mean():.3f}."
    return Finding(ahead.mean, (ahead.high - ahead.low) / 2.0, ahead.mean > 0.0, why)


def _judge_knowing(evidence: Evidence) -> Finding:
    others = {name: average(evidence, name).mean() for name in KNOWING}
    ours = average(evidence, OURS)
    best = max(others, key=lambda name: others[name])
    listed = ", ".join(f"{name.removesuffix(', V')} {share:.3f}" for name, share in others.items())
    ahead = estimate(ours - average(evidence, best))
    return Finding(*ahead, ahead.mean > 0.0, f"{ours.mean():.3f} against {listed}.")


def _judge_ceiling(evidence: Evidence) -> Finding:
    """No policy that solves a program in every round is above it; the finding names the nearest."""
    ceiling = average(evidence, "even-spending").mean()
    solving = (*KNOWING, "sliding-knapsack-ucb", "bandit-over-bandit", "ucb-bwk")
    means = {name: average(evidence, name).mean() for name in solving}
    nearest = max(means, key=lambda name: means[name])
    ours, plan = average(evidence, OURS).mean(), average(evidence, "best-plan").mean()
    why = (
        f"It collects {ceiling:.3f}, the best plan {plan:.3f}, {nearest} {means[nearest]:.3f}; {OURS}, "
        f"which solves none, {ours:.3f}."
    )
    return Finding(ceiling, estimate(average(evidence, "even-spending")).ci95, means[nearest] <= ceiling, why)


def _judge_world(evidence: Evidence, *, world: str, policy: str) -> Finding:
    means = {name: shares(evidence, world, name).mean() for name in UNKNOWING}
    ours = estimate(shares(evidence, world, policy))
    rival = max((name for name in means if name != OURS), key=lambda name: means[name])
    even = shares(evidence, world, "even-spending").mean()
    why = f"{ours.mean:.3f}; next is {rival} with {means[rival]:.3f}; even-spending {even:.3f}."
    return Finding(*ours, ours.mean > means[rival], why)
