"""Section 4 and Appendix E: points under constraints, Theorem 3, Proposition 2 and the example of E.1.

    linear      linear losses and constraints on a box, W = 0
    noisy       the same, constraints drawn anew every round around a mean that stands still
    quadratic   squared distances on a ball, one quadratic constraint, W = 0
    swinging    linear, constraints that are tight in one half and loose in the other, W = 2 T
    w-hard      a constraint that is tight while there is something to gain

Reg1 is what is lost beyond the best fixed point, Reg2 by how much constraints were overdrawn in all. Algorithm 2 is
played as printed (alpha = 1/T, beta = 1/sqrt(T)) and as it must be (T and sqrt(T)).
"""

import math
from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from driftwise.core.protocols import World
from driftwise.core.seeding import generator
from driftwise.families import ConvexGap, ConvexHard, ConvexLinear, ConvexQuadratic, VirtualQueue
from driftwise.families.convex.constraint_violation import wandering
from driftwise.families.convex.hindsight import best_in_every_round, best_on_average
from driftwise.families.convex.loss_history import Recorded, past_of
from driftwise.families.convex.projections import box
from driftwise.families.convex.worlds.base import ConvexWorld, linear
from driftwise.papers.knapsacks.powers import Power, column
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.study import Study

HORIZONS = {"quick": tuple(250 * 4**k for k in range(5)), "full": tuple(250 * 4**k for k in range(6))}
RUNS = {"quick": 3, "full": 20}
PROGRAMS = {"quick": 100, "full": 300}
WORLDS: dict[str, World] = {
    "linear": ConvexLinear(),
    "noisy": ConvexLinear(noise=0.5),
    "quadratic": ConvexQuadratic(),
    "swinging": ConvexLinear(variation=2.0),
}
DELTAS = (0.1, 0.2, 0.4)
GAPS = (0.05, 0.2, 0.5)
POLICIES = {
    "corrected": VirtualQueue(),
    "faster": VirtualQueue(inertia=0.25),
    "slower": VirtualQueue(inertia=4.0),
    "printed": VirtualQueue(printed=1),
}
DESCRIPTIONS = {
    "corrected": "alpha = T, beta = sqrt(T)",
    "faster": "alpha = T/4",
    "slower": "alpha = 4T",
    "printed": "as printed, alpha = 1/T, beta = 1/sqrt(T)",
}
OUTCOMES = {"loss": ("regret", "Reg1"), "violation": ("violation", "Reg2")}
ROUGHLY = 0.15  # O(sqrt(T)) leaves room for what grows more slowly yet


# ---- the studies ----


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """Every world at every horizon; W-hard, in which nothing is drawn, at the longest and once."""
    for horizon in HORIZONS[scale]:
        for name, world in WORLDS.items():
            yield _maker(f"oco/{name}/T={horizon}", world, horizon, runs or RUNS[scale])
    for delta in DELTAS:
        longest = HORIZONS[scale][-1]
        yield _maker(f"oco/w-hard/delta={delta:g}/T={longest}", ConvexHard(delta=delta), longest, 1)


def _maker(name: str, world: World, horizon: int, runs: int) -> tuple[str, Callable[[], Study]]:
    return name, partial(_study, name, world, horizon, runs)


def _study(name: str, world: World, horizon: int, runs: int) -> Study:
    return Study(name=name, worlds={"world": world}, policies=POLICIES, horizon=horizon, runs=runs)


# ---- the claims ----

UPSIDE_DOWN = "Both are printed upside down: a step is then about sqrt(T) long, and points jump from edge to edge."


def claims(scale: str) -> Iterator[Claim]:
    """Theorem 3, Proposition 2 and E.1."""
    for world in WORLDS:
        studies = tuple(f"oco/{world}/T={horizon}" for horizon in HORIZONS[scale])
        for outcome, (_, symbol) in OUTCOMES.items():
            for policy, description in DESCRIPTIONS.items():
                if world == "swinging" and outcome == "loss":
                    continue  # it is allowed q W: judged below
                yield Claim(
                    f"oco/slope/{world}/{outcome}/{policy}",
                    f"{symbol} is O(sqrt(T)), {description}",
                    studies,
                    partial(_judge_slope, world=world, outcome=outcome, policy=policy),
                    paper=0.5,
                    known=UPSIDE_DOWN if policy == "printed" else "",
                )
    yield from _w_terms(HORIZONS[scale])
    yield from _programs(PROGRAMS[scale])


def grown(evidence: Evidence, world: str, outcome: str, policy: str) -> Power:
    """How Reg1 or Reg2 grows with T."""
    names = {study.horizon: name for name, study in evidence.studies.items() if name.startswith(f"oco/{world}/T=")}
    values = [column(evidence, names[horizon], policy, OUTCOMES[outcome][0]) for horizon in sorted(names)]
    return Power(np.array(sorted(names), float), np.stack(values, axis=1))


def _judge_slope(evidence: Evidence, *, world: str, outcome: str, policy: str) -> Finding:
    """At most 0.65, or all of it below sqrt(T)."""
    power = grown(evidence, world, outcome, policy)
    slope, last = power.slope(), float(power.means[-1])
    holds = slope.mean <= 0.5 + ROUGHLY or bool((power.means <= np.sqrt(power.sizes) / 10.0).all())
    growth_text = "" if math.isnan(slope.mean) else f", a power of {slope.mean:.2f}"
    return Finding(*slope, holds, f"{last:,.0f} at T = {power.sizes[-1]:,.0f}{growth_text}.")


