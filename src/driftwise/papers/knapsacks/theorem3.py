"""Section 4 and Appendix E: points under constraints, Proposition 2, Theorem 3, and the examples of E.1 and E.3.

    linear      linear losses and constraints on a box, W = 0
    quadratic   squared distances on a ball, one quadratic constraint, W = 0
    swinging    linear, constraints that are tight in one half and loose in the other, W = 2 T
    noisy       linear, constraints drawn anew every round around a mean that stands still: Appendix E.3
    w-hard      a constraint that is tight while there is something to gain

Reg1 is what is lost beyond the best fixed point, Reg2 by how much constraints were overdrawn in all. Algorithm 2 is
played as printed (alpha = 1/T, beta = 1/sqrt(T)) and as it must be (T and sqrt(T)). Beside it stands a player that
never moves: what it loses, or overdraws, grows as T.
"""

import math
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from driftwise.core.protocols import Policy, World
from driftwise.core.seeding import generator
from driftwise.families import ConvexGap, ConvexHard, ConvexLinear, ConvexQuadratic, VirtualQueue
from driftwise.families.convex.constraint_violation import wandering
from driftwise.families.convex.hindsight import best_in_every_round, best_on_average
from driftwise.families.convex.loss_history import Recorded, past_of
from driftwise.families.convex.projections import box
from driftwise.families.convex.worlds.base import ConvexWorld, linear
from driftwise.papers.knapsacks.power_law import LAST, PowerLaw, column, grown, margin
from driftwise.papers.knapsacks.series import Maker
from driftwise.study.claims import Claim, Evidence, Finding, at_least, at_most, between
from driftwise.study.findings import mean_of
from driftwise.study.study import Study

HORIZONS = {"quick": tuple(250 * 4**k for k in range(5)), "full": tuple(250 * 4**k for k in range(6))}
RUNS = {"quick": 12, "full": 40}
PROGRAMS = {"quick": 100, "full": 300}
MANY = (1, 2, 4, 8, 16)  # constraints
LONG = 16_000  # rounds in which they are kept
WORLDS: dict[str, World] = {
    "linear": ConvexLinear(),
    "quadratic": ConvexQuadratic(),
    "swinging": ConvexLinear(variation=2.0),
    "noisy": ConvexLinear(noise=0.5),
    "many": ConvexLinear(constraints=MANY[-1]),
}
DELTAS = (0.1, 0.2, 0.4)
GAPS = (0.05, 0.2, 0.5)
POLICIES: dict[str, Policy] = {
    "printed": VirtualQueue(printed=1),
    "corrected": VirtualQueue(),
    "still": VirtualQueue(inertia=1e9),
}
READINGS = {"printed": "literal", "corrected": "alpha = T, beta = sqrt(T)"}
OUTCOMES = {"Reg1": "regret", "Reg2": "violation"}
KEPT = 0.05  # of the square root of T: constraints overdrawn by no more are kept
SAFE = ("Reg2", "quadratic")  # it starts where the constraint is kept: Reg2 alone says nothing of the algorithm
SHARE = 0.1  # of q W: what "of the order of" must mean at least


# ---- the studies ----


def studies(scale: str, runs: int | None) -> Iterator[Maker]:
    """Every world at every horizon, and many constraints; W-hard, where nothing is drawn, once at the longest."""
    for horizon in HORIZONS[scale]:
        for name, world in WORLDS.items():
            yield _maker(f"theorem-3/{name}/at={horizon}", world, horizon, runs or RUNS[scale])
    for many in MANY:
        yield _maker(f"theorem-3/d/at={many}", ConvexLinear(constraints=many), LONG, runs or RUNS[scale])
    for delta in DELTAS:
        longest = HORIZONS[scale][-1]
        yield _maker(_hard(delta, longest), ConvexHard(delta=delta), longest, 1)


def _hard(delta: float, horizon: int) -> str:
    return f"theorem-3/w-hard/delta={delta:g}/T={horizon}"


def _maker(name: str, world: World, horizon: int, runs: int) -> Maker:
    return name, partial(_study, name, world, horizon, runs)


def _study(name: str, world: World, horizon: int, runs: int) -> Study:
    return Study(name=name, worlds={"world": world}, policies=POLICIES, horizon=horizon, runs=runs)


# ---- Theorem 3 and E.3 ----


