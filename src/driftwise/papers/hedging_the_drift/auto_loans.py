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

from driftwise.families import LinUCB, SlidingLinUCB
from driftwise.measure.summary import Estimate, estimate
from driftwise.papers import only_world
from driftwise.papers.hedging_the_drift.lending import Lending
from driftwise.papers.hedging_the_drift.loans import read
from driftwise.papers.hedging_the_drift.readings import NOISE, READINGS, bobs
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.study import Study

APPLICATIONS = 50_000
STAND_INS = 4
RUNS = {"quick": 2, "full": 10}
VARIATION = 190.0
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
    note="Figure 5 uses four synthetic stand-ins, since the lending data may not be published; if you have it, use it "
    "with --data FILE. Who wins there depends on the data and on how features are scaled.",
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
    """A study per stand-in, or one of the file, each way."""
    for way in WAYS:
        for name, world in played(source, way).items():
            yield name, partial(_study, name, world, source.horizon, runs or RUNS[scale])


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

SYNTHETIC = "The stand-in is not the data."
BLOCKS = "Some fifteen blocks do not teach EXP3 which of ten windows is best, and the short ones only explore."
NOISY = "Regressions on some 180 loans a day move as much when nothing drifts at all."
SAVED = {"SW-UCB-obl": 0.24, "UCB": 0.24, "company": 0.32}


def claims(source: Source) -> Iterator[Claim]:
    """What the text says of Figure 5."""
    for way in WAYS:
        yield from _variation(source, way)
        yield from _savings(source, way)


def _variation(source: Source, way: str) -> Iterator[Claim]:
    yield Claim(
        f"figure5/{way}variation",
        "the variation B_T of the daily regressions is 190",
        (),
        partial(_judge_variation, source=source, way=way),
        paper=VARIATION,
        known="The paper says neither how features are scaled nor how it regressed, and B_T follows from that.",
    )
    yield Claim(
        f"figure5/{way}variation/shows-drift",
        "a B_T of 190 shows that the environment is moderately non-stationary: it is larger than without any drift",
        (),
        partial(_judge_drift, source=source, way=way),
        known=NOISY,
    )


def _savings(source: Source, way: str) -> Iterator[Claim]:
    names = tuple(played(source, way))
    for reading in READINGS:
        known = "" if source.real and reading == "literal" else BLOCKS if reading == "windowed" else SYNTHETIC
        for other, share in SAVED.items():
            yield Claim(
                f"figure5/{way}{reading}/saves/{other}",
                f"BOB loses at least {share:.0%} less than {'the company' if other == 'company' else other}",
                names,
                partial(_judge_saving, names=names, policy=f"BOB-{reading}", other=other, share=share),
                paper=share,
                known=known,
            )
        yield Claim(
            f"figure5/{way}{reading}/order",
            "SW-UCB-opt and BOB lose least",
            names,
            partial(_judge_lowest, names=names, best=("SW-UCB-opt", f"BOB-{reading}")),
            known=known,
        )


def company(study: Study) -> float:
    """The regret of the lender's own prices."""
    return float(only_world(study, Lending).company(study.horizon)[-1])


def _regret(evidence: Evidence, names: tuple[str, ...], policy: str) -> Estimate:
    """Mean regret, over stand-ins or over runs."""
    if policy == "company":
        own = [company(evidence.studies[name]) for name in names]
        return Estimate(float(np.mean(own)), math.nan)
    rows = [evidence.regrets(name, policy) for name in names]
    return estimate(rows[0]) if len(rows) == 1 else estimate([row.mean() for row in rows])


def _judge_variation(_: Evidence, *, source: Source, way: str) -> Finding:
    """Within 10%."""
    variations = [world.market.variation for world in played(source, way).values()]
    ours = estimate(variations)
    over = f", from {min(variations):.0f} to {max(variations):.0f} over the stand-ins" if len(variations) > 1 else ""
    return Finding(*ours, abs(ours.mean - VARIATION) <= 0.1 * VARIATION, f"{ours.mean:.0f}{over}.")


def _judge_drift(_: Evidence, *, source: Source, way: str) -> Finding:
    """Holds when it is at least half as large again as in stand-ins whose borrowers never change."""
    ours = float(np.mean([world.market.variation for world in played(source, way).values()]))
    unmoved = [replace(world, drift=0.0) for world in played(STAND_IN, way).values()]
    still = float(np.mean([world.market.variation for world in unmoved]))
    return Finding(ours / still, math.nan, ours > 1.5 * still, f"{ours:.0f}, and {still:.0f} where nothing drifts.")


def _judge_saving(evidence: Evidence, *, names: tuple[str, ...], policy: str, other: str, share: float) -> Finding:
    ours, theirs = _regret(evidence, names, policy), _regret(evidence, names, other)
    saved = 1.0 - ours.mean / theirs.mean
    why = f"{ours.mean:,.0f} against {theirs.mean:,.0f}: {abs(saved):.0%} {'less' if saved >= 0.0 else 'more'}."
    return Finding(saved, math.nan, saved >= share, why)


def _judge_lowest(evidence: Evidence, *, names: tuple[str, ...], best: tuple[str, ...]) -> Finding:
    others = ("SW-UCB-obl", "UCB", "company")
    means = {policy: _regret(evidence, names, policy).mean for policy in (*best, *others)}
    listed = ", ".join(f"{policy} {mean:,.0f}" for policy, mean in sorted(means.items(), key=lambda item: item[1]))
    worst, rival = max(means[policy] for policy in best), min(means[policy] for policy in others)
    return Finding(worst / rival, math.nan, worst < rival, f"{listed}.")
