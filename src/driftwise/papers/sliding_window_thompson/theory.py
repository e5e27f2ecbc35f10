"""The theorems beside the tables: where they apply, what they allow, and Appendix E.

A bound above the largest loss that is possible says nothing, and is not judged. The orders of the corollaries are in
`growth.py`.
"""

import math
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from driftwise.core.seeding import key
from driftwise.core.types import Floats
from driftwise.families import ACMAB, SCMAB, UCB1, SlidingThompson
from driftwise.measure.levels import phase_starts
from driftwise.papers.sliding_window_thompson.bounds import DELTA_0, closeness, largest_loss, theorem1, theorem2
from driftwise.papers.sliding_window_thompson.studies import ARMS, HORIZONS, TABLES
from driftwise.papers.sliding_window_thompson.switch import Switch
from driftwise.study.claims import Claim, Evidence, Finding, at_least, at_most
from driftwise.study.findings import lead, not_judged
from driftwise.study.study import Study

CONFIGURATIONS = 200
SWITCH, SWITCH_ROUNDS, SWITCH_WINDOW = "switch/N=100000", 100_000, 10_000
DELTA, SMALL_DELTA = 0.05, 0.001


def theory_studies(scale: str, runs: int | None) -> Iterator[Study]:
    """Two arms that change places: small enough for Theorem 1 to say something."""
    yield Study(
        name=SWITCH,
        worlds={"world": Switch()},
        policies={
            "SW-TS": SlidingThompson(window=SWITCH_WINDOW),
            "SW-TS-corollary1": SlidingThompson(window="corollary1"),
            "UCB1": UCB1(),
        },
        horizon=SWITCH_ROUNDS,
        runs=runs or 40,
    )


def theory(scale: str) -> Iterator[Claim]:
    """Theorems 1 to 3, Assumption 3 and Appendix E, and what is said of two arms."""
    yield from _theorem1(scale)
    yield from _theorems_2_and_3(scale)
    yield from _appendix_e()
    yield from _corollaries()


# ---- Theorem 1 ----


def _theorem1(scale: str) -> Iterator[Claim]:
    yield Claim(
        "theorem1/two-arms",
        f"two arms that change places, N = {SWITCH_ROUNDS:,}, tau = {SWITCH_WINDOW:,}: no run of SW-TS loses more than "
        "Theorem 1 allows; shown is the largest share of it",
        (SWITCH,),
        _measure_two_arms,
        at_most(1.0),
        about="SW-TS",
    )
    yield Claim(
        "theorem1/two-arms/beats-UCB1",
        "even with two arms and one breakpoint SW-TS, tau = sqrt(N), outperforms UCB1: its share of that regret",
        (SWITCH,),
        partial(lead, study=SWITCH, best="SW-TS-corollary1", other="UCB1"),
        at_most(1.0),
        about="SW-TS-corollary1",
    )
    for n_arms in ARMS:
        for horizon in HORIZONS[scale]:
            study = f"table2/K={n_arms}/N={horizon}"
            yield Claim(
                f"theorem1/{study}",
                "no run of SW-TS loses more than Theorem 1 allows for its configuration: the largest share of it",
                (study,),
                partial(_measure_theorem1, study=study, n_arms=n_arms, horizon=horizon),
                at_most(1.0),
            )


def _measure_two_arms(evidence: Evidence) -> Finding:
    means = np.array([[0.9, 0.1], [0.1, 0.9]])
    bound = theorem1(means, np.full(2, SWITCH_ROUNDS / 2), SWITCH_WINDOW)
    worst = float(evidence.regrets(SWITCH, "SW-TS").max())
    return Finding(
        worst / bound, why=f"The largest is {worst:,.0f}, the bound {bound:,.0f} of {0.8 * SWITCH_ROUNDS:,.0f}."
    )


def _measure_theorem1(evidence: Evidence, *, study: str, n_arms: int, horizon: int) -> Finding:
    played = evidence.studies[study]
    seeds = [int(key(played.seed, run, "world")) for run in range(min(CONFIGURATIONS, played.runs))]
    regrets = evidence.regrets(study, "SW-TS")[: len(seeds)]
    tau, lengths = TABLES["table2"].tau(horizon), _lengths(horizon)
    tables = [_means(n_arms, horizon, seed) for seed in seeds]
    bounds = np.array([theorem1(means, lengths, tau) for means in tables])
    losses = np.array([largest_loss(means, lengths) for means in tables])
    says = bounds < losses
    if not says.any():
        amount = (
            f"{np.median(bounds) / horizon:.1f} N in the median configuration, at least {bounds.min() / horizon:.1f} N"
        )
        return Finding(math.nan, not_judged=f"It allows {amount}: more than can be lost.")
    share = float((regrets[says] / bounds[says]).max())
    return Finding(share, why=f"Below the largest loss for {int(says.sum())} of {len(seeds)} configurations.")


def _means(n_arms: int, horizon: int, seed: int) -> Floats:
    levels = ACMAB(n_arms=n_arms).drift(horizon, seed)(0, horizon)
    return levels.table[levels.rows[[0, *phase_starts(4, horizon)]]]


def _lengths(horizon: int) -> Floats:
    return np.diff([0, *phase_starts(4, horizon), horizon]).astype(float)


# ---- Theorems 2 and 3 ----


