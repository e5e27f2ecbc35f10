"""What cannot be known in advance costs W: section 2.1, and lower bound (iii) of Theorem 2.

In each a single arm changes once, at half-time: V stays the same however long the run, regret does not. Nothing is left
to chance but what a policy draws itself. Where the change may be to the better or to the worse, both are played, and
what counts is the worse of the two regrets: no policy gets it below what the best share of the first half does.

    motivating     pays 1, then 1 + delta or 1 - delta; budget T/2               T delta / 4
    lower bound    pays r and costs 2b, then r + d1 and 2b - d2, or r - d1 and 2b + d2

Rewards of the first are played divided by 1 + delta, and regrets are multiplied by it again.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.families import EvenSpending, KnapsackExample, PrequentialPacing
from driftwise.families.knapsack.hindsight.path_length import spread
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers import only_world
from driftwise.papers.knapsacks.forms import DESCRIPTIONS, FORMS, tuned
from driftwise.papers.knapsacks.powers import Power, column
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.study import Study

ROUNDS = 20_000
RUNS = {"quick": 4, "full": 20}
DELTAS = (0.1, 0.2, 0.4, 0.8)
TURNS = ((0.1, 0.0), (0.2, 0.0), (0.4, 0.0), (0.0, 0.05), (0.0, 0.1), (0.1, 0.1), (0.2, 0.1), (0.4, 0.1))
LONGER = (5_000, 20_000, 80_000)
SIGNS = {"better": 1, "worse": -1}
PACED = ("resolved", "prequential-pacing")
NEAR = 0.05  # within 5% of the least that can be had


# ---- the studies ----


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """Both turns of every example, and longer runs of some."""
    for delta in DELTAS:
        for turn, sign in SIGNS.items():
            world = KnapsackExample(kind="motivating", delta=delta, sign=sign)
            yield maker(f"w-term/motivating/delta={delta:g}/{turn}", world, ROUNDS, runs or RUNS[scale])
    for d1, d2 in TURNS:
        for turn, sign in SIGNS.items():
            world = KnapsackExample(kind="lower-bound-3", rate=0.25, reward=0.5, delta1=d1, delta2=d2, sign=sign)
            yield maker(f"w-term/lower-bound-3/d1={d1:g},d2={d2:g}/{turn}", world, ROUNDS, runs or RUNS[scale])
    for rounds in LONGER:
        for turn, sign in SIGNS.items():
            world = KnapsackExample(kind="motivating", delta=0.2, sign=sign)
            yield maker(f"w-term/motivating/T={rounds}/{turn}", world, rounds, runs or RUNS[scale])


def maker(name: str, world: BudgetWorld, rounds: int, runs: int) -> tuple[str, Callable[[], Study]]:
    """A study of every form, of the policy that paces, and of the oracle that knows all means."""
    return name, partial(_study, name, world, rounds, runs)


def _study(name: str, world: BudgetWorld, rounds: int, runs: int) -> Study:
    policies: dict[str, Policy] = {
        **tuned(world, rounds),
        "prequential-pacing": PrequentialPacing(),
        "even-spending": EvenSpending(),
    }
    return Study(name=name, worlds={"world": world}, policies=policies, horizon=rounds, runs=runs)


PLAYERS = (*FORMS, "prequential-pacing", "even-spending")


def worse(evidence: Evidence, name: str, policy: str) -> float:
    """The worse of the mean regrets of both turns, in the paper's units."""
    return max(by_turn(evidence, name, policy).values())


def by_turn(evidence: Evidence, name: str, policy: str) -> dict[str, float]:
    """The mean regret of either turn."""
    regrets = {turn: float(column(evidence, f"{name}/{turn}", policy, "regret").mean()) for turn in SIGNS}
    return {turn: regret * unit(world_of(evidence, name)) for turn, regret in regrets.items()}


def world_of(evidence: Evidence, name: str) -> KnapsackExample:
    """The world that turns to the better."""
    return only_world(evidence.studies[f"{name}/better"], KnapsackExample)


def unit(world: KnapsackExample) -> float:
    """What a reward is in the paper's units."""
    return 1.0 + world.delta if world.kind == "motivating" else 1.0


# ---- what can be had ----


def least(world: KnapsackExample, rounds: int) -> float:
    """The least that the worse of two regrets can be: over all shares of the first half that may be played."""
    shares = np.linspace(0.0, 1.0, 100_001)
    half, budget = rounds / 2.0, float(world.rates(rounds)[0]) * rounds
    regrets = []
    for sign in SIGNS.values():
        turn = replace(world, sign=sign).means(rounds, 0)
        (r1, r2), (c1, c2) = turn.rewards[:, 0], turn.costs[:, 0, 0]
        left = budget - shares * half * c1
        later = np.clip(left / c2, 0.0, half)
        earned = np.where(left >= -1e-9, shares * half * r1 + later * r2, -np.inf)
        regrets.append(earned.max() - earned)
    return float(np.maximum(*regrets).min())


