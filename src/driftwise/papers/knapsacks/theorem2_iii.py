"""What cannot be known in advance costs W: section 2.1, and Theorem 2 (iii).

In each a single arm changes once, at half-time: V stays the same however long the run, regret does not. Nothing is left
to chance but what a policy draws itself. Where the change may be to the better or to the worse, both are played, and
what counts is the worse of the two regrets: no policy gets it below what the best share of the first half does.

    section 2.1      pays 1, then 1 + delta or 1 - delta; budget T/2               T delta / 4
    theorem 2 (iii)  pays r and costs 2b, then r + d1 and 2b - d2, or r - d1 and 2b + d2

Rewards of the first are played divided by 1 + delta, and regrets are multiplied by it again.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.core.types import Floats
from driftwise.families import EvenSpending, KnapsackExample, PrequentialPacing, Uniform
from driftwise.families.knapsack.hindsight.path_length import spread
from driftwise.families.knapsack.worlds.base import BudgetWorld
from driftwise.papers import only_world
from driftwise.papers.knapsacks.algorithm1 import FORMS
from driftwise.papers.knapsacks.power_law import column, jackknife, margin, power_of
from driftwise.papers.knapsacks.series import Maker
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_least, at_most
from driftwise.study.findings import mean_of
from driftwise.study.study import Study

ROUNDS = 20_000
RUNS = {"quick": 4, "full": 20}
DELTAS = (0.1, 0.2, 0.4, 0.8)
TURNS = ((0.1, 0.0), (0.2, 0.0), (0.4, 0.0), (0.0, 0.05), (0.0, 0.1), (0.1, 0.1), (0.2, 0.1), (0.4, 0.1))
LONGER = (5_000, 20_000, 80_000)
SIGNS = {"better": 1, "worse": -1}
PACED = ("resolved", "prequential-pacing")
PLAYERS: dict[str, Policy] = {
    **FORMS,
    "prequential-pacing": PrequentialPacing(),
    "even-spending": EvenSpending(),
    "uniform": Uniform(),
}
ROUNDING = 0.01  # of what must be lost: a run has whole rounds
NEAR = 0.05  # within 5% of the least that can be had
SHARE = 0.2  # of W1 + q W2: what "of the order of" must mean at least


# ---- the studies ----


def studies(scale: str, runs: int | None) -> Iterator[Maker]:
    """Both turns of every example, and longer runs of some."""
    many = runs or RUNS[scale]
    for delta in DELTAS:
        for turn, sign in SIGNS.items():
            world = KnapsackExample(kind="motivating", delta=delta, sign=sign)
            yield maker(f"section-2.1/delta={delta:g}/{turn}", world, ROUNDS, many)
    for rounds in LONGER:
        for turn, sign in SIGNS.items():
            world = KnapsackExample(kind="motivating", delta=0.2, sign=sign)
            yield maker(f"section-2.1/T={rounds}/{turn}", world, rounds, many)
    for d1, d2 in TURNS:
        for turn, sign in SIGNS.items():
            yield maker(f"{_turn(d1, d2)}/{turn}", _turning(d1, d2, sign), ROUNDS, many)


def _turn(d1: float, d2: float) -> str:
    return f"theorem-2-iii/d1={d1:g},d2={d2:g}"


def _turning(d1: float, d2: float, sign: int = 1) -> KnapsackExample:
    return KnapsackExample(kind="lower-bound-3", rate=0.25, reward=0.5, delta1=d1, delta2=d2, sign=sign)


def maker(name: str, world: BudgetWorld, rounds: int, runs: int) -> Maker:
    """A study of every form, of the policy that paces, of the oracle that spends evenly, and of uniform play."""
    return name, partial(_study, name, world, rounds, runs)


def _study(name: str, world: BudgetWorld, rounds: int, runs: int) -> Study:
    return Study(name=name, worlds={"world": world}, policies=PLAYERS, horizon=rounds, runs=runs)


# ---- what was lost ----


class Loss(NamedTuple):
    """The regret of every run when the arm turns to the better, and to the worse, in the paper's units."""

    better: Floats
    worse: Floats

    @property
    def runs(self) -> Floats:
        """Those of the turn that is worse on average."""
        return max(self, key=lambda regrets: float(regrets.mean()))


def loss(evidence: Evidence, name: str, policy: str) -> Loss:
    """Of one policy."""
    factor = unit(world_of(evidence, name))
    return Loss(*(factor * column(evidence, f"{name}/{turn}", policy, "regret") for turn in SIGNS))


