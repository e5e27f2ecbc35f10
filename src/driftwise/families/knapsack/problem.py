"""What is known beforehand of a problem with budgets."""

from typing import NamedTuple

from driftwise.core.types import Floats


class Budgets(NamedTuple):
    """What may be spent of each resource over the whole run, in units in which one choice costs at most 1.

    Once the problem of an agent has changed on the way: what a whole run would spend at the pace of what was left.
    """

    amounts: Floats
