"""Rules for parameters, said once. Each raises a `ParameterError` that names the value and the rule."""

import math
import numbers
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeGuard, TypeVar

import numpy as np

from driftwise.core.foresight import is_named, names_of
from driftwise.core.types import Floats, Problem, RecordT, with_fields
from driftwise.errors import ParameterError

T = TypeVar("T")
LEAST, MOST = -(2**62), 2**62
SHORT = 10  # a horizon for which no window is suggested


def policy_instance(policy: T) -> T:
    """A policy, and not its class or its name."""
    if isinstance(policy, type) or not hasattr(policy, "init"):
        sentence = (
            f"policy={policy!r} is not a policy: give an instance with `init`, such as Auto() or SlidingUCB(window=500)"
        )
        raise ParameterError(sentence)
    return policy


def world_instance(world: T) -> T:
    """A world, and not its class or its name."""
    if isinstance(world, type) or not hasattr(world, "tapes"):
        raise ParameterError(f"world={world!r} is not a world: give an instance with `tapes`, such as Abrupt(n_arms=3)")
    return world


def is_finite(value: object) -> TypeGuard[float]:
    """Whether this is a finite number, of Python or of NumPy, and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def to_float(value: object) -> float:
    """`float(value)` for any value: it raises TypeError, ValueError or OverflowError where that is not a number.

    Text is none, also where it reads like one: `float` would take it.
    """
    if isinstance(value, str | bytes | bytearray):
        raise TypeError("text is not a number")
    return float(value)  # type: ignore[arg-type]


def whole(name: str, value: object, *, low: int = 1, high: int | None = None) -> int:
    """A whole number in [low, high]."""
    rule = "a whole number" + (f" of at least {low}" if low > LEAST else "")
    rule += f" and at most {high}" if high is not None and high < MOST else ""
    if not is_finite(value) or value != int(value) or value < low or (high is not None and value > high):
        raise ParameterError(f"{name}={value} is not {rule}")
    return int(value)


def window_rounds(value: object, horizon: int) -> int:
    """A window of whole rounds, no longer than the horizon where one is known: it would never forget."""
    window = whole("window", value, high=2**31 - 1)
    if horizon and window > horizon:
        shorter = f"; give a shorter one, such as window={horizon // 5}" if horizon >= SHORT else ""
        raise ParameterError(
            f"window={window} does not fit the horizon {horizon}: it would never forget anything{shorter}"
        )
    return window


def number(name: str, value: object, *, above: float = -math.inf, below: float = math.inf, closed: str = "") -> float:
    """A finite number in the interval (above, below); `closed` names the ends that belong: "", "(", "[" or "]"."""
    left, right = "[" if "[" in closed else "(", "]" if "]" in closed else ")"
    if (
        not is_finite(value)
        or not (value > above or (left == "[" and value == above))
        or not (value < below or (right == "]" and value == below))
    ):
        if above == -math.inf and below == math.inf:
            raise ParameterError(f"{name}={value} is not a finite number")
        raise ParameterError(f"{name}={value} is outside {left}{above:g}, {below:g}{right}")
    return float(value)


def finite(name: str, value: object, shape: tuple[int, ...] | None) -> Floats:
    """A copy of finite numbers in the given shape; without one, a vector of at least one number."""
    try:
        array = np.array(value, np.float64, order="C")
    except (TypeError, ValueError):
        raise ParameterError(f"{name}={value!r} is not made of numbers") from None
    array = array.reshape(1) if array.ndim == 0 else array
    if shape is None and (array.ndim > 1 or not array.size):
        raise ParameterError(f"{name} has shape {array.shape}: it must be a number, or a vector of at least one")
    if shape is not None and array.shape != shape:
        raise ParameterError(f"{name} has shape {array.shape}: it must be {shape}")
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ParameterError(f"{name} holds {array[place]} in place {', '.join(map(str, place))}: it must be finite")
    return array


def cast(values: RecordT) -> RecordT:
    """The same NamedTuple with whole numbers as `int` and the rest as `float`, as its annotations say; inside too.

    numba compiles again for an int where a float was; casting at the entrance keeps one compiled form. A word that
    stands for a number (`core/foresight.py`) stays as it is until the problem is known.
    """
    kind, types = type(values), type(values).__annotations__
    rules: dict[Any, Callable[[str, Any], float]] = {int: whole_of, float: number}
    cast_to = rules | {int | str: whole_of, float | str: number}
    changed: dict[str, Any] = {
        name: cast_to[types[name]](name, _no_other_word(kind, name, value))
        for name, value in values._asdict().items()
        if types[name] in cast_to and not is_named(kind, name, value)
    }
    changed |= {
        name: cast(value)
        for name, value in values._asdict().items()
        if hasattr(value, "_fields") and not isinstance(value, type)
    }
    return with_fields(values, **changed)


def without_text(values: RecordT) -> RecordT:
    """A policy as kernels are given it: they read no text, and each string handed over would leave bytes behind.

    So agents and simulations run the same compiled form.
    """
    inner = {name: without_text(value) for name, value in values._asdict().items() if hasattr(value, "_fields")}
    text = {name: 0 for name, value in values._asdict().items() if isinstance(value, str)}
    return with_fields(values, **inner, **text)


def _no_other_word(kind: type, name: str, value: object) -> object:
    """The value; refused if it is a word, and the parameter takes others."""
    if isinstance(value, str) and names_of(kind, name):
        raise ParameterError(f"{name}={value!r} is not a number, or one of {', '.join(names_of(kind, name))}")
    return value


def cast_fields(thing: Any) -> None:
    """Make the numbers of a frozen dataclass plain `int` and `float`, as its annotations say."""
    rules: dict[Any, Callable[[str, Any], float]] = {int: whole_of, float: number}
    for field in fields(thing):
        rule = rules.get(field.type)
        if rule is not None:
            object.__setattr__(thing, field.name, rule(field.name, getattr(thing, field.name)))


def whole_of(name: str, value: object) -> int:
    """A whole number of any size."""
    return whole(name, value, low=LEAST, high=MOST)


def one_of(name: str, value: object, options: tuple[str, ...]) -> str:
    """One of some words."""
    if value not in options:
        raise ParameterError(f"{name}={value} is not one of {', '.join(options)}")
    return str(value)


def budgeted(policy: str, problem: Problem) -> tuple[int, Floats, float]:
    """The number of arms, the budgets and the largest reward of a problem with budgets that a policy can plan for."""
    n_arms = whole("n_arms", problem.n_arms)
    if problem.horizon < 1:
        raise ParameterError(f"{policy} must know for how many rounds its budgets are to last: give a horizon")
    whole("horizon", problem.horizon)
    low, span = bounded_range(policy, problem.low, problem.high)
    if low != 0.0:
        raise ParameterError(f"{policy} needs rewards from 0 on, these start at {low:g}: to choose nothing pays 0")
    amounts = np.asarray(getattr(problem.structure, "amounts", ()), float)
    if not len(amounts):
        raise ParameterError(f"{policy} spends budgets, and this problem has none")
    for amount in amounts:
        if not (math.isfinite(amount) and amount > 0.0):
            raise ParameterError(f"budget={amount:g} is not a finite number above 0")
    return n_arms, amounts, span


def bounded_range(policy: str, low: float, high: float) -> tuple[float, float]:
    """The lowest reward and the span of a bounded range."""
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ParameterError(
            f"{policy} needs rewards in a bounded range, these lie in [{low:g}, {high:g}]: "
            f"declare a range, or use gaussian-thompson or sliding-gaussian-thompson"
        )
    if not low < high:
        raise ParameterError(f"the reward range [{low:g}, {high:g}] is empty: the low end must lie below the high end")
    return low, high - low