def least_loss(evidence: Evidence, name: str) -> Floats:
    """The runs of the player whose worse regret is the smallest."""
    worse = [loss(evidence, name, policy).runs for policy in PLAYERS]
    return min(worse, key=lambda regrets: float(regrets.mean()))


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
        rest = budget - shares * half * c1
        later = np.clip(rest / c2, 0.0, half)
        earned = np.where(rest >= -1e-9, shares * half * r1 + later * r2, -np.inf)
        regrets.append(earned.max() - earned)
    return float(np.maximum(*regrets).min())


def stakes(world: KnapsackExample, rounds: int) -> float:
    """W1 + q W2, where q is the price of the first half."""
    means = world.means(rounds, 0)
    w1, w2 = spread(means)
    return w1 + w2 * float(means.rewards[0, 0] / means.costs[0, 0, 0])


# ---- the claims ----


def section21(scale: str) -> Iterator[Claim]:
    """Regret in proportion to T while V stands still."""
    for delta in DELTAS:
        name, must = f"section-2.1/delta={delta:g}", ROUNDS * delta / 4.0
        yield Claim(
            f"{name}/inevitable",
            "a regret of T delta / 4 is inevitable: shown is the least loss of seven players, each on its worse turn",
            _turns((name,)),
            partial(_measure_least, name=name),
            at_least((1.0 - ROUNDING) * must),
            paper=must,
        )
        yield from _near(name, KnapsackExample(kind="motivating", delta=delta))
    longer = tuple(f"section-2.1/T={rounds}" for rounds in LONGER)
    yield Claim(
        "section-2.1/linear-in-T",
        "a sublinear dependency on T cannot be achieved with V alone: shown is the power of T in the least loss",
        _turns(longer),
        partial(_measure_power, names=longer, sizes=LONGER),
        at_least(1.0 - margin(LONGER)),
        paper=1.0,
    )


def claims(scale: str) -> Iterator[Claim]:
    """Regret in proportion to W."""
    names = tuple(_turn(d1, d2) for d1, d2 in TURNS)
    yield Claim(
        "theorem-2-iii/order",
        "some turn costs any policy a share of W1 + q W2: shown is the least share that any player lost, of 8 turns",
        _turns(names),
        partial(_measure_share, names=names, of=stakes),
        at_least(SHARE),
        possible=Range(0.0, np.inf),
    )
    yield Claim(
        "theorem-2-iii/least",
        "no player loses less than the best guess of the future does: shown is the least share of it",
        _turns(names),
        partial(_measure_share, names=names, of=least),
        at_least(1.0 - ROUNDING),
        statement=None,
    )
    for d1, d2 in TURNS:
        if d2 == 0.0:
            yield from _near(_turn(d1, d2), _turning(d1, d2))


def _turns(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name}/{turn}" for name in names for turn in SIGNS)


def _near(name: str, world: KnapsackExample) -> Iterator[Claim]:
    must = least(world, ROUNDS) * unit(world)
    for policy in PACED:
        yield Claim(
            f"{name}/{policy}",
            f"{policy} loses hardly more than must be lost: at most 5% more",
            _turns((name,)),
            partial(_measure_worse, name=name, policy=policy),
            at_most((1.0 + NEAR) * must),
            paper=must,
            statement=None,
            about=policy,
        )


def _measure_least(evidence: Evidence, *, name: str) -> Finding:
    means = {policy: float(loss(evidence, name, policy).runs.mean()) for policy in PLAYERS}
    listed = ", ".join(f"{policy} {regret:,.0f}" for policy, regret in means.items())
    return mean_of(least_loss(evidence, name), f"{listed}.")


def _measure_worse(evidence: Evidence, *, name: str, policy: str) -> Finding:
    regrets = loss(evidence, name, policy)
    why = f"{regrets.better.mean():,.0f} when it turns to the better, {regrets.worse.mean():,.0f} to the worse."
    return mean_of(regrets.runs, why)


def _measure_power(evidence: Evidence, *, names: tuple[str, ...], sizes: tuple[float, ...]) -> Finding:
    values = np.stack([least_loss(evidence, name) for name in names], axis=1)
    power, error = jackknife(values, lambda sample: power_of(np.array(sizes, float), sample.mean(axis=0)))
    listed = ", ".join(f"{regret:,.0f}" for regret in values.mean(axis=0))
    return Finding(power, error, f"{listed}: a power of {power:.3f}.", runs=len(values))


def _measure_share(
    evidence: Evidence, *, names: tuple[str, ...], of: Callable[[KnapsackExample, int], float]
) -> Finding:
    shares = {name: least_loss(evidence, name) / of(world_of(evidence, name), ROUNDS) for name in names}
    smallest = min(shares, key=lambda name: float(shares[name].mean()))
    largest = max(float(each.mean()) for each in shares.values())
    finding = mean_of(shares[smallest])
    return finding._replace(why=f"From {finding.ours:.2f} ({smallest.split('/')[1]}) to {largest:.2f} of it.")
