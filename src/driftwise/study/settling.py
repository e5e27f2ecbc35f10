"""Play on until claims are settled: only the studies that inconclusive ones rest on, only the runs not there yet."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from driftwise.display.text import counted
from driftwise.errors import ParameterError
from driftwise.study.claims import Evidence
from driftwise.study.results import Results
from driftwise.study.study import Study
from driftwise.study.verdicts import INCONCLUSIVE, Verdict

SPARE = 1.15  # the estimate of how many runs are needed is itself uncertain
ROUNDS = 6  # of estimating and playing on; what is not settled by then lies on the border


class RunsToPlay(NamedTuple):
    """Studies with the runs they need, and the processor time these would take, in seconds."""

    studies: dict[str, Study]
    seconds: float
    claims: int


def plan(verdicts: Iterable[Verdict], evidence: Evidence) -> RunsToPlay:
    """What to play next; no studies where nothing can be settled by playing."""
    runs: dict[str, int] = {}
    claims = 0
    for each in verdicts:
        if each.verdict == INCONCLUSIVE and each.runs_needed is not None and each.claim.studies:
            claims += 1
            for name in each.claim.studies:
                growth = each.runs_needed / max(each.finding.runs, 1)
                needed = math.ceil(SPARE * growth * evidence.studies[name].runs)
                runs[name] = max(runs.get(name, 0), needed, evidence.studies[name].runs + 1)
    studies = {name: dataclasses.replace(evidence.studies[name], runs=count) for name, count in runs.items()}
    return RunsToPlay(studies, sum(_seconds(evidence, name, study) for name, study in studies.items()), claims)


def _seconds(evidence: Evidence, name: str, study: Study) -> float:
    """The processor time of the runs to come, by that of the runs played."""
    played = evidence.studies[name]
    taken = sum(
        float(evidence.results.column(played.cells_of(world, policy), "seconds").sum())
        for world in played.worlds
        for policy in played.policies
    )
    return taken * (study.runs / played.runs - 1.0)


def check_affordable(plan: RunsToPlay, hours: float, threads: int) -> None:
    """Refuse what would take longer than `hours`, with the estimate."""
    estimate = plan.seconds / threads / 3600.0
    if estimate > hours:
        longest = max(plan.studies.values(), key=lambda study: study.runs)
        raise ParameterError(
            f"settling {counted(plan.claims, 'claim')} would take about {_span(estimate)} "
            f"({longest.runs:,} runs of {longest.name}): choose fewer with --claim, or allow it with --hours"
        )


def settle(
    judge: Callable[[Evidence], Sequence[Verdict]],
    studies: Mapping[str, Study],
    results: Results,
    play: Callable[[Iterable[Study]], object],
    *,
    hours: float,
    threads: int,
) -> tuple[Evidence, Sequence[Verdict]]:
    """Judge, play what is missing and judge again, until nothing is inconclusive that runs could settle."""
    evidence = Evidence(dict(studies), results)
    verdicts = judge(evidence)
    for _ in range(ROUNDS):
        missing = plan(verdicts, evidence)
        if not missing.studies:
            break
        check_affordable(missing, hours, threads)
        play(missing.studies.values())
        evidence = Evidence({**evidence.studies, **missing.studies}, results)
        verdicts = judge(evidence)
    return evidence, verdicts


def _span(hours: float) -> str:
    """`3 hours`, `4.2 days`."""
    return (
        f"{hours / 24:,.1f} days"
        if hours >= 48
        else f"{hours:,.1f} hours"
        if hours >= 1
        else f"{60 * hours:.0f} minutes"
    )
