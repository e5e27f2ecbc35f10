"""Everything driftwise raises on purpose. Each message names the value and the rule it broke."""


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
