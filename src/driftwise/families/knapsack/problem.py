"""What is known beforehand of a problem with budgets."""

from typing import NamedTuple

from driftwise.core.types import Floats


class Budgets(NamedTuple):
    """What may be spent of each resource over the whole run, in units in which one choice costs at most 1."""

    amounts: Floats
