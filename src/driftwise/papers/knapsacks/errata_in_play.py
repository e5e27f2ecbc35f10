"""Errata about what is played: 6 to 8, 10, 11 and 13."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import generator, key
from driftwise.core.types import Problem
from driftwise.families import GreedyRatio, KnapsackExample, SlidingKnapsackUCB
from driftwise.families.knapsack.hindsight.hindsight_lp import best_plan
from driftwise.families.knapsack.problem import Budgets
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers.knapsacks.carousel import Carousel
from driftwise.papers.knapsacks.errata import Erratum, Form, exactly
from driftwise.papers.knapsacks.forms import FORMS, tuned
from driftwise.papers.knapsacks.powers import column
from driftwise.study.claims import Evidence, Finding
from driftwise.study.study import Study

ROUNDS = 20_000
INSTANCES = {"quick": 6, "full": 24}
LITTLE = 0.015  # of LP(T)


# ---- 6: the index of the estimators. One arm that pays 1 or 0, as often ----


def _broken(literally: bool) -> float:
    """The share of rounds in which the mean, 1/2, is above its upper bound."""
    rounds = 4_000
    rewards = (generator(6, "estimators").random(rounds) < 0.5).astype(float)
    counts = np.arange(rounds)
    sums = counts * rewards if literally else np.append(0.0, np.cumsum(rewards)[:-1])
    upper = sums / (counts + 1.0) + np.sqrt(2.0 * math.log(12.0 * rounds**3) / (counts + 1.0))
    return float((upper < 0.5).mean())


def _index(_: Evidence) -> Finding:
    share = _broken(literally=True)
    return exactly(share, share == 0.0, f"Lemma 2 fails in {share:.0%} of 4,000 rounds.")


def _index_mended(_: Evidence) -> Finding:
    share = _broken(literally=False)
    return exactly(share, share == 0.0, f"Lemma 2 fails in {share:.0%} of 4,000 rounds.")


# ---- 7: the null arm ----


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """Rotating worlds as they are, and with an arm to be learned that pays and costs nothing."""
    for instance in range(INSTANCES[scale]):
        for idle in (0, 1):
            yield _name(instance, idle), partial(_study, instance, idle, runs or 2)


def _name(instance: int, idle: int) -> str:
    return f"erratum/null-arm/instance={instance}/idle={idle}"


def _study(instance: int, idle: int, runs: int) -> Study:
    world = Carousel(n_arms=5, resources=2, instance=instance, idle=idle)
    policies = tuned(world, ROUNDS)
    name = _name(instance, idle)
    return Study(name=name, worlds={"world": world}, policies=policies, horizon=ROUNDS, runs=runs)


def _null_arm(evidence: Evidence, *, instances: int) -> Finding:
    """On average over instances, for every form."""
    changes_by_form = {}
    for form in FORMS:
        changes = [_share(evidence, _name(i, 1), form) - _share(evidence, _name(i, 0), form) for i in range(instances)]
        changes_by_form[form] = float(np.mean(changes))
    worst = max(changes_by_form, key=lambda form: abs(changes_by_form[form]))
    listed = ", ".join(f"{form} {change:+.3f}" for form, change in changes_by_form.items())
    return exactly(abs(changes_by_form[worst]), abs(changes_by_form[worst]) <= LITTLE, f"{listed}.")


def _share(evidence: Evidence, study: str, form: str) -> float:
    return float((column(evidence, study, form, "reward") / column(evidence, study, form, "benchmark")).mean())


# ---- 8: when it stops ----


def _always(world: BudgetWorld, rounds: int) -> tuple[float, float, float]:
    """What is earned by playing the one arm in every round, what is spent, and LP(T)."""
    problem, policy = world.problem(rounds), GreedyRatio(paced=0)
    tape, till = world.draw(rounds, 0)
    trace = trace_for(problem, 0, rounds)
    played = play(policy, policy.init(problem), tape, till, key(0), trace, rounds)
    plan = best_plan(world.means(rounds, 0), problem.structure.amounts)
    return float(trace.rewards[:played].sum()), float(till.spent[0]), plan.value


FREE = KnapsackExample(kind="lower-bound-3", delta1=0.0, delta2=0.5)  # costs 1/2, and from half-time on nothing


def _exhausted(_: Evidence) -> Finding:
    rounds, means = 1000, FREE.means(1000, 0)
    spent = np.cumsum(means.costs[means.rows, 0, 0])
    stops = int(np.argmax(spent >= float(FREE.rates(rounds)[0]) * rounds - 1e-9)) + 1
    earned = float(means.rewards[means.rows[:stops], 0].sum())
    plan = best_plan(means, FREE.rates(rounds) * rounds).value
    return exactly(earned / plan, earned >= plan - 1e-6, f"Stopped in round {stops}: {earned:.0f} of {plan:.0f}.")


def _overspent(_: Evidence) -> Finding:
    free, dear = _always(FREE, 1000), _always(KnapsackExample(kind="motivating", delta=0.0), 1000)
    holds = all(abs(earned - plan) < 1e-6 for earned, _, plan in (free, dear))
    why = (
        f"Spent to the last cent it goes on where rounds are free: {free[0]:.0f} of {free[2]:.0f}. The reward of the "
        f"round that cannot be paid does not count: {dear[0]:.0f}, and not {dear[0] + 1:.0f}, of {dear[2]:.0f}."
    )
    return exactly(free[0] / free[2], holds, why)


# ---- 10, 11, 13: what is not defined ----


def _no_variation(_: Evidence) -> Finding:
    with np.errstate(divide="ignore"):
        window = float(np.cbrt(10.0 * math.log(120.0 * 10.0**12)) * np.float64(0.0) ** (-2 / 3) * 10.0 ** (8 / 3))
    return exactly(math.nan, math.isfinite(window), "0^(-2/3) is infinite.")


def _no_variation_mended(_: Evidence) -> Finding:
    windows = [SlidingKnapsackUCB.paper(10_000, 10, 1, v, v).window for v in (0.0, 1e-9)]
    return exactly(windows[0], windows[0] == windows[1] == 10_000, f"As for V = 10^-9: {windows[1]:,} rounds.")


def _above_one(_: Evidence) -> Finding:
    return exactly(1.5, 1.5 <= 1.0, "At delta = 0.5 the arm pays 1.5, and rewards are said to lie in [0, 1].")


def _above_one_mended(_: Evidence) -> Finding:
    world = KnapsackExample(kind="motivating", delta=0.5)
    means = world.means(1000, 0)
    plan = 1.5 * best_plan(means, world.rates(1000) * 1000).value
    why = f"Divided by 1 + delta; regrets are multiplied again, and LP(T) is {plan:.0f} = (T/2) (1 + delta)."
    return exactly(means.rewards.max(), means.rewards.max() <= 1.0 and abs(plan - 750.0) < 1e-6, why)


def _epsilons() -> dict[int, float]:
    """The eps of Appendix D, all constants 1, with m = 10, d = 1, b = 0.3 and V2 = 1."""
    epsilons = {}
    for rounds in (10**4, 10**5, 10**6):
        budget, gamma = 0.3 * rounds, math.log(10.0 * rounds**2)
        alpha = math.sqrt(gamma * 10.0 * budget) + 10.0 * gamma
        beta = math.sqrt(gamma * budget) + math.cbrt(10.0 * gamma * rounds**2)
        epsilons[rounds] = (alpha + beta) / budget
    return epsilons


def _epsilon(_: Evidence) -> Finding:
    epsilons = _epsilons()
    listed = ", ".join(f"{eps:.2f} at T = {rounds:,}" for rounds, eps in epsilons.items())
    return exactly(epsilons[10**4], max(epsilons.values()) < 1.0, f"{listed}.")


def _epsilon_mended(_: Evidence) -> Finding:
    shares = []
    for rounds in (10**4, 10**5, 10**6):
        policy = SlidingKnapsackUCB.appendix(rounds, 10, 1, 1.0, 1.0)
        state = policy.init(Problem(10, horizon=rounds, structure=Budgets(np.array([0.3 * rounds])), family="knapsack"))
        shares.append(float(state.share[0]))
    listed = ", ".join(f"{share:.2f}" for share in shares)
    return exactly(min(shares), min(shares) >= 0.5, f"{listed} of the budget is left to spend.")


def errata(scale: str) -> Iterator[Erratum]:
    """All of them; the null arm is played on as many instances as the scale says."""
    instances = INSTANCES[scale]
    yield Erratum(
        "06-estimators",
        Form("sums of r_(t,j) over s: shown is how often the bound fails", _index, paper=0.0),
        Form("sums of r_s over s", _index_mended, paper=0.0),
        "With the index t every past round is given the reward of the present one, which is not known yet.",
    )
    yield Erratum(
        "07-null-arm",
        None,
        Form(
            "whether the null arm is known or has to be estimated hardly matters: at most 0.015 of LP(T)",
            partial(_null_arm, instances=instances),
        ),
        studies=tuple(_name(instance, idle) for instance in range(instances) for idle in (0, 1)),
    )
    yield Erratum(
        "08-stop",
        Form(
            "it ends when a resource is exhausted, and loses nothing by that: shown is the share of LP(T)",
            _exhausted,
            1.0,
        ),
        Form("it ends when more than the budget would be spent, and that round does not count", _overspent, 1.0),
        "The algorithm has > B where the text has exhausted. With >= B, rounds that cost nothing are lost.",
    )
    yield Erratum(
        "10-window",
        Form("windows are (m L)^(1/3) (T / V)^(2/3), V = 0 included", _no_variation),
        Form("V = 0 takes all rounds, as any small V does", _no_variation_mended, paper=10_000.0),
        "The formula divides by zero.",
    )
    yield Erratum(
        "11-motivating",
        Form("rewards of the motivating example lie in [0, 1]: shown is the largest", _above_one, paper=1.0),
        Form("scaled, they do", _above_one_mended, paper=1.0),
        "One of them is 1 + delta.",
    )
    yield Erratum(
        "13-epsilon",
        Form("Appendix D: the share eps of the budget that is held back is below 1", _epsilon),
        Form("capped at 1/2", _epsilon_mended),
        "Its constants are left open; with 1 for all of them nothing would be left to spend.",
    )
