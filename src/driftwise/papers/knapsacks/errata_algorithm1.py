"""What Algorithm 1 leaves open, and remarks on how it stops and on the budget that Appendix D holds back."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Problem
from driftwise.core.validation import without_text
from driftwise.families import BudgetRotating, GreedyRatio, KnapsackExample, SlidingKnapsackUCB
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.problem import Budgets
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers.knapsacks.algorithm1 import FORMS
from driftwise.papers.knapsacks.errata import Form, Note, left_open, remark
from driftwise.papers.knapsacks.power_law import column
from driftwise.papers.knapsacks.series import Maker
from driftwise.papers.knapsacks.worlds import WithIdleArm
from driftwise.study.claims import Evidence, Finding, around, at_least, between
from driftwise.study.findings import mean_of
from driftwise.study.study import Study

ROUNDS = 20_000
RUNS = {"quick": 24, "full": 48}
LITTLE = 0.015  # of LP(T)
SMALL = 1e-6


# ---- the null arm: known, or an arm like others ----


WORLDS: dict[str, BudgetWorld] = {
    "known": BudgetRotating(n_arms=5, resources=2),
    "learned": WithIdleArm(n_arms=5, resources=2),
}


def studies(scale: str, runs: int | None) -> Iterator[Maker]:
    """Rotating worlds as they are, and with an idle arm."""
    for name in WORLDS:
        yield _name(name), partial(_study, name, runs or RUNS[scale])


def _name(world: str) -> str:
    return f"open/null-arm/{world}"


def _study(world: str, runs: int) -> Study:
    return Study(name=_name(world), worlds={"world": WORLDS[world]}, policies=FORMS, horizon=ROUNDS, runs=runs)


def _null_arm(evidence: Evidence) -> Finding:
    """The form to which it matters most."""
    changes = {form: _share(evidence, "learned", form) - _share(evidence, "known", form) for form in FORMS}
    worst = max(changes, key=lambda form: abs(float(changes[form].mean())))
    listed = ", ".join(f"{form} {change.mean():+.3f}" for form, change in changes.items())
    return mean_of(changes[worst], f"{listed}.")


def _share(evidence: Evidence, world: str, form: str) -> Floats:
    return column(evidence, _name(world), form, "reward") / column(evidence, _name(world), form, "benchmark")


# ---- when it stops ----


def _always(world: BudgetWorld, rounds: int) -> tuple[float, float]:
    """What is earned by playing the one arm in every round, and LP(T)."""
    problem, policy = world.problem(rounds), GreedyRatio(paced=0)
    tape, till = world.draw(rounds, 0)
    trace = trace_for(problem, 0, rounds)
    played = play(without_text(policy), policy.init(problem), tape, till, key(0), trace, rounds)
    plan = best_plan(world.means(rounds, 0), problem.structure.amounts)
    return float(trace.rewards[:played].sum()), plan.value


def _stop(_: Evidence) -> Finding:
    """Of two examples the one that is farther from 1."""
    free = _always(KnapsackExample(kind="lower-bound-3", delta1=0.0, delta2=0.5), 1000)  # free from half-time on
    dear = _always(KnapsackExample(kind="motivating", delta=0.0), 1000)
    shares = [earned / plan for earned, plan in (free, dear)]
    why = (
        f"Spent to the last cent it goes on where rounds are free: {free[0]:.0f} of {free[1]:.0f}. The reward of the "
        f"round that cannot be paid does not count: {dear[0]:.0f} of {dear[1]:.0f}."
    )
    return Finding(max(shares, key=lambda share: abs(share - 1.0)), why=why)


# ---- windows and budgets ----


def _window(_: Evidence) -> Finding:
    still, nearly = (SlidingKnapsackUCB.paper(10_000, 10, 1, v, v).window for v in (0.0, 1e-9))
    return Finding(still, why=f"For V = 10^-9: {nearly:,} rounds.")


def _reserve(_: Evidence) -> Finding:
    shares = []
    for rounds in (10**4, 10**5, 10**6):
        policy = SlidingKnapsackUCB.appendix(rounds, 10, 1, 1.0, 1.0)
        state = policy.init(Problem(10, horizon=rounds, structure=Budgets(np.array([0.3 * rounds])), family="knapsack"))
        shares.append(float(state.share[0]))
    listed = ", ".join(f"{share:.2f}" for share in shares)
    return Finding(min(shares), why=f"{listed} of the budget is left at T = 10^4, 10^5 and 10^6.")


def notes() -> Iterator[Note]:
    """All of them."""
    yield remark(
        "stop",
        Form(
            "it ends when more than the budget would be spent (> B), not when a resource is exhausted: then nothing is "
            "lost where rounds are free. Shown is the share of LP(T)",
            _stop,
            around(1.0, SMALL),
        ),
    )
    yield remark(
        "epsilon",
        Form(
            "Appendix D holds back (alpha + beta) / B of the budget, above 1 where B is small (1.33 at T = 10^4 with "
            "1 for its constants): capped at 1/2 here. Shown is the least share that is left",
            _reserve,
            at_least(0.5),
        ),
    )
    yield left_open(
        "null-arm",
        Form(
            "whether the null arm is known or has to be learned hardly matters: at most 0.015 of LP(T)",
            _null_arm,
            between(-LITTLE, LITTLE),
        ),
        studies=tuple(map(_name, WORLDS)),
    )
    yield left_open(
        "window",
        Form(
            "the formula of windows divides by V: V = 0 takes all rounds, as any small V does",
            _window,
            around(1e4, 0.0),
        ),
    )
