"""The problem that a log poses to a policy, and the tape that its replay reads."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from driftwise.core.family import FAMILIES, family_of, resolve
from driftwise.core.problem import ProblemValue, RewardProblem, read_range
from driftwise.core.types import Floats, Problem
from driftwise.errors import FeatureError, LogError, ParameterError
from driftwise.evaluate.logged_rows import LoggedRows
from driftwise.evaluate.logged_tape import LoggedArms, LoggedContexts, arrivals_of
from driftwise.families.contextual.problem import Contextual
from driftwise.families.contextual.rows import LARGEST
from driftwise.families.multi_armed.problem import MultiArmed


def reward_range_of(rewards: Floats) -> tuple[float, float]:
    """The range that a policy is told: [0, 1] where all rewards lie in it, else from the least to the largest."""
    low, high = float(np.nanmin(rewards)), float(np.nanmax(rewards))
    if 0.0 <= low and high <= 1.0:
        return 0.0, 1.0
    return (low, high) if low < high else (min(low, 0.0), max(high, 0.0))


def _bare(arms: list[str], rows: LoggedRows, reward_range: tuple[float, float], horizon: int) -> RewardProblem:
    return MultiArmed(arms, reward_range=reward_range, horizon=horizon)


def _with_context(arms: list[str], rows: LoggedRows, reward_range: tuple[float, float], horizon: int) -> RewardProblem:
    if rows.context is None:
        raise LogError("this policy chooses by features, and the log has no context columns: name them (context=...)")
    return Contextual(arms, context_dim=rows.context.shape[1], reward_range=reward_range, horizon=horizon)


# Families whose policies a log of single arms can be asked about, and the problem it poses to them.
MULTI_ARMED, CONTEXTUAL = "multi-armed", "contextual"
PROBLEMS: dict[str, Callable[[list[str], LoggedRows, tuple[float, float], int], RewardProblem]] = {
    MULTI_ARMED: _bare,
    CONTEXTUAL: _with_context,
}


def player_of(policy: Any, rows: LoggedRows, problem: ProblemValue | None = None) -> Any:
    """The policy that plays: where `auto` is asked about, the one for what the log has."""
    kind = MULTI_ARMED if rows.context is None else CONTEXTUAL
    return resolve(policy, problem.kind if problem is not None else kind)


def problem_of(
    policy: Any, rows: LoggedRows, reward_range: tuple[float, float], horizon: int, problem: ProblemValue | None = None
) -> ProblemValue:
    """The problem for one policy: the one that the caller gives where its family fits, else what the log says."""
    family = family_of(policy)
    if family not in PROBLEMS:
        raise ParameterError(
            f"{type(policy).__name__} chooses {FAMILIES[family].chooses}; a log of single arms can be replayed only by "
            f"policies that choose {' or '.join(FAMILIES[name].chooses for name in PROBLEMS)}"
        )
    if problem is None or problem.kind != family:
        return PROBLEMS[family](list(rows.arms), rows, reward_range, horizon)
    own = getattr(problem, "arms", None)
    if own is None or getattr(problem, "n_features", None):
        raise ParameterError("rows of features that come with every decision are not in a log: give arms a context_dim")
    arms = [own[name] for name in rows.arms] if isinstance(own, dict) else list(rows.arms)
    return msgspec.structs.replace(
        problem, arms=dict(zip(rows.arms, arms, strict=True)) if isinstance(own, dict) else arms, horizon=horizon
    )


def arms_of(arms: tuple[str, ...], problem: ProblemValue | None) -> tuple[str, ...]:
    """The arms of a log, and after them those that only the problem has."""
    if problem is None or getattr(problem, "arms", None) is None:
        return arms
    names = [str(name) for name in problem.arm_registry().names]
    unknown = [name for name in arms if name not in names]
    if unknown:
        raise ParameterError(f"the log has the arm {unknown[0]!r}, and the problem does not: it has {', '.join(names)}")
    return (*arms, *(name for name in names if name not in arms))


def tape_of(policy: Any, value: ProblemValue, rows: LoggedRows) -> tuple[Problem, LoggedArms | LoggedContexts]:
    """What the policy may know, and the tape of its replay."""
    adapter: Any = FAMILIES[value.kind].adapter.of(policy, value)
    arrivals = arrivals_of(rows.rewards, rows.times, rows.rewarded_at)
    base = LoggedArms(rows.actions, rows.rewards, rows.propensities, arrivals, np.argsort(arrivals, kind="stable"))
    problem: Problem = adapter.problem
    if not problem.dim:
        return problem, base
    features = adapter.rows
    context = rows.context if features.context else np.ones((len(rows.actions), 1))
    if context is None or features.context not in (0, context.shape[1]):
        have = 0 if context is None else context.shape[1]
        raise FeatureError(f"the problem has context_dim={features.context}, and the log has {have} context columns")
    _check_reach(context, features.reach)
    own = np.eye(len(rows.arms)) if features.own is None else features.own
    return problem, LoggedContexts(*base, np.ascontiguousarray(context), np.ascontiguousarray(own))


def _check_reach(context: Floats, reach: float) -> None:
    if not np.isfinite(context).all():
        row, column = np.argwhere(~np.isfinite(context))[0]
        raise FeatureError(f"row {row} of the log, context column {column} is {context[row, column]}, not a number")
    largest = np.abs(context).max(axis=0)
    if largest.max() > LARGEST * reach:
        raise FeatureError(
            f"context column {int(np.argmax(largest))} reaches {largest.max():g}, far beyond reach={reach:g}: "
            "scale the columns, or have them standardised (standardise=True)"
        )


def check_reward_range(reward_range: object, rewards: Floats) -> tuple[float, float]:
    """A range that has all rewards of the log."""
    low, high = read_range(reward_range)
    least, most = float(np.nanmin(rewards)), float(np.nanmax(rewards))
    if least < low or most > high:
        raise LogError(f"rewards from {least:g} to {most:g} are outside reward_range=({low:g}, {high:g})")
    return low, high
