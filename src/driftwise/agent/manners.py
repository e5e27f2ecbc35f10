"""Which manner an agent has: by what it was made with, and by the family of its policy."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from driftwise.core.adapter import Manner, no_features
from driftwise.core.arm_registry import Roster
from driftwise.core.family import check_fit, family_of
from driftwise.core.types import Problem
from driftwise.core.validation import whole
from driftwise.errors import ParameterError
from driftwise.families.contextual.adapter import Features, rows_of, said_of
from driftwise.families.convex.adapter import Points
from driftwise.families.convex.projections import convex
from driftwise.families.knapsack.adapter import Budgeted, purse_of
from driftwise.families.knapsack.problem import Budgets
from driftwise.families.restless.adapter import RestlessArms, restless_arms
from driftwise.families.slate.adapter import Slates

MANNERS: dict[str, type[Manner]] = {
    "multi-armed": Manner,
    "contextual": Features,
    "slate": Slates,
    "knapsack": Budgeted,
    "convex": Points,
    "restless": RestlessArms,
}

# What an agent is made with says its family, where it says anything.
SAYS = {
    "slate": ("slate",),
    "knapsack": ("budgets", "most", "reserve"),
    "convex": ("domain", "constraints", "start"),
    "restless": (
        *("activate", "states", "rewards", "classes", "structure", "episode", "discount", "activation_cost", "ties"),
    ),
}


def manner_of(policy: Any, base: Problem, roster: Roster, made: dict[str, Any]) -> Manner:
    """How this agent is asked and answered; `base` is what its problem has whatever the family."""
    own = family_of(policy)
    said = said_of(made["arms"], made["features"], made["context"])
    if own != "contextual":
        no_features(policy, said)
    family = next((name for name, words in SAYS.items() if any(made[word] is not None for word in words)), own)
    return MAKERS[family](policy, base, roster, made)


def _bare(policy: Any, base: Problem, roster: Roster, made: dict[str, Any]) -> Manner:
    check_fit(policy, base)
    return Manner(policy, base, roster)


def _features(policy: Any, base: Problem, roster: Roster, made: dict[str, Any]) -> Manner:
    rows = rows_of(policy, roster, made["arms"], made["features"], made["context"])
    problem = base._replace(dim=rows.dim, family="contextual")
    check_fit(policy, problem)
    return Features(policy, problem, roster, rows)


def _slates(policy: Any, base: Problem, roster: Roster, made: dict[str, Any]) -> Manner:
    slate = made["slate"]
    problem = base if slate is None else base._replace(slate=whole("slate", slate, high=len(roster)), family="slate")
    check_fit(policy, problem)
    return Slates(policy, problem, roster)


def _budgets(policy: Any, base: Problem, roster: Roster, made: dict[str, Any]) -> Manner:
    purse = purse_of(policy, base.n_arms, base.horizon, made)
    problem = base._replace(structure=Budgets(purse.amounts(base.horizon, 0)), family="knapsack")
    check_fit(policy, problem)
    return Budgeted(policy, problem, roster, purse)


def _points(policy: Any, base: Problem, roster: Roster, made: dict[str, Any]) -> Manner:
    if made["domain"] is None:
        raise ParameterError(f"{type(policy).__name__} chooses points: give the domain they lie in, domain=box(0, 1)")
    structure = convex(made["domain"], made["constraints"] or 0, made["start"])
    problem = base._replace(
        low=-math.inf, high=math.inf, dim=structure.domain.dim, structure=structure, family="convex"
    )
    check_fit(policy, problem)
    return Points(policy, problem, roster)


def _restless(policy: Any, base: Problem, roster: Roster, made: dict[str, Any]) -> Manner:
    said = [f"{word}=" for word in SAYS["restless"] if made[word] is not None]
    if family_of(policy) != "restless":
        raise ParameterError(f"{type(policy).__name__} knows no arms that move on their own: leave out {said[0]}")
    if made["activate"] is None:
        raise ParameterError(f"{type(policy).__name__} activates some of many arms: say how many, activate=3")
    base = base._replace(slate=whole("activate", made["activate"], high=len(roster)), family="restless")
    problem, words = restless_arms(policy, base, roster, made)
    check_fit(policy, problem)
    return RestlessArms(policy, problem, roster, words)


MAKERS: Mapping[str, Callable[[Any, Problem, Roster, dict[str, Any]], Manner]] = {
    "multi-armed": _bare,
    "contextual": _features,
    "slate": _slates,
    "knapsack": _budgets,
    "convex": _points,
    "restless": _restless,
}
