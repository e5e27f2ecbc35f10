"""Section 9.2, Figure 5: prices for car loans.

Columbia gives the data on request only, so there are two sources: your file, or four stand-ins
(`stand_in.py`). The notes, captions and claims name the source.

The paper says neither how features were scaled nor how it regressed. Two ways come near its B_T of 190: features scaled
to [0, 1] with a ridge of 0.6, and z-scores with an intercept and least squares. Both are played.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats
from driftwise.families import LinUCB, SlidingLinUCB
from driftwise.papers import only_world
from driftwise.papers.hedging_the_drift.lending import Lending
from driftwise.papers.hedging_the_drift.loans import read
from driftwise.papers.hedging_the_drift.readings import NOISE, READINGS, bobs
from driftwise.study.claims import Claim, Evidence, Finding, Range, around, at_least, at_most
from driftwise.study.findings import ratio_of, worst_of
from driftwise.study.study import Study

APPLICATIONS = 50_000
STAND_INS = 4
RUNS = {"quick": 1, "full": 10}
VARIATION = 190.0
READING_OF = {"": "", "z-scores/": "z-scores and least squares"}
WAYS: dict[str, dict[str, Any]] = {"": {}, "z-scores/": {"scaling": "z", "intercept": 1, "ridge": 0.0}}


class Source(NamedTuple):
    """Where the loans come from: a world for each study, rounds a run, and a sentence about it."""

    worlds: Mapping[str, Lending]
    horizon: int
    note: str
    real: bool


STAND_IN = Source(
    worlds={f"stand-in={instance}": Lending(instance=instance) for instance in range(1, STAND_INS + 1)},
    horizon=APPLICATIONS,
    note="Figure 5 is not judged without the lending data, which may not be published; if you have it, use it with "
    "--data FILE. At --scale full four synthetic stand-ins are played; who wins there depends on how features are "
    "scaled.",
    real=False,
)


def from_file(path: Path) -> Source:
    """The loans of a file; a bad file is refused now."""
    reading = read(path)
    horizon = min(APPLICATIONS, len(reading.loans.day))
    skipped = f" {reading.left_out[0].upper()}{reading.left_out[1:]}." if reading.left_out else ""
    return Source(
        worlds={"data": Lending(data=str(path), digest=reading.digest, applications=horizon)},
        horizon=horizon,
        note=f"Figure 5 is played on {path.name} (digest {reading.digest}): the first {horizon:,} of its "
        f"{reading.rows:,} applications by date.{skipped}",
        real=True,
    )


# ---- the studies ----


def studies(scale: str, runs: int | None, source: Source) -> Iterator[tuple[str, Callable[[], Study]]]:
    """A study per stand-in, or one of the file, each way; `quick` plays no stand-ins, on which nothing is judged."""
    for way in WAYS:
        worlds = played(source, way)
        for name in names(scale, source, way):
            yield name, partial(_study, name, worlds[name], source.horizon, runs or RUNS[scale])


def names(scale: str, source: Source, way: str) -> tuple[str, ...]:
    """The studies of a scale."""
    return tuple(played(source, way)) if source.real or scale != "quick" else ()


def played(source: Source, way: str) -> dict[str, Lending]:
    """The worlds of a source, scaled one way, by the names of their studies."""
    return {f"figure5/{way}{name}": replace(world, **WAYS[way]) for name, world in source.worlds.items()}


def _study(name: str, world: Lending, horizon: int, runs: int) -> Study:
    policies = {
        "SW-UCB-opt": SlidingLinUCB.optimal(horizon, world.dim, world.market.variation, NOISE),
        **bobs(),
        "SW-UCB-obl": SlidingLinUCB.oblivious(horizon, world.dim, NOISE),
        "UCB": LinUCB(),
    }
    worlds = {"world": world}
    return Study(name=name, worlds=worlds, policies=policies, horizon=horizon, runs=runs, seed=world.instance)


# ---- the claims ----

NO_DATA = "No data: stand-ins that fit all public numbers of it differ by more than what is to be judged (--data FILE)."
NOT_PLAYED = Finding(math.nan, not_judged=f"{NO_DATA} Stand-ins are played at --scale full.")
SAVED = {"SW-UCB-obl": 0.24, "UCB": 0.24, "company": 0.32}
BEST, OTHERS = "SW-UCB-opt", ("SW-UCB-obl", "UCB", "company")


def claims(scale: str, source: Source) -> Iterator[Claim]:
    """What the text says of Figure 5; without the data none of it can be judged."""
    for way in WAYS:
        yield from _variation(source, way)
        for reading in READINGS:
            yield from _savings(names(scale, source, way), source, way, reading)


def _variation(source: Source, way: str) -> Iterator[Claim]:
    yield Claim(
        f"figure5/{way}variation",
        "the variation B_T of the daily regressions is 190",
        (),
        partial(_measure_variation, source=source, way=way),
        agrees=around(VARIATION),
        paper=VARIATION,
        possible=Range(0.0, math.inf),
        statement="figure5/variation",
        reading=READING_OF[way] or "literal",
        fitted="" if source.real else "the ridge and the drift of the stand-ins, on this very number",
    )
    yield Claim(
        f"figure5/{way}variation/shows-drift",
        "a B_T of 190 shows that the environment is moderately non-stationary: it is at least half as large again as "
        "where borrowers never change",
        (),
        partial(_measure_drift, source=source, way=way),
        agrees=at_least(1.5),
        possible=Range(0.0, math.inf),
        statement="figure5/shows-drift",
        reading=READING_OF[way] or "literal",
    )


def _savings(names: tuple[str, ...], source: Source, way: str, reading: str) -> Iterator[Claim]:
    ours = f"BOB-{reading}"
    words = ", ".join(filter(None, (READING_OF[way], "" if reading == "windowed" else f"BOB {reading}"))) or "literal"
    for other, share in SAVED.items():
        yield Claim(
            f"figure5/{way}{reading}/saves/{other}",
            f"BOB loses at least {share:.0%} less than {'the company' if other == 'company' else other}",
            names,
            partial(_measure_saving, source=source, names=names, policy=ours, other=other),
            agrees=at_least(share),
            paper=share,
            possible=Range(-math.inf, 1.0),
            statement=f"figure5/saves/{other}",
            reading=words,
            about=ours if names else "",
        )
    yield Claim(
        f"figure5/{way}{reading}/order",
        "SW-UCB-opt and BOB lose least: the largest ratio of the regret of either to that of another",
        names,
        partial(_measure_lowest, source=source, names=names, best=(BEST, ours)),
        agrees=at_most(1.0),
        possible=Range(0.0, math.inf),
        statement="figure5/order",
        reading=words,
        about=ours if names else "",
    )


def company(study: Study) -> float:
    """The regret of the lender's own prices."""
    return float(only_world(study, Lending).company(study.horizon)[-1])


