"""The problem that a log poses to a policy, and the tape that its replay reads."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from driftwise.core.family import FAMILIES, family_of, resolve
from driftwise.core.problem import ProblemValue, RewardProblem, read_range
from driftwise.core.protocols import Policy
from driftwise.core.types import Floats, Problem
from driftwise.errors import FeatureError, LogError, ParameterError
from driftwise.evaluate.log import Log
from driftwise.evaluate.logged_rows import LoggedRows
from driftwise.evaluate.logged_tape import AnyTape, LoggedArms, LoggedContexts, LoggedFeatures, arrivals_of
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
    if rows.context is None and rows.features is None:
        raise LogError(
            "this policy chooses by features, and the log has no columns of context or features: name them "
            "(context=..., features=...)"
        )
    return Contextual(
        arms,
        n_features=None if rows.features is None else rows.features.shape[2],
        context_dim=None if rows.context is None else rows.context.shape[1],
        reward_range=reward_range,
        horizon=horizon,
    )


# Families whose policies a log of single arms can be asked about, and the problem it poses to them.
PROBLEMS: dict[str, Callable[[list[str], LoggedRows, tuple[float, float], int], RewardProblem]] = {
    "multi-armed": _bare,
    "contextual": _with_context,
}


def player_of(policy: Policy, rows: LoggedRows | Log, problem: ProblemValue | None = None) -> Policy:
    """The policy that plays a log: itself, unless it leaves that to the family of the problem, as `auto` does."""
    value = MultiArmed if rows.context is None and rows.features is None else Contextual
    return resolve(policy, str(value.__struct_config__.tag) if problem is None else problem.kind)


def reads_context(policy: Policy) -> bool:
    """Whether a policy is given the context."""
    return PROBLEMS.get(family_of(policy)) is _with_context


def problem_of(
    policy: Policy,
    rows: LoggedRows,
    reward_range: tuple[float, float],
    horizon: int,
    problem: ProblemValue | None = None,
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
    own, n_features = getattr(problem, "arms", None), getattr(problem, "n_features", None)
    width = None if rows.features is None else rows.features.shape[2]
    if n_features not in (None, width):
        raise FeatureError(
            f"the problem has n_features={n_features}, and the log has {width or 0} features of each arm"
        )
    arms = [own[name] for name in rows.arms] if isinstance(own, dict) else list(rows.arms)
    return msgspec.structs.replace(
        problem, arms=dict(zip(rows.arms, arms, strict=True)) if isinstance(own, dict) else arms, horizon=horizon
    )


def arms_of(log: Log, problem: ProblemValue | None) -> tuple[str, ...]:
    """The arms of a log, and after them those that only the problem has."""
    arms = log.arms
    if problem is None or getattr(problem, "arms", None) is None:
        return arms
    names = [str(name) for name in problem.arm_registry().names]
    unknown = [name for name in arms if name not in names]
    if unknown:
        raise ParameterError(f"the log has the arm {unknown[0]!r}, and the problem does not: it has {', '.join(names)}")
    more = [name for name in names if name not in arms]
    if more and log.features is not None:
        raise ParameterError(f"the problem has the arm {more[0]!r}, and the log has no features of it")
    return (*arms, *more)


def tape_of(policy: Policy, value: ProblemValue, rows: LoggedRows) -> tuple[Problem, AnyTape]:
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
    _check_reach(context, features.reach, "context column")
    context = np.ascontiguousarray(context)
    if features.n_features:
        assert rows.features is not None  # `problem_of` compares their numbers
        _check_reach(rows.features.reshape(-1, rows.features.shape[2]), features.reach, "feature")
        return problem, LoggedFeatures(*base, context, np.ascontiguousarray(rows.features))
    own = features.own
    if own is None:  # where every arm has a parameter of its own: the context at its place, or alone
        own = np.ones((len(rows.arms), 1)) if features.per_arm else np.eye(len(rows.arms))
    return problem, LoggedContexts(*base, context, np.ascontiguousarray(own))


def _check_reach(columns: Floats, reach: float, what: str) -> None:
    if not np.isfinite(columns).all():
        row, column = np.argwhere(~np.isfinite(columns))[0]
        raise FeatureError(f"row {row} of the log, {what} {column} is {columns[row, column]}, not a number")
    largest = np.abs(columns).max(axis=0)
    if largest.max() > LARGEST * reach:
        raise FeatureError(
            f"{what} {int(np.argmax(largest))} reaches {largest.max():g}, far beyond reach={reach:g}: "
            "scale the columns, or have them standardised (standardise=True)"
        )


def check_reward_range(reward_range: object, rewards: Floats) -> tuple[float, float]:
    """A range that has all rewards of the log."""
    low, high = read_range(reward_range)
    least, most = float(np.nanmin(rewards)), float(np.nanmax(rewards))
    if least < low or most > high:
        raise LogError(
            f"rewards from {least:g} to {most:g} are outside reward_range=({low:g}, {high:g}): give one that has all"
        )
    return low, high


def lacks_constant(context: Floats | None, features: Floats | None) -> bool:
    """Whether no column can serve linear policies as an intercept: none is constant, and no categories add up to 1."""
    columns = [each.reshape(-1, each.shape[-1]) for each in (context, features) if each is not None]
    return not all((np.ptp(each, axis=0) == 0.0).any() or _adds_up(each) for each in columns)


def _adds_up(columns: Floats) -> bool:
    """Whether the columns of 0 and 1 add up to 1 in every row, as those of one text column do."""
    binary = ((columns == 0.0) | (columns == 1.0)).all(axis=0)
    return bool(binary.any() and (columns[:, binary].sum(axis=1) == 1.0).all())