def stakes(world: KnapsackExample, rounds: int) -> float:
    """W1 + q W2, where q is the price of the first half."""
    means = world.means(rounds, 0)
    w1, w2 = spread(means)
    return w1 + w2 * float(means.rewards[0, 0] / means.costs[0, 0, 0])


# ---- the claims ----


def claims(scale: str) -> Iterator[Claim]:
    """Regret in proportion to W, and to T while V stands still."""
    for delta in DELTAS:
        yield from _example(f"w-term/motivating/delta={delta:g}", KnapsackExample(kind="motivating", delta=delta))
    names = tuple(f"w-term/motivating/delta={delta:g}" for delta in DELTAS)
    yield from _linear("w-term/motivating/linear-in-delta", names, DELTAS, "delta")
    longer = tuple(f"w-term/motivating/T={rounds}" for rounds in LONGER)
    yield from _linear("w-term/motivating/linear-in-T", longer, LONGER, "T, though V stays as it is")
    for d1, d2 in TURNS:
        world = KnapsackExample(kind="lower-bound-3", rate=0.25, reward=0.5, delta1=d1, delta2=d2)
        yield from _example(f"w-term/lower-bound-3/d1={d1:g},d2={d2:g}", world)
    names = tuple(f"w-term/lower-bound-3/d1={d1:g},d2={d2:g}" for d1, d2 in TURNS)
    yield Claim(
        "w-term/lower-bound-3/order",
        "the worse regret is of the order of W1 + q W2: shown is the least share of it that any policy lost",
        _turns(names),
        partial(_judge_order, names=names),
    )


def _turns(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name}/{turn}" for name in names for turn in SIGNS)


def _example(name: str, world: KnapsackExample) -> Iterator[Claim]:
    bound = least(world, ROUNDS) * unit(world)
    yield Claim(
        f"{name}/at-least",
        "whoever does not know the future loses at least this much on one of the two turns",
        _turns((name,)),
        partial(_judge_at_least, name=name, bound=bound),
        paper=bound,
    )
    for policy in PACED if world.delta2 == 0.0 else ():
        yield Claim(
            f"{name}/{policy}",
            f"{policy} loses hardly more than must be lost: within 5%",
            _turns((name,)),
            partial(_judge_near, name=name, policy=policy, bound=bound),
            paper=bound,
        )


def _linear(claim: str, names: tuple[str, ...], sizes: tuple[float, ...], what: str) -> Iterator[Claim]:
    for form in FORMS:
        yield Claim(
            f"{claim}/{form}",
            f"{DESCRIPTIONS[form]}: the worse regret grows in proportion to {what}",
            _turns(names),
            partial(_judge_linear, names=names, sizes=sizes, form=form),
            paper=1.0,
        )


def _judge_at_least(evidence: Evidence, *, name: str, bound: float) -> Finding:
    """Up to 1%, for means over few runs."""
    regrets = {policy: worse(evidence, name, policy) for policy in PLAYERS}
    least_one = min(regrets, key=lambda policy: regrets[policy])
    listed = ", ".join(f"{policy} {regret:,.0f}" for policy, regret in regrets.items())
    return Finding(regrets[least_one], math.nan, regrets[least_one] >= 0.99 * bound, f"{listed}.")


def _judge_near(evidence: Evidence, *, name: str, policy: str, bound: float) -> Finding:
    regrets = by_turn(evidence, name, policy)
    ours = max(regrets.values())
    why = f"{regrets['better']:,.0f} when it turns to the better, {regrets['worse']:,.0f} to the worse."
    return Finding(ours, math.nan, ours <= (1.0 + NEAR) * bound, why)


def _judge_linear(evidence: Evidence, *, names: tuple[str, ...], sizes: tuple[float, ...], form: str) -> Finding:
    regrets = np.array([[worse(evidence, name, form) for name in names]])
    slope = Power(np.array(sizes, float), regrets).slope().mean
    listed = ", ".join(f"{regret:,.0f}" for regret in regrets[0])
    return Finding(slope, math.nan, abs(slope - 1.0) <= 0.1, f"{listed}: a power of {slope:.2f}.")


def _judge_order(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    """At least a fifth of it."""
    shares = {}
    for name in names:
        regret = min(worse(evidence, name, policy) for policy in PLAYERS)
        shares[name] = regret / stakes(world_of(evidence, name), ROUNDS)
    smallest, largest = min(shares.values()), max(shares.values())
    return Finding(smallest, math.nan, smallest >= 0.2, f"From {smallest:.2f} to {largest:.2f} of it.")