def _regrets(evidence: Evidence, names: tuple[str, ...], policy: str) -> Floats:
    """Regrets over stand-ins, or over the runs on the file."""
    if policy == "company":
        own = [company(evidence.studies[name]) for name in names]
        return np.array(own) if len(names) > 1 else np.full(evidence.studies[names[0]].runs, own[0])
    rows = [evidence.regrets(name, policy) for name in names]
    return rows[0] if len(rows) == 1 else np.array([row.mean() for row in rows])


def _with_source(source: Source, finding: Finding) -> Finding:
    """A finding on the data, or one that says nothing of it."""
    return finding if source.real else finding._replace(not_judged=NO_DATA)


def _measure_variation(_: Evidence, *, source: Source, way: str) -> Finding:
    variations = [world.market.variation for world in played(source, way).values()]
    over = f", from {min(variations):.0f} to {max(variations):.0f} over the stand-ins" if len(variations) > 1 else ""
    ours = float(np.mean(variations))
    return _with_source(source, Finding(ours, why=f"{ours:.0f}{over}."))


def _measure_drift(_: Evidence, *, source: Source, way: str) -> Finding:
    ours = float(np.mean([world.market.variation for world in played(source, way).values()]))
    unmoved = [replace(world, drift=0.0) for world in played(STAND_IN, way).values()]
    still = float(np.mean([world.market.variation for world in unmoved]))
    return _with_source(source, Finding(ours / still, why=f"{ours:.0f}, and {still:.0f} where nothing drifts."))


def _measure_saving(evidence: Evidence, *, source: Source, names: tuple[str, ...], policy: str, other: str) -> Finding:
    if not names:
        return NOT_PLAYED
    ours, theirs = _regrets(evidence, names, policy), _regrets(evidence, names, other)
    ratio = ratio_of(ours, theirs)
    saved = 1.0 - ratio.ours
    by_place = 1.0 - ours / theirs
    over = f", {by_place.min():.0%} to {by_place.max():.0%} over the stand-ins" if len(names) > 1 else ""
    why = f"{ours.mean():,.0f} against {theirs.mean():,.0f}: {saved:.0%} less{over}."
    return _with_source(source, ratio._replace(ours=saved, why=why))


def _measure_lowest(evidence: Evidence, *, source: Source, names: tuple[str, ...], best: tuple[str, ...]) -> Finding:
    if not names:
        return NOT_PLAYED
    regrets = {policy: _regrets(evidence, names, policy) for policy in (*best, *OTHERS)}
    worst = worst_of(ratio_of(regrets[ours], regrets[other]) for ours in best for other in OTHERS)
    means = {policy: float(values.mean()) for policy, values in regrets.items()}
    listed = ", ".join(f"{policy} {mean:,.0f}" for policy, mean in sorted(means.items(), key=lambda item: item[1]))
    return _with_source(source, worst._replace(why=f"{listed}."))
