"""Regret curves of the policy pages: where each family plays, and the file that holds what came out.

The site only draws. `python tools/record_docs_plots.py` plays what is missing in the file, or was played with other
settings or other code.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from time import thread_time
from typing import NamedTuple, TypedDict

import numpy as np

from driftwise.core.family import ANY, family_of, trace_for
from driftwise.core.fingerprint import code_tag
from driftwise.core.loop import play as play_rounds
from driftwise.core.protocols import Policy
from driftwise.core.seeding import key
from driftwise.core.spec import parse
from driftwise.core.validation import without_text
from driftwise.families import ORACLES, POLICIES, WORLDS
from driftwise.study.run import run
from driftwise.study.study import Study, state_of, values, with_foresight

FILE = Path(__file__).parents[2] / "docs" / "plots" / "policies.json"
POINTS = 40


class Standard(NamedTuple):
    """Where the policies of a family are shown: a world, rounds, runs, and the policy that all are drawn against."""

    world: str
    horizon: int
    runs: int
    simplest: str


STANDARDS = {
    "multi-armed": Standard("abrupt", 5000, 20, "uniform"),
    "contextual": Standard("abrupt-linear:phases=3", 3000, 10, "lin-ucb"),
    "slate": Standard("slates", 5000, 10, "sliding-slate-ucb:window=5000"),
    "knapsack": Standard("budget-switching", 5000, 10, "greedy-ratio"),
    "contextual-knapsack": Standard("customer-kinds", 5000, 10, "unpaced-lin-ucb"),
    "convex": Standard("convex-linear", 5000, 10, "virtual-queue"),
    "restless": Standard("health-adherence", 1000, 10, "random-arms"),
}


class Curve(TypedDict):
    """One policy in the world of its family: mean regret over the runs at POINTS evenly spaced rounds."""

    world: str
    horizon: int
    runs: int
    parameters: dict[str, object]
    code: str
    nanoseconds: float
    regret: list[float]


def shown_family(policy: Policy) -> str:
    """The family in whose world a policy is shown; policies of any family are shown among bare arms."""
    family = family_of(policy)
    return "multi-armed" if family == ANY else family


def specs() -> list[str]:
    """Every policy and oracle by name, and the policies that they are drawn against."""
    return sorted({*POLICIES, *ORACLES, *(each.simplest for each in STANDARDS.values())})


def study_of(spec: str) -> Study:
    """The study whose mean curve is shown for a policy."""
    policy = parse(spec, POLICIES | ORACLES, "policy")
    standard = STANDARDS[shown_family(policy)]
    return Study(
        name="documentation",
        worlds={standard.world: parse(standard.world, WORLDS, "world")},
        policies={spec: policy},
        horizon=standard.horizon,
        runs=standard.runs,
        marks=tuple(range(standard.horizon // POINTS, standard.horizon + 1, standard.horizon // POINTS)),
    )


def identity(study: Study) -> dict[str, object]:
    """What a curve depends on: it is played again when any of this changes."""
    ((world_name, world),) = study.worlds.items()
    ((spec, policy),) = study.policies.items()
    return {
        "world": world_name,
        "horizon": study.horizon,
        "runs": study.runs,
        "parameters": values(policy),
        "code": code_tag(type(study.player(world_name, spec)), type(world)),
    }


def play(study: Study) -> Curve:
    """The curve of one policy, and what a round costs."""
    results, cells = run(study, threads=1), list(study.cells())
    regret = [np.round(results.at(cells, t).mean(), 2) for t in study.marks]
    curve: Curve = Curve(
        **identity(study),  # type: ignore[typeddict-item]
        nanoseconds=float(f"{min(_nanoseconds(study, seed) for seed in range(20)):.2g}"),
        regret=[float(value) for value in regret],
    )
    return curve


def _nanoseconds(study: Study, seed: int) -> float:
    """Processor time of a round in the compiled loop, world included: other programs do not count."""
    ((label, world),) = study.worlds.items()
    (spec,) = study.policies
    policy = with_foresight(study.player(label, spec), world, study.horizon, seed)
    state, nature = state_of(policy, world, study.horizon, seed), world.nature(study.horizon)
    spent, rounds = 0.0, 0
    for tape in world.tapes(study.horizon, seed, world.block):
        trace = trace_for(world.problem(study.horizon), tape.start, min(world.block, study.horizon - tape.start))
        before = thread_time()
        rounds += play_rounds(without_text(policy), state, tape, nature, key(seed, "cost"), trace, study.horizon)
        spent += thread_time() - before
    return 1e9 * spent / rounds


def read() -> dict[str, Curve]:
    """All recorded curves, by the spec of the policy."""
    curves: dict[str, Curve] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return curves


def write(curves: Mapping[str, Curve]) -> None:
    """A line per policy, in alphabetical order."""
    lines = [f"{json.dumps(name)}: {json.dumps(curve)}" for name, curve in sorted(curves.items())]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
