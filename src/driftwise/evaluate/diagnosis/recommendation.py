"""What to run on data like a log, in one sentence, with the reason and the command."""

import shlex
from typing import TYPE_CHECKING, NamedTuple

from driftwise.display.text import counted
from driftwise.evaluate.recommend import recommend
from driftwise.families.multi_armed.problem import MultiArmed

if TYPE_CHECKING:
    from driftwise.evaluate.diagnosis.diagnosis import Diagnosis

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


def recommend_for(found: "Diagnosis", source: str) -> LogRecommendation:
    """The policy that a diagnosis speaks for; `source` is the log as the command line names it."""
    policy, why = _choice(found)
    others = [other for other in (_windowed(found), _lasting(found)) if other != policy]
    options = " ".join(f"--policy {shlex.quote(each)}" for each in (policy, *others))
    serve = f"driftwise serve --deployment NAME --policy {shlex.quote(policy)} --log {source}"
    idle = "--deployment" in source or found.constant or len(found.arms) == 1
    return LogRecommendation(policy, why, f"driftwise evaluate {source} {options}", "" if idle else serve)


def _choice(found: "Diagnosis") -> tuple[str, str]:
    if len(found.arms) == 1:
        return "uniform", "the log has a single arm: there is nothing to choose between"
    if found.constant:
        return "uniform", "all rewards are the same: no policy earns more than another"
    window = found.window.best
    memory = f", and rewards are best predicted by the last {counted(window, 'row')}" if window else ""
    evidence = f"the log drifts{memory}" if found.drifts else f"no drift was found (p = {found.p_value:.2g})"
    problem = MultiArmed([arm.name for arm in found.arms], reward_range=(0.0, 1.0) if found.unit_range else None)
    delay = found.delays.median_rows if found.delays else None
    advice = recommend(problem, horizon=found.rows, delay=delay, drift=_drift(found))
    return advice.spec, f"{evidence}; {advice.reason}"


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
