"""Appendix C.2: a world whose budget is never short, and in which every round alone is.

One arm pays 1 and takes 1 of the first resource, after half-time of the second; of each there is 2 T / 3. All rounds
could be played. Who spends evenly plays two of three.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from driftwise.families import KnapsackExample
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.hindsight.path_length import unrest
from driftwise.families.knapsack.hindsight.resource_prices import even_plan, mean_program
from driftwise.papers import only_world
from driftwise.papers.knapsacks.forms import DESCRIPTIONS, FORMS
from driftwise.papers.knapsacks.future import LONGER, NEAR, ROUNDS, RUNS, maker
from driftwise.papers.knapsacks.powers import Power, column
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.study import Study


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """Three lengths."""
    for rounds in LONGER:
        yield maker(f"example-c2/T={rounds}", KnapsackExample(kind="c2"), rounds, runs or RUNS[scale])


def claims(scale: str) -> Iterator[Claim]:
    """V1 = W1 = 0, and still linear regret."""
    yield Claim(
        "example-c2/measures",
        "no constraint binds in LP(T), but all do in every round: V1 = W1 = 0, and still sum LP_t = 2/3 LP(T)",
        (),
        _judge_c2_measures,
        paper=2 / 3,
    )
    names = tuple(f"example-c2/T={rounds}" for rounds in LONGER)
    for form in FORMS:
        yield Claim(
            f"example-c2/regret/{form}",
            f"{DESCRIPTIONS[form]}: regret grows at least in proportion to T: the terms of V2 and W2 cannot be removed",
            names,
            partial(_judge_c2, names=names, form=form),
            paper=1.0,
        )
    yield Claim(
        "example-c2/regret/even-spending",
        "who knows all means and spends evenly what is left loses T/6; with an equal share for every round, T/3",
        (f"example-c2/T={ROUNDS}",),
        _judge_c2_even,
        paper=ROUNDS / 6,
    )


def _judge_c2_measures(_: Evidence) -> Finding:
    world, rounds = KnapsackExample(kind="c2"), 900
    means, budgets = world.means(rounds, 0), world.rates(rounds) * rounds
    plan, even, moved = best_plan(means, budgets), even_plan(means, budgets), unrest(means)
    ours = {
        "sum LP_t": even.value,
        "LP(T)": plan.value,
        "T LP(mean)": rounds * mean_program(means, budgets)[0],
        "V1": moved.reward_steps,
        "W1": moved.reward_spread,
        "V2": float(moved.cost_steps.max()),
        "W2": moved.cost_spread,
        "price of a round": float(even.prices.max()),
        "price of the run": float(plan.prices.max()),
    }
    listed = ", ".join(f"{name} {value:.0f}" for name, value in ours.items())
    holds = np.allclose(list(ours.values()), (600, 900, 900, 0, 0, 1, 900, 1, 0), atol=1e-6)
    return Finding(even.value / plan.value, math.nan, holds, f"T = 900: {listed}.")


def _judge_c2(evidence: Evidence, *, names: tuple[str, ...], form: str) -> Finding:
    regrets = np.stack([column(evidence, name, form, "regret") for name in names], axis=1)
    slope = Power(np.array([evidence.studies[name].horizon for name in names], float), regrets).slope()
    shares = ", ".join(f"{share:.3f}" for share in regrets.mean(axis=0) / LONGER)
    return Finding(*slope, slope.mean >= 0.9, f"{shares} of T: a power of {slope.mean:.2f}.")


def _judge_c2_even(evidence: Evidence) -> Finding:
    """Within 5%."""
    study = f"example-c2/T={ROUNDS}"
    ours = evidence.regret(study, "even-spending")
    world = only_world(evidence.studies[study], KnapsackExample)
    means, budgets = world.means(ROUNDS, 0), world.rates(ROUNDS) * ROUNDS
    never = best_plan(means, budgets).value - even_plan(means, budgets).value
    holds = abs(ours.mean / (ROUNDS / 6) - 1.0) <= NEAR and abs(never / (ROUNDS / 3) - 1.0) <= 1e-6
    return Finding(*ours, holds, f"{ours.mean:,.0f}, and {never:,.0f} with equal shares.")
