"""Outcomes of knapsacks in JSON, and what is answered with a decision."""

from driftwise.core.fields import Amounts, Number
from driftwise.core.schemas import ChangeFields, Fields, RewardFields


class KnapsackFields(RewardFields):
    """`costs` maps resources to what was spent; a number will do where there is only one."""

    costs: Amounts | Number | None = None


class KnapsackChanges(ChangeFields):
    """`budgets` maps resources to what may be spent of them in all."""

    budgets: Amounts | None = None


class KnapsackAnswer(Fields):
    """`remaining` is what is left of each budget; part of it may be reserved."""

    remaining: dict[str, float] | None = None
