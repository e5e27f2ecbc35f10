"""What can be known before the first round, and who asks for it.

An oracle is shown the world itself (`foresee`), and plays in studies only. A policy may ask for less, by name: a
parameter that is a number can be a word that stands for one,

    sliding-thompson:window=corollary1(alpha=0.5)        from the problem: its horizon, its arms
    rexp3:variation=true                                 from the run of a world, in studies only

`name_values` gives a class its words. Studies, agents, replays and the service put numbers in their place before
`init`, so that neither `init` nor a kernel meets a word.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from driftwise.core.protocols import Policy
from driftwise.core.types import Problem, RecordT, with_fields
from driftwise.errors import ParameterError

_CALL = re.compile(r"(\w+)(?:\((.*)\))?")


def _no_world(measure: str) -> float:
    raise ParameterError("the variation of the world is known in studies only: give a number")


class Foresight(NamedTuple):
    """What is known before a run: the problem and, in a study, how far the world will drift by a measure of drift."""

    problem: Problem
    drift: Callable[[str], float] = _no_world


def variation_of(foresight: Foresight, value: float | None, measure: str = "l2") -> float:
    """How far a parameter goes in all, in units of the largest reward: what was given, or in a study the truth."""
    if value is None:
        return foresight.drift(measure) / (foresight.problem.size or 1.0)
    if not 0.0 <= value < float("inf"):
        raise ParameterError(f"variation={value:g} is outside [0, inf)")
    return value


def rounds_of(problem: Problem) -> int:
    """The horizon, for a word that needs one."""
    if not problem.horizon:
        raise ParameterError("it follows from the horizon, which is not known: give the problem one, or a number")
    return problem.horizon


# A function for each word of each parameter: it takes the policy, the foresight, and what stands in parentheses.
Meaning = Callable[..., float]
NAMED_VALUES: dict[type, Mapping[str, Mapping[str, Meaning]]] = {}


def name_values(policy: type, **parameters: Mapping[str, Meaning]) -> None:
    """Give parameters of a policy their words. They are looked up in this order, each after those before it."""
    NAMED_VALUES[policy] = parameters


def names_of(policy: type, parameter: str) -> Mapping[str, Meaning]:
    """The words that a parameter takes instead of a number."""
    return NAMED_VALUES.get(policy, {}).get(parameter, {})


def is_named(policy: type, parameter: str, value: object) -> bool:
    """Whether a value is a word of this parameter, with or without parentheses."""
    call = _CALL.fullmatch(value) if isinstance(value, str) else None
    return call is not None and call[1] in names_of(policy, parameter)


def has_names(policy: Policy) -> bool:
    """Whether a policy, or one inside it, has a word where kernels need a number."""
    return any(
        has_names(value) if hasattr(value, "_fields") else is_named(type(policy), name, value)
        for name, value in policy._asdict().items()
    )


def with_numbers(policy: RecordT, foresight: Foresight) -> RecordT:
    """The policy with a number for every word, those inside too."""
    inner = {name: value for name, value in policy._asdict().items() if hasattr(value, "_fields")}
    if inner:
        policy = with_fields(policy, **{name: with_numbers(value, foresight) for name, value in inner.items()})
    for name, words in NAMED_VALUES.get(type(policy), {}).items():
        value = getattr(policy, name)
        if is_named(type(policy), name, value):
            policy = with_fields(policy, **{name: _number_for(f"{name}={value}", value, words, policy, foresight)})
    return policy


def _number_for(
    text: str, value: str, words: Mapping[str, Meaning], policy: object, foresight: Foresight
) -> float | int:
    call = _CALL.fullmatch(value)
    assert call is not None
    meaning = words[call[1]]
    takes = {each.name: each.default for each in list(inspect.signature(meaning).parameters.values())[2:]}
    arguments: dict[str, Any] = {}
    for pair in filter(None, (call[2] or "").split(",")):
        key, _, number = (part.strip() for part in pair.partition("="))
        if key not in takes:
            raise ParameterError(f"{text}: {call[1]} has no {key!r}, it takes {', '.join(takes) or 'nothing'}")
        try:
            arguments[key] = float(number)
        except ValueError:
            raise ParameterError(f"{text}: {key}={number} is not a number") from None
    missing = [name for name, default in takes.items() if default is inspect.Parameter.empty and name not in arguments]
    if missing:
        raise ParameterError(f"{text} needs {missing[0]}: write {call[1]}({missing[0]}=...)")
    return meaning(policy, foresight, **arguments)


def not_live(oracle: Policy, problem: Problem) -> NoReturn:
    """Refuse to start without the world."""
    raise ParameterError(f"{type(oracle).__name__} knows the world in advance: it plays in studies only")
