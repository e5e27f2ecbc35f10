"""What a policy is: it refuses nonsense, compiles once, and does not grow."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.checks._helpers import inside
from driftwise.checks.contract import ContractError, fixtures_of, require, short_run
from driftwise.core.family import FAMILIES, check_fit, family_of
from driftwise.core.fixtures import ROUNDS
from driftwise.core.loop import play
from driftwise.core.pinned import kinds
from driftwise.core.protocols import Policy
from driftwise.core.seeding import key
from driftwise.core.serialization import arrays
from driftwise.core.types import Problem, Record
from driftwise.core.validation import cast, without_text
from driftwise.errors import ParameterError

# Counts of what there is in a problem: arms, features, items at once; 0 where there are none.
SIZES = [name for name, kind in Problem.__annotations__.items() if kind is int and name != "horizon"]


def rejects_nonsense(policy: Policy) -> None:
    """`init` refuses parameters that are not what they should be, and problems without choices: `ParameterError`."""
    problem = fixtures_of(policy).problem
    for name in policy._fields:
        for value in _nonsense(policy, name):
            bad = policy._replace(**{name: value})
            _refuses(lambda policy: cast(policy).init(problem), bad, f"{name}={value} was accepted")
    for name in (name for name in SIZES if getattr(problem, name)):
        for size in (0, -1, 1.5):
            sizes: dict[str, Any] = {name: size}
            hint = f"{name}={size} was accepted: check it in `init`, dx.whole({name!r}, problem.{name})"
            _refuses(policy.init, problem._replace(**sizes), hint)


def _nonsense(policy: Policy, name: str) -> tuple[object, ...]:
    """Values that no parameter can have. A window of 0 is one of them, unless the docstring says what it stands for."""
    wrong = (np.nan, np.inf, "x", None)
    if name != "window":
        return wrong
    entry = re.search(r"^window : .*\n((?:    .*\n)+)", f"{inspect.getdoc(type(policy))}\n", re.MULTILINE)
    return (*wrong, -1, 2.5) if entry and re.search(r"(?<![\d.])0(?![\d.])", entry[1]) else (*wrong, -1, 2.5, 0)


def refuses_other_families(policy: Policy) -> None:
    """Given a problem of another family, `init` raises nothing but `ParameterError`, and where the policy cannot play
    it, `check_fit` refuses it: studies and agents ask that first.
    """
    for name, family in FAMILIES.items():
        problem = family.fixtures.of().problem
        fits = _error_of(check_fit, policy, problem) is None
        belongs = family.accepts(family_of(policy))
        require(fits == belongs, f"{policy} {'refuses' if belongs else 'accepts'} a problem of the family {name}")
        error = _error_of(cast(policy).init, problem)
        right = error is None or isinstance(error, ParameterError)
        require(right, f"given a problem of the family {name}, init of {policy} raises {error!r}")


def compiles_once(policy: Policy) -> None:
    """Whole numbers written as floats, or floats as whole numbers, do not compile the loop again."""
    before = _signatures(policy)
    for kind in (float, int):
        short_run(_rewritten(policy, kind))
    after = _signatures(policy)  # others in this process may have compiled forms of their own
    require(before == after, f"the loop was compiled {after - before} times more for {policy}")


def memory_is_bounded(policy: Policy) -> None:
    """A state does not grow with the rounds played, nor with the horizon: one that tries windows, as its root."""
    problem, policy = fixtures_of(policy).problem, cast(policy)
    sizes = {_bytes(short_run(policy, rounds)[0]) for rounds in (10, ROUNDS)}
    require(len(sizes) == 1, f"the state of {policy} takes {sorted(sizes)} bytes, by the rounds played")
    short, long = (_bytes(policy.init(problem._replace(horizon=10**power))) for power in (4, 6))
    most = 11 * short if inside(policy) or "windows" in policy._fields else short
    require(long <= most, f"the state of {policy} takes {short} bytes for 10^4 rounds and {long} for 10^6")


def _refuses(action: Callable[[Any], object], bad: object, what: str) -> None:
    try:
        action(bad)
    except ParameterError:
        return
    raise ContractError(what)


def _error_of(action: Callable[..., object], *args: object) -> Exception | None:
    """What calling this raises."""
    try:
        action(*args)
    except Exception as error:
        return error
    return None


def _rewritten(policy: Policy, kind: type) -> Policy:
    """The same policy, with whole numbers written as `kind`."""
    plain = {name: value for name, value in policy._asdict().items() if isinstance(value, int | float)}
    changed = {name: kind(value) for name, value in plain.items() if value == int(value)}
    inner = inside(policy)
    return policy._replace(**changed | ({} if inner is None else {"policy": _rewritten(inner, kind)}))


def _bytes(state: Record) -> int:
    return sum(array.nbytes for _, array in arrays(state, but=()))


def _signatures(policy: Policy) -> int:
    """How often the loop has been compiled for a policy."""
    state, trace = short_run(policy)
    tape, nature = fixtures_of(policy).world.draw(ROUNDS, seed=1)
    arguments = (without_text(cast(policy)), state, tape, nature, key(0), trace, ROUNDS)
    return len(play.entry(*kinds(arguments)).signatures)
