"""What sections 5.1 to 5.3 say in prose: of the figures, of the worlds, of abrupt changes beside smooth ones."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.families import ASCMAB, SCMAB
from driftwise.papers.sliding_window_thompson.cells import printed_in, published
from driftwise.papers.sliding_window_thompson.orders import CORRECT, DEFECT, as_text
from driftwise.papers.sliding_window_thompson.studies import ALGORITHMS, FIGURE_5_ARMS, SIGMAS, places, reported
from driftwise.study.claims import LITERAL, Claim, Evidence, Finding, Range, at_least, at_most, between
from driftwise.study.findings import lead, mean_of, ratio_of, worst_of

FIGURE_1, FIGURE_1B = "table2/K=10/N=10000", "table2/K=10/N=100000"
FIGURE_3, FIGURE_3B = "table3/K=5/N=10000", "table3/K=5/N=100000"
FIGURE_4 = "table4/K=10/N=10000"


def prose(scale: str) -> Iterator[Claim]:
    """The sentences of sections 5.1 to 5.3."""
    yield from _section_5_1()
    yield from _section_5_2(scale)
    yield from _section_5_3(scale)


def _ratio_claim(
    id: str, says: str, study: str, one: tuple[str, int], other: tuple[str, int], agrees: Range, **more: object
) -> Claim:
    """A ratio of the regrets of (algorithm, round) and (algorithm, round)."""
    measure = partial(_measure_ratio, study=study, one=one, other=other)
    return Claim(id, says, (study,), measure, agrees, **more)  # type: ignore[arg-type]


def _measure_ratio(evidence: Evidence, *, study: str, one: tuple[str, int], other: tuple[str, int]) -> Finding:
    ours, theirs = (evidence.regrets(study, *each) for each in (one, other))
    means = " and ".join(
        f"{name} {values.mean():,.0f} at {t:,}" for (name, t), values in ((one, ours), (other, theirs))
    )
    return ratio_of(ours, theirs, f"{means}.")


# ---- 5.1 ----


def _section_5_1() -> Iterator[Claim]:
    for name in ("SW-TS", "SW-KL-UCB"):
        yield _ratio_claim(
            f"figure1/almost-linear/{name}",
            f"Figure 1a: regret of {name} is almost linear: the share of the first half, within 0.05 of 1/2",
            FIGURE_1,
            (name, 5_000),
            (name, 10_000),
            between(0.45, 0.55),
        )
    yield Claim(
        "figure1/SW-TS-learns-again",
        "Figure 1b: between rounds 60,000 and 70,000 SW-TS has the smallest slope: shown is its share of the next",
        (FIGURE_1B,),
        partial(_measure_slope, study=FIGURE_1B, start=60_000, stop=70_000),
        at_most(1.0),
        about="SW-TS",
    )
    yield Claim(
        "figure1/new-phase",
        "Figure 1b: SW-TS loses more when a new phase begins: its slope in the 10,000 rounds from 50,000 on over that "
        "from 60,000 to 70,000",
        (FIGURE_1B,),
        partial(_measure_restart, study=FIGURE_1B),
        at_least(1.0),
        about="SW-TS",
    )


def _measure_slope(evidence: Evidence, *, study: str, start: int, stop: int) -> Finding:
    def gained(name: str) -> Floats:
        return evidence.regrets(study, name, stop) - evidence.regrets(study, name, start)

    others = [name for name in ALGORITHMS if name != "SW-TS" and printed_in(study, name)]
    means = {name: float(gained(name).mean()) for name in others}
    ours = gained("SW-TS")
    findings = (
        ratio_of(ours, gained(name), f"SW-TS {ours.mean():,.0f}, {name} {means[name]:,.0f}.") for name in others
    )
    return worst_of(findings)


def _measure_restart(evidence: Evidence, *, study: str) -> Finding:
    at = {t: evidence.regrets(study, "SW-TS", t) for t in (50_000, 60_000, 70_000)}
    return ratio_of(at[60_000] - at[50_000], at[70_000] - at[60_000])


# ---- 5.2 ----


def _section_5_2(scale: str) -> Iterator[Claim]:
    yield _exact("world/first-change", "sigma=1e-4, K=5: the best arm stays the same until round 5,000", _first, 5_000)
    yield _exact("world/changes", "sigma=1e-4, K=5: the best arm changes 14 times in 100,000 rounds", _changes, 14)
    yield Claim(
        "figure3/TS-worsens",
        "Figure 3a: TS worsens when the best arm changes: its loss in the last quarter over that in the first",
        (FIGURE_3,),
        _measure_worsening,
        at_least(1.0),
    )
    yield _ratio_claim(
        "figure3/same-start",
        "Figure 3b: TS and SW-TS behave alike in the very first rounds: their ratio at 250, within a tenth of 1",
        FIGURE_3B,
        ("SW-TS", 250),
        ("TS", 250),
        between(0.9, 1.1),
    )
    yield Claim(
        "figure3/TS-outperformed",
        "Figure 3b: TS is outperformed by almost all others, four of five: the fourth's share of TS's regret",
        (FIGURE_3B,),
        partial(_measure_fourth, study=FIGURE_3B),
        at_most(1.0),
    )
    for table, n_arms, horizon in places(scale, "table3"):
        if horizon == 100_000:
            study = f"{table}/K={n_arms}/N={horizon}"
            yield Claim(
                f"prose/table3/TS-worst/K={n_arms}",
                "at N=100,000 TS becomes the worst: the largest regret of another over that of TS",
                (study,),
                partial(_measure_worst, study=study, worst="TS"),
                at_most(1.0),
            )
    yield from _figure_4()


def _measure_worsening(evidence: Evidence) -> Finding:
    at = {t: evidence.regrets(FIGURE_3, "TS", t) for t in (2_500, 7_500, 10_000)}
    return ratio_of(at[10_000] - at[7_500], at[2_500])


def _exact(id: str, says: str, count: Callable[[], float], paper: float) -> Claim:
    return Claim(id, says, (), partial(_measure_count, count=count), between(paper, paper), paper=paper)


def _measure_count(_: Evidence, *, count: Callable[[], float]) -> Finding:
    value = count()
    return Finding(value, why=f"{value:,.0f} by the printed formula.")


def _best_arm_changes(world: SCMAB, rounds: int) -> Ints:
    """Counted on the world itself; nothing is simulated."""
    tape, _ = world.draw(rounds, seed=0)
    best = tape.levels.table[tape.levels.rows].argmax(axis=1)
    return np.flatnonzero(np.diff(best)) + 2  # rounds are numbered from 1 in the paper


def _first() -> float:
    return float(_best_arm_changes(SCMAB(n_arms=5, sigma=1e-4), 5_000)[0])


def _changes() -> float:
    return float(len(_best_arm_changes(SCMAB(n_arms=5, sigma=1e-4), 100_000)))


def _first_with_phases() -> float:
    return float(_best_arm_changes(ASCMAB(n_arms=5, sigma=1e-4), 10_000)[0])


def _measure_fourth(evidence: Evidence, *, study: str) -> Finding:
    others = [name for name in ALGORITHMS if name not in ("TS", CORRECT) and printed_in(study, name)]
    ranked = sorted(others, key=lambda name: evidence.regret(study, name, reported(100_000)).mean)
    return lead(evidence, study, ranked[3], "TS", reported(100_000))


def _measure_worst(evidence: Evidence, *, study: str, worst: str) -> Finding:
    rounds = reported(evidence.studies[study].horizon)
    others = [name for name in ALGORITHMS if name not in (worst, CORRECT) and printed_in(study, name)]
    return worst_of(lead(evidence, study, name, worst, rounds) for name in others)


# ---- Figure 4 ----


def _figure_4() -> Iterator[Claim]:
    yield _ratio_claim(
        "figure4/TS-first",
        "in the first 4,000 rounds TS loses less than SW-KL-UCB: its share at 4,000",
        FIGURE_4,
        ("TS", 4_000),
        ("SW-KL-UCB", 4_000),
        at_most(1.0),
        about="TS",
    )
    yield _ratio_claim(
        "figure4/SW-KL-UCB-later",
        "subsequently SW-KL-UCB does better: its share of TS's regret at the end",
        FIGURE_4,
        ("SW-KL-UCB", 10_000),
        ("TS", 10_000),
        at_most(1.0),
        about="SW-KL-UCB",
    )
    yield Claim(
        "figure4/SW-TS-throughout",
        "SW-TS loses least over the whole horizon: how far it is above another anywhere, by the figure's height; "
        "a hundredth cannot be seen",
        (FIGURE_4,),
        partial(_measure_throughout, study=FIGURE_4),
        at_most(0.01),
        about="SW-TS",
    )
    yield _ratio_claim(
        "figure4/REXP3-like-TS",
        "REXP3 does about as well as TS, within a tenth",
        FIGURE_4,
        ("REXP3", 9_000),
        ("TS", 9_000),
        between(0.9, 1.1),
        paper=1426 / 1419,
        about="REXP3",
    )
    for algorithm, reading in ((CORRECT, LITERAL), (DEFECT, "with the defect")):
        yield _ratio_claim(
            f"figure4/TS-beats-{algorithm}",
            "TS loses less than SW-UCB although the latter forgets",
            FIGURE_4,
            ("TS", 9_000),
            (algorithm, 9_000),
            at_most(1.0),
            paper=1419 / 3247,
            statement="figure4/TS-beats-SW-UCB",
            reading=reading,
        )


def _measure_throughout(evidence: Evidence, *, study: str) -> Finding:
    curves = {name: _curves(evidence, study, name) for name in ALGORITHMS if printed_in(study, name)}
    height = max(float(values.mean(axis=0)[-1]) for values in curves.values())
    ours = curves.pop("SW-TS")
    gaps = {name: (ours - values) / height for name, values in curves.items()}
    name, at = max(
        ((name, int(gap.mean(axis=0).argmax())) for name, gap in gaps.items()),
        key=lambda each: float(gaps[each[0]].mean(axis=0)[each[1]]),
    )
    return mean_of(gaps[name][:, at], f"The nearest is {name}.")


def _curves(evidence: Evidence, study: str, algorithm: str) -> Floats:
    return evidence.results.curves(evidence.studies[study].cells_of("world", algorithm))[1]


# ---- 5.3 ----


def _section_5_3(scale: str) -> Iterator[Claim]:
    yield _exact(
        "world/first-change-with-phases",
        "ASC-MAB, sigma=1e-4, N=10,000, K=5: the best arm stays the same until round 5,000",
        _first_with_phases,
        5_000,
    )
    for with_phases, without in (("table5", "table3"), ("table6", "table4")):
        for table, n_arms, horizon in places(scale, with_phases):
            for name in ("SW-TS", "TS"):
                smooth, study = f"{without}/K={n_arms}/N={horizon}", f"{table}/K={n_arms}/N={horizon}"
                literal = as_text(study)
                (theirs, _), (twin, _) = published()[f"{study}/{name}"], published()[f"{smooth}/{name}"]
                yield Claim(
                    f"prose/abrupt-changes-do-not-matter/{study}/{name}",
                    f"abrupt changes do not affect the regret of {name}: with them over without, within a tenth of 1",
                    (literal, smooth),
                    partial(_measure_effect, study=literal, smooth=smooth, name=name),
                    between(0.9, 1.1),
                    paper=theirs / twin,
                )


def _measure_effect(evidence: Evidence, *, study: str, smooth: str, name: str) -> Finding:
    """The two worlds are independent: relative errors add in quadrature."""
    rounds = reported(evidence.studies[study].horizon)
    ours, theirs = (mean_of(evidence.regrets(each, name, rounds)) for each in (study, smooth))
    ratio = ours.ours / theirs.ours
    error = ratio * float(np.hypot(ours.error / ours.ours, theirs.error / theirs.ours))
    return Finding(ratio, error, f"{ours.ours:,.0f} with them, {theirs.ours:,.0f} without.", runs=ours.runs)


# ---- Figure 5: the speed of the drift ----


def figure_5() -> Iterator[Claim]:
    """SW-TS is best at every speed; two others get worse with arms, and TS beats them at the fastest."""
    for n_arms in FIGURE_5_ARMS:
        for left_out, suffix, reading in ((DEFECT, "", LITERAL), (CORRECT, "/as-tables", "SW-UCB with the defect")):
            names = tuple(f"figure5/K={n_arms}/sigma={sigma:g}" for sigma in SIGMAS)
            yield Claim(
                f"figure5/K={n_arms}/SW-TS-best{suffix}",
                "SW-TS loses least for every sigma from 0.001 to 0.01: its largest share of the regret of another",
                names,
                partial(_measure_all_speeds, names=names, left_out=left_out),
                at_most(1.0),
                statement=f"figure5/K={n_arms}/SW-TS-best",
                reading=reading,
                about="SW-TS",
            )
    fastest = "figure5/K=30/sigma=0.01"
    for other in ("REXP3", "SW-KL-UCB"):
        yield _ratio_claim(
            f"figure5/K=30/TS-beats-{other}",
            f"at sigma=0.01 and K=30 TS loses less than {other}",
            fastest,
            ("TS", 10_000),
            (other, 10_000),
            at_most(1.0),
            about="TS",
        )
        pairs = tuple((f"figure5/K=30/sigma={sigma:g}", f"figure5/K=5/sigma={sigma:g}") for sigma in SIGMAS)
        yield Claim(
            f"figure5/worse-with-arms/{other}",
            f"from K=5 to K=30 {other} gets worse: the smallest ratio over sigma of its regrets",
            tuple(name for pair in pairs for name in pair),
            partial(_measure_with_arms, pairs=pairs, name=other),
            at_least(1.0),
        )


def _measure_all_speeds(evidence: Evidence, *, names: tuple[str, ...], left_out: str) -> Finding:
    others = [name for name in ALGORITHMS if name not in ("SW-TS", left_out)]
    findings = [worst_of(lead(evidence, study, "SW-TS", name) for name in others) for study in names]
    return worst_of(findings)


def _measure_with_arms(evidence: Evidence, *, pairs: tuple[tuple[str, str], ...], name: str) -> Finding:
    findings = []
    for many, few in pairs:
        ours, theirs = (mean_of(evidence.regrets(study, name)) for study in (many, few))
        ratio = ours.ours / theirs.ours
        error = ratio * float(np.hypot(ours.error / ours.ours, theirs.error / theirs.ours))
        findings.append(Finding(ratio, error, f"{theirs.ours:,.0f} at K=5, {ours.ours:,.0f} at K=30.", runs=ours.runs))
    return min(findings, key=lambda each: each.ours - 1.645 * each.error)
