"""Everything driftwise raises on purpose. Each message names the value and the rule it broke."""

from collections.abc import Iterable, Sequence


class DriftwiseError(Exception):
    """The root: catch this to catch them all. The command line turns it into one line and exit code 2."""


class ParameterError(DriftwiseError, ValueError):
    """A parameter of a policy, world or study is outside its rule."""


class RewardError(DriftwiseError, ValueError):
    """A reward is not a finite number in the declared range."""


class FeatureError(DriftwiseError, ValueError):
    """Features are not finite numbers in the declared shape, or too large to learn from."""


class BudgetError(DriftwiseError, ValueError):
    """A budget, a cost or a horizon is outside its rule, or names a resource that is not there."""


class MoveError(DriftwiseError, ValueError):
    """The state of an arm is not one of those there are, is missing, or could not have been reached."""


class DecisionError(DriftwiseError, LookupError):
    """A decision id was never given out, or has been answered already."""


class ArmError(DriftwiseError, LookupError):
    """An arm is unknown, already there, the last one left, or not one that a policy may choose."""


class LogError(DriftwiseError, ValueError):
    """A log of decisions cannot be read, or lacks what is asked of it."""


class StateError(DriftwiseError, ValueError):
    """Saved bytes are truncated, foreign, or of another version."""


class RegistrationError(DriftwiseError, TypeError):
    """Two kernels would answer to one name."""


class KernelError(DriftwiseError, TypeError):
    """A kernel cannot be compiled."""


class ExtraError(ParameterError, ImportError):
    """A package is missing that an extra of driftwise brings."""


def no_attribute(module: str, name: str, known: Iterable[str], elsewhere: Sequence[str] = ()) -> AttributeError:
    """The error of a public module without such a name: where that is, or the nearest of those it has."""
    import difflib  # here, as importing driftwise is to be quick

    close = elsewhere or difflib.get_close_matches(name, list(known), n=2)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
