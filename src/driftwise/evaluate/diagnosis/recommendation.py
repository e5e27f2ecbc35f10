"""What to run on data like a log, in one sentence, with the reason and the command."""

import shlex
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from driftwise.core.types import Floats
from driftwise.display.text import counted
from driftwise.evaluate.diagnosis.log_command import UNNAMED, command_words
from driftwise.evaluate.recommend import Recommendation, recommend
from driftwise.families.contextual.problem import Contextual
from driftwise.families.multi_armed.problem import MultiArmed

if TYPE_CHECKING:
    from driftwise.evaluate.diagnosis.diagnosis import Diagnosis
    from driftwise.evaluate.log import Log

UNEVEN = 10.0  # standard deviations of context columns that differ by a larger factor call for --standardise
FAST = 20  # a log whose best window is a smaller share of it than one in so many drifts fast


class LogRecommendation(NamedTuple):
    """A policy as the command line writes it, why, and the command that shows what it would have earned.

    `serve` is the command that serves it, warmed up with the log; empty where the log is that of a deployment, or
    there is nothing to choose between.
    """

    policy: str
    why: str
    command: str
    serve: str = ""


def recommend_for(found: "Diagnosis", log: "Log", name: str) -> tuple[LogRecommendation, list[str]]:
    """The policy that a diagnosis speaks for, and notes on its commands; `name` stands for the log in them."""
    source = command_words(name, log.options)
    idle = found.constant or len(found.arms) == 1
    policy, why = _choice(found, log)
    others = [other for other in (_windowed(found), _lasting(found)) if other != policy]
    options = " ".join(f"--policy {shlex.quote(each)}" for each in (policy, *others))
    serve = f"driftwise serve --deployment NAME --policy {shlex.quote(policy)} --log {source}"
    deployed = "--deployment" in source
    notes = []
    if uneven := "" if idle else _uneven(log.context, log.context_names):
        options += " --standardise"
        notes.append(uneven)
    if log.context is not None and not idle and not deployed:
        bare = _advice(found, _bare(found)).spec
        command = f"driftwise evaluate {source} --context '' --policy {shlex.quote(bare)}"
        notes.append(f"to see what the context adds, compare with: {command}")
    if name == UNNAMED:
        notes.append(
            f"this log has no file: to run the commands, save its frame as CSV and write that file for {UNNAMED}; in "
            f"Python, log.evaluate([{', '.join(map(repr, (policy, *others)))}]"
            f"{', standardise=True' if uneven else ''}) does the same"
        )
    command = f"driftwise evaluate {source} {options}"
    return LogRecommendation(policy, why, command, "" if idle or deployed else serve), notes


def _choice(found: "Diagnosis", log: "Log") -> tuple[str, str]:
    if len(found.arms) == 1:
        return "uniform", "the log has a single arm: there is nothing to choose between"
    if found.constant:
        return "uniform", "all rewards are the same: no policy earns more than another"
    window = found.window.best
    memory = f", and rewards are best predicted by the last {counted(window, 'row')}" if window else ""
    evidence = f"the log drifts{memory}" if found.drifts else f"no drift was found (p = {found.p_value:.2g})"
    advice = _advice(found, _bare(found) if log.context is None and log.features is None else _contextual(found))
    return advice.spec, f"{evidence}; {advice.reason}"


def _advice(found: "Diagnosis", problem: MultiArmed | Contextual) -> Recommendation:
    """What was measured to be best for such a problem."""
    delay = found.delays.median_rows if found.delays else None
    return recommend(problem, horizon=found.rows, delay=delay, drift=_drift(found))


def _bare(found: "Diagnosis") -> MultiArmed:
    """The arms of a log, without what is known at a decision."""
    return MultiArmed([arm.name for arm in found.arms], reward_range=(0.0, 1.0) if found.unit_range else None)


def _contextual(found: "Diagnosis") -> Contextual:
    """A small problem with a context: what candidates accept depends on its rewards, and not on its size."""
    return Contextual(2, context_dim=2, reward_range=(0.0, 1.0) if found.unit_range else None)


def _uneven(context: Floats | None, names: tuple[str, ...]) -> str:
    """A note where columns of the context differ widely in scale; one of 0 and 1 counts as if both were frequent."""
    if context is None:
        return ""
    binary = ((context == 0.0) | (context == 1.0)).all(axis=0)
    spread = np.where(np.ptp(context, axis=0) > 0.0, np.where(binary, 0.5, context.std(axis=0)), np.nan)
    if np.isnan(spread).all():
        return ""
    least, most = int(np.nanargmin(spread)), int(np.nanargmax(spread))
    if spread[most] <= UNEVEN * spread[least]:
        return ""
    return (
        f"context columns differ in scale, {names[least]!r} by a standard deviation of {spread[least]:.3g} and "
        f"{names[most]!r} of {spread[most]:.3g}: linear policies need --standardise (standardise=True in Python), or "
        "columns of one scale"
    )


def _drift(found: "Diagnosis") -> str:
    """How a log drifts, in the words of the measured tables."""
    if not found.drifts:
        return "none"
    if len(found.changes) > len(found.gradual):
        return "abrupt"
    return "fast" if found.window.best and found.window.best < found.rows / FAST else "slow"


def _windowed(found: "Diagnosis") -> str:
    window = found.window.best or max(100, found.rows // 4)
    return f"{'sliding-thompson' if found.unit_range else 'sliding-gaussian-thompson'}:window={window}"


def _lasting(found: "Diagnosis") -> str:
    return "thompson" if found.unit_range else "gaussian-thompson"
