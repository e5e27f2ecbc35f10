"""Remark 2: what the restarts of BOB are for. Without them, EXP3 drawing in every round, the proof fails; does play?"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from driftwise.core.protocols import Policy
from driftwise.papers.hedging_the_drift.piecewise import HORIZON, PAIR, regrets
from driftwise.papers.hedging_the_drift.readings import bobs
from driftwise.papers.hedging_the_drift.unrestarted_bob import UnrestartedBOB
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_least
from driftwise.study.findings import ratio_of
from driftwise.study.study import Study

INSTANCES = {"quick": 6, "full": 20}


def names(scale: str) -> tuple[str, ...]:
    """A study per instance of Figure 3."""
    return tuple(f"remark2/instance={instance}" for instance in range(1, INSTANCES[scale] + 1))


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """BOB for arms with and without restarts."""
    for instance, name in enumerate(names(scale), start=1):
        yield name, partial(_study, name, instance, runs or 1)


def _study(name: str, instance: int, runs: int) -> Study:
    policies: dict[str, Policy] = {**bobs(armed=True), "BOB-unrestarted": UnrestartedBOB()}
    worlds = {"world": replace(PAIR, instance=instance)}
    return Study(name=name, worlds=worlds, policies=policies, horizon=HORIZON, runs=runs, seed=instance)


def claims(scale: str) -> Iterator[Claim]:
    """The remark speaks of the proof; read as a promise of what is lost, it can be judged."""
    study_names = names(scale)
    yield Claim(
        "remark2/restarts",
        "restarts are essential: without them BOB loses more (the remark is about its proof, this about play)",
        study_names,
        partial(_measure_restarts, names=study_names),
        agrees=at_least(1.0),
        possible=Range(0.0, math.inf),
        statement=None,
    )


def _measure_restarts(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    without = regrets(evidence, names, "BOB-unrestarted")
    ours, literal = (regrets(evidence, names, f"BOB-{reading}-armed") for reading in ("windowed", "literal"))
    why = f"{without.mean():,.0f} without, {ours.mean():,.0f} with restarts, {literal.mean():,.0f} read literally."
    return ratio_of(without, ours, why)