def claims(scale: str) -> Iterator[Claim]:
    """Reg1, Reg2, and what W costs."""
    for world in ("linear", "quadratic"):
        yield from _growth("theorem-3", world, scale, ("Reg1", "Reg2"))
    yield from _growth("theorem-3", "swinging", scale, ("Reg2",))  # Reg1 is allowed q W: judged below
    yield from _constraints(scale)
    yield from _w_terms(HORIZONS[scale])


def appendix_e3(scale: str) -> Iterator[Claim]:
    """Constraints that are drawn."""
    yield from _growth("appendix-e3", "noisy", scale, ("Reg1", "Reg2"))


def _growth(group: str, world: str, scale: str, outcomes: tuple[str, ...]) -> Iterator[Claim]:
    names = tuple(f"theorem-3/{world}/at={horizon}" for horizon in HORIZONS[scale])
    reach = margin(HORIZONS[scale][-LAST:])
    for symbol in outcomes:
        factor = "d " if symbol == "Reg2" else ""
        aside = "; who never moves keeps the constraint, too" if (symbol, world) == SAFE else ""
        for policy, reading in READINGS.items():
            yield Claim(
                f"{group}/{symbol}/{world}/{policy}",
                f"{symbol} of Algorithm 2 is O({factor}sqrt(T)): shown is the power of T{aside}",
                names,
                partial(_power, world=world, symbol=symbol, policy=policy),
                at_most(0.5 + reach),
                paper=0.5,
                statement=f"{group}/{symbol}/{world}",
                reading=reading,
                about="" if aside else policy,
            )
    yield Claim(
        f"{group}/still/{world}",
        "who never moves loses, or overdraws, in proportion to T: shown is the larger of both powers",
        names,
        partial(_still, world=world),
        between(1.0 - reach, 1.0 + reach),
        statement=None,
    )


def law(evidence: Evidence, world: str, symbol: str, policy: str) -> PowerLaw:
    """How Reg1 or Reg2 grows with T."""
    return grown(evidence, f"theorem-3/{world}", policy, OUTCOMES[symbol])


def _power(evidence: Evidence, *, world: str, symbol: str, policy: str) -> Finding:
    growth = law(evidence, world, symbol, policy)
    if (growth.means <= KEPT * np.sqrt(growth.sizes)).all():
        return Finding(0.0, why=f"It is {growth.means.max():.3g} at most.")
    return growth.last(LAST).finding()


def _still(evidence: Evidence, *, world: str) -> Finding:
    every = [law(evidence, world, symbol, "still").last(LAST).finding() for symbol in OUTCOMES]
    return max((each for each in every if not each.not_judged), key=lambda each: each.ours, default=every[0])


def _constraints(scale: str) -> Iterator[Claim]:
    names = tuple(f"theorem-3/d/at={many}" for many in MANY)
    yield Claim(
        "theorem-3/Reg2/d",
        "Reg2 grows no faster than d: shown is the power of the number of constraints, alpha = T, beta = sqrt(T); who "
        "never moves overdraws as d, too, so that the factor is no merit of the algorithm",
        names,
        partial(_by_constraints, policy="corrected"),
        at_most(1.0 + margin(MANY)),
        paper=1.0,
    )
    yield from (claim for claim in _growth("theorem-3", "many", scale, ("Reg2",)) if "still" not in claim.id)


def _by_constraints(evidence: Evidence, *, policy: str) -> Finding:
    ours, still = (grown(evidence, "theorem-3/d", each, "violation") for each in (policy, "still"))
    finding = ours.finding()
    return finding._replace(why=f"{finding.why} Who never moves: {still.fit()[0]:.2f}.")


# ---- what W costs ----


def _w_terms(horizons: tuple[int, ...]) -> Iterator[Claim]:
    longest = horizons[-1]
    names = (*(_hard(delta, longest) for delta in DELTAS), f"theorem-3/swinging/at={longest}")
    yield Claim(
        "theorem-3/Reg1/W",
        "Reg1 is at most q W + O(sqrt(T)): shown is the largest share of q W + sqrt(T), alpha = T, beta = sqrt(T)",
        names,
        partial(_within_bound, names=names),
        at_most(1.0),
        paper=1.0,
    )
    for delta in DELTAS:
        limit, name = delta / (4.0 * (1.0 + delta)), _hard(delta, longest)
        reach = 2.0 / math.sqrt(longest)
        yield Claim(
            f"theorem-3/w-hard/delta={delta:g}",
            "Reg1 / T comes to delta / (4 (1 + delta)), what not knowing the second half costs, up to 2 / sqrt(T)",
            (name,),
            partial(_hard_loss, name=name),
            between(limit - reach, limit + reach),
            paper=limit,
            statement=None,
            about="corrected",
        )