def _theorems_2_and_3(scale: str) -> Iterator[Claim]:
    for table, name in (("table3", "theorem2"), ("table4", "theorem2"), ("table5", "theorem3"), ("table6", "theorem3")):
        for horizon in HORIZONS[scale]:
            sigma, tau = TABLES[table].sigma, TABLES[table].tau(horizon)
            prescribed = table in ("table3", "table5")
            yield Claim(
                f"{name}/applies/{table}/N={horizon}",
                "sigma and tau are those of the theoretical results, which ask that 2 sigma tau < Delta_0 = 1/3"
                if prescribed
                else "2 sigma tau < Delta_0 = 1/3, as the theorem asks; the paper does not say so of this table",
                (),
                partial(_measure_condition, sigma=sigma, tau=tau),
                at_most(DELTA_0),
                statement="" if prescribed else None,
            )
            if prescribed:
                yield Claim(
                    f"{name}/{table}/N={horizon}",
                    f"regret of SW-TS is at most what {name.capitalize()} allows, with Appendix E's F and beta = 1/2",
                    tuple(f"{table}/K={n_arms}/N={horizon}" for n_arms in ARMS),
                    partial(_measure_allowed, horizon=horizon, tau=tau, sigma=sigma, table=table),
                    at_most(1.0),
                )


def _measure_condition(_: Evidence, *, sigma: float, tau: int) -> Finding:
    return Finding(2.0 * sigma * tau, why=f"sigma = {sigma:g}, tau = {tau:,}.")


def _measure_allowed(evidence: Evidence, *, horizon: int, tau: int, sigma: float, table: str) -> Finding:
    breakpoints = 4 if table == "table5" else 0
    bounds = {n_arms: theorem2(n_arms, horizon, tau, sigma, breakpoints=breakpoints) for n_arms in ARMS}
    if min(bounds.values()) >= horizon:  # no round can cost more than 1
        first = 8.0 * max(ARMS) / (max(ARMS) - 1)
        least = f"It allows at least {min(bounds.values()) / horizon:,.1f} N, {first:.1f} N by its first term alone"
        return Finding(math.nan, not_judged=f"{least}: more than can be lost.")
    shares = [evidence.regrets(f"{table}/K={k}/N={horizon}", "SW-TS").max() / bound for k, bound in bounds.items()]
    return Finding(float(max(shares)))


# ---- Assumption 3 and Appendix E ----


def _appendix_e() -> Iterator[Claim]:
    for n_arms in (5, 30):
        for horizon in (10_000, 1_000_000):
            yield Claim(
                f"appendixE/inequality/K={n_arms}/N={horizon}",
                f"sigma=1e-4: at most F Delta rounds have a pair of arms closer than Delta = {DELTA}, with "
                "F = 4K/(sigma(K-1)): what share",
                (),
                partial(_measure_close, n_arms=n_arms, horizon=horizon, delta=DELTA, power=0.0),
                at_most(1.0),
            )
        yield Claim(
            f"appendixE/case1/K={n_arms}",
            "two arms on one side of the peak never differ by less than Delta_0 = 1/3: in how many of 10,000 rounds",
            (),
            partial(_measure_same_side, n_arms=n_arms),
            at_most(0.0),
        )
        for delta in (DELTA, SMALL_DELTA):
            yield Claim(
                f"assumption3/K={n_arms}/delta={delta:g}",
                f"section 5.2: at most F Delta sqrt(N) of 10,000 rounds have a pair closer than {delta}: what share",
                (),
                partial(_measure_close, n_arms=n_arms, horizon=10_000, delta=delta, power=0.5),
                at_most(1.0),
            )


@cache
def close_rounds(n_arms: int, horizon: int, delta: float) -> int:
    """Rounds of SC-MAB, sigma = 1e-4, in which some pair of arms is closer than delta."""
    levels = SCMAB(n_arms=n_arms, sigma=1e-4).drift(horizon, 0)
    count = 0
    for start in range(0, horizon, 50_000):
        block = levels(start, min(horizon, start + 50_000))
        means = np.sort(block.table[block.rows], axis=1)
        count += int((np.diff(means, axis=1).min(axis=1) < delta).sum())
    return count


def _measure_close(_: Evidence, *, n_arms: int, horizon: int, delta: float, power: float) -> Finding:
    count, limit = close_rounds(n_arms, horizon, delta), closeness(n_arms, 1e-4) * delta * horizon**power
    if limit >= horizon:
        return Finding(math.nan, not_judged=f"It allows {limit:,.0f} of {horizon:,} rounds.")
    return Finding(count / limit, why=f"{count:,} rounds, where {limit:,.0f} are allowed.")


def _measure_same_side(_: Evidence, *, n_arms: int) -> Finding:
    """Neighbours on one side of the peak differ by exactly 1/K."""
    time = np.arange(1, 10_001)
    peak = 1.0 + (n_arms - 1) * (1.0 + np.sin(1e-4 * time)) / 2.0
    below = np.floor(peak)
    pair = (below >= 2) | (n_arms - np.ceil(peak) + 1 >= 2)
    count = int(pair.sum()) if 1.0 / n_arms < DELTA_0 else 0
    return Finding(float(count), why=f"Neighbours differ by 1/K = {1.0 / n_arms:.3f}.")


# ---- corollaries whose order says nothing, or cannot be ----


def _corollaries() -> Iterator[Claim]:
    linear = (
        "Two arms are close in a share of all rounds that does not fall with N (Appendix E's count), so that beta = 1: "
        "the order is N."
    )
    for name in ("corollary6", "corollary7"):
        yield Claim(
            f"growth/{name}", "regret is of order N^max(1/2, beta) in ASC-MAB", (), not_judged(linear), at_most(1.0)
        )
    yield Claim(
        "growth/corollary8",
        "average regret is of order sqrt(B sigma) for B breakpoints a round: its exponent in sigma is at least 1/2",
        (),
        _measure_corollary8,
        at_least(0.5),
    )


def _measure_corollary8(_: Evidence) -> Finding:
    why = (
        "AC-MAB satisfies Assumption 4 with every sigma > 0, so that its average regret, which does not depend on "
        "sigma, would be below every multiple of sqrt(sigma)."
    )
    return Finding(0.0, why=why)