# ---- what W costs ----


def _w_terms(horizons: tuple[int, ...]) -> Iterator[Claim]:
    for delta in DELTAS:
        yield Claim(
            f"oco/w-hard/delta={delta:g}",
            "Reg1 / T tends to delta / (4 (1 + delta)), what not knowing the second half costs; Reg2 stays 0",
            (f"oco/w-hard/delta={delta:g}/T={horizons[-1]}",),
            partial(_judge_hard, delta=delta, horizon=horizons[-1]),
            paper=delta / (4.0 * (1.0 + delta)),
        )
    studies = (*(f"oco/w-hard/delta={delta:g}/T={horizons[-1]}" for delta in DELTAS), f"oco/swinging/T={horizons[-1]}")
    yield Claim(
        "oco/theorem3",
        "Reg1 is at most q W + O(sqrt(T)): shown is the largest share of q W + sqrt(T)",
        studies,
        partial(_judge_theorem3, names=studies),
    )


def _judge_hard(evidence: Evidence, *, delta: float, horizon: int) -> Finding:
    """Within 2 sqrt(T) of the limit."""
    name = f"oco/w-hard/delta={delta:g}/T={horizon}"
    ours, overdrawn = (float(column(evidence, name, "corrected", each)[0]) for each in ("regret", "violation"))
    off = ours - horizon * delta / (4.0 * (1.0 + delta))
    holds = abs(off) <= 2.0 * math.sqrt(horizon) and overdrawn <= 2.0 * math.sqrt(horizon)
    why = f"T = {horizon:,}: {abs(off) / math.sqrt(horizon):.1f} sqrt(T) from it; Reg2 is {overdrawn:.1f}."
    return Finding(ours / horizon, math.nan, holds, why)


def _judge_theorem3(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    shares = {}
    for name in names:
        study = evidence.studies[name]
        allowed = _allowed(study.worlds["world"], study.horizon)
        shares[name] = float(column(evidence, name, "corrected", "regret").max()) / allowed
    worst = max(shares, key=lambda name: shares[name])
    return Finding(shares[worst], math.nan, shares[worst] <= 1.0, f"Largest in {worst.removeprefix('oco/')}.")


@cache
def _allowed(world: World, horizon: int) -> float:
    """What q W + sqrt(T) is."""
    if not isinstance(world, ConvexWorld):
        raise TypeError(f"{world} is not a world of points")
    past = past_of(world, horizon, seed=0)
    highest = max(float(find(past).prices.max()) for find in (best_on_average, best_in_every_round))
    return highest * wandering(past) + math.sqrt(horizon)


# ---- Proposition 2, and the example of E.1 ----


def _programs(count: int) -> Iterator[Claim]:
    yield Claim(
        "oco/proposition2",
        f"0 <= OPT' - OPT <= q W: shown is the largest share of q W in {count} random linear programs",
        (),
        partial(_judge_proposition2, count=count),
    )
    for delta in GAPS:
        yield Claim(
            f"oco/e1/delta={delta:g}",
            "OPT' - OPT is of the order of q W: shown is the share of it, with b = r = 1",
            (),
            partial(_judge_e1, delta=delta),
        )


def _random_past(number: int) -> Recorded:
    """A few kinds of rounds with linear constraints that the corner 0 keeps."""
    draws = generator(number, "programs")
    dim, count, kinds = draws.integers(1, 5), draws.integers(1, 4), draws.integers(2, 6)
    rows = np.repeat(np.arange(kinds), draws.integers(1, 10, kinds)).astype(np.int32)
    slopes = draws.uniform(-0.3, 1.0, (kinds, count, dim))
    constraints = linear(slopes, -draws.uniform(0.1, 0.6, (kinds, count)), rows)
    losses = linear(-draws.random((1, 1, dim)), np.zeros((1, 1)), np.zeros_like(rows))
    return Recorded(box(0.0, 1.0, size=int(dim)), losses, constraints)


def _judge_proposition2(_: Evidence, *, count: int) -> Finding:
    shares, broken = [0.0], 0
    for number in range(count):
        past = _random_past(number)
        loose, strict = best_on_average(past), best_in_every_round(past)
        missed = strict.value - loose.value
        allowed = max(float(loose.prices.max()), float(strict.prices.max())) * wandering(past)
        slack = 1e-6 * max(1.0, abs(loose.value))
        broken += not -slack <= missed <= allowed + slack
        if allowed > slack:
            shares.append(missed / allowed)
    return Finding(max(shares), math.nan, broken == 0, f"{broken} of {count} programs break it.")


def _judge_e1(_: Evidence, *, delta: float) -> Finding:
    """A fifth of it at least."""
    past = past_of(ConvexGap(delta=delta), 1000, seed=0)
    loose, strict = best_on_average(past), best_in_every_round(past)
    highest = max(float(loose.prices.max()), float(strict.prices.max()))
    share = (strict.value - loose.value) / (highest * wandering(past))
    why = f"T = 1000: OPT = {loose.value:.2f}, OPT' = {strict.value:.2f}, q = {highest:.3f}."
    return Finding(share, math.nan, share >= 0.199, why)
