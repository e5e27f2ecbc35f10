"""What to run on data like a log, in one sentence, with the reason and the command."""

import shlex
from typing import TYPE_CHECKING, NamedTuple

import driftwise.families as families

if TYPE_CHECKING:
    from driftwise.evaluate.diagnosis.diagnosis import Diagnosis


class LogRecommendation(NamedTuple):
    """A policy as the command line writes it, why, and the command that shows what it would have earned."""

    policy: str
    why: str
    command: str


def recommend_for(found: "Diagnosis", source: str) -> LogRecommendation:
    """The policy that a diagnosis speaks for; `source` is the log as the command line names it."""
    policy, why = _choice(found)
    others = [other for other in (_windowed(found), _lasting(found)) if other != policy]
    options = " ".join(f"--policy {shlex.quote(each)}" for each in (policy, *others))
    return LogRecommendation(policy, why, f"driftwise evaluate {source} {options}")


def _choice(found: "Diagnosis") -> tuple[str, str]:
    if len(found.arms) == 1:
        return "uniform", "the log has a single arm: there is nothing to choose between"
    if found.constant:
        return "uniform", "all rewards are the same: no policy earns more than another"
    if not found.drifts:
        why = f"no drift was found (p = {found.p_value:.2g}): nothing needs to be forgotten"
        return _lasting(found), why
    window = found.window.best
    if "auto" in families.POLICIES:
        memory = f"; a window of {window:,} rows would have predicted best" if window else ""
        return "auto", f"the log drifts{memory}, and auto learns how much to remember"
    if window is None:
        why = "the log drifts, but so little that no window predicts better than all rows"
        return _lasting(found), why
    return _windowed(found), f"the log drifts, and a window of {window:,} rows predicts best"


def _windowed(found: "Diagnosis") -> str:
    window = found.window.best or max(100, found.rows // 4)
    return f"{'sliding-thompson' if found.unit_range else 'sliding-gaussian-thompson'}:window={window}"


def _lasting(found: "Diagnosis") -> str:
    return "thompson" if found.unit_range else "gaussian-thompson"