def _hard_loss(evidence: Evidence, *, name: str) -> Finding:
    ours, overdrawn = (float(column(evidence, name, "corrected", each)[0]) for each in ("regret", "violation"))
    return Finding(ours / evidence.studies[name].horizon, why=f"Reg2 is {overdrawn:.1f}.")


def _within_bound(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    shares = {}
    for name in names:
        study = evidence.studies[name]
        bound = _allowed(study.worlds["world"], study.horizon)
        shares[name] = column(evidence, name, "corrected", "regret") / bound
    worst = max(shares, key=lambda name: float(shares[name].mean()))
    if len(shares[worst]) == 1:
        return Finding(float(shares[worst][0]), why=f"Largest in {worst.removeprefix('theorem-3/')}.")
    return mean_of(shares[worst], f"Largest in {worst.removeprefix('theorem-3/')}.")


@cache
def _allowed(world: World, horizon: int) -> float:
    """What q W + sqrt(T) is."""
    if not isinstance(world, ConvexWorld):
        raise TypeError(f"{world} is not a world of points")
    return highest_price(past := past_of(world, horizon, seed=0)) * wandering(past) + math.sqrt(horizon)


def highest_price(past: Recorded) -> float:
    """The q of Assumption 2."""
    return max(float(find(past).prices.max()) for find in (best_on_average, best_in_every_round))


# ---- Proposition 2, and the example of E.1 ----


def proposition2(scale: str) -> Iterator[Claim]:
    """Both inequalities."""
    count = PROGRAMS[scale]
    for name, says, agrees in (
        ("lower", "0 <= OPT' - OPT: shown is the smallest share of |OPT|", at_least(-1e-6)),
        ("upper", "OPT' - OPT <= q W: shown is the largest share of q W", at_most(1.0 + 1e-6)),
    ):
        yield Claim(
            f"proposition-2/{name}",
            f"{says} in {count} random linear programs",
            (),
            partial(_sandwich, count=count, upper=name == "upper"),
            agrees,
            paper=1.0 if name == "upper" else 0.0,
        )


def appendix_e1(scale: str) -> Iterator[Claim]:
    """The order of q W is reached."""
    for delta in GAPS:
        yield Claim(
            f"appendix-e1/delta={delta:g}",
            "OPT' - OPT is of the order of q W: shown is the share of it, with b = r = 1",
            (),
            partial(_example_e1, delta=delta),
            at_least(SHARE),
        )


@cache
def _random_program(number: int) -> tuple[float, float, float]:
    """OPT, OPT' and q W of a few kinds of rounds with linear constraints that the corner 0 keeps."""
    draws = generator(number, "programs")
    dim, count, kinds = draws.integers(1, 5), draws.integers(1, 4), draws.integers(2, 6)
    rows = np.repeat(np.arange(kinds), draws.integers(1, 10, kinds)).astype(np.int32)
    slopes = draws.uniform(-0.3, 1.0, (kinds, count, dim))
    constraints = linear(slopes, -draws.uniform(0.1, 0.6, (kinds, count)), rows)
    losses = linear(-draws.random((1, 1, dim)), np.zeros((1, 1)), np.zeros_like(rows))
    past = Recorded(box(0.0, 1.0, size=int(dim)), losses, constraints)
    return best_on_average(past).value, best_in_every_round(past).value, highest_price(past) * wandering(past)


def _sandwich(_: Evidence, *, count: int, upper: bool) -> Finding:
    every = [_random_program(number) for number in range(count)]
    if upper:
        return Finding(max((strict - loose) / slack for loose, strict, slack in every if slack > 1e-9))
    return Finding(min((strict - loose) / max(1.0, abs(loose)) for loose, strict, _ in every))


def _example_e1(_: Evidence, *, delta: float) -> Finding:
    past = past_of(ConvexGap(delta=delta), 1000, seed=0)
    loose, strict, price = best_on_average(past).value, best_in_every_round(past).value, highest_price(past)
    why = f"T = 1000: OPT = {loose:.2f}, OPT' = {strict:.2f}, q = {price:.3f}."
    return Finding((strict - loose) / (price * wandering(past)), why=why)
