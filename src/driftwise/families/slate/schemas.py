"""Outcomes of slates in JSON."""

from driftwise.core.fields import ByItem
from driftwise.core.schemas import Fields


class SlateFields(Fields):
    """`rewards` has one number per item, in the order of the slate."""

    rewards: ByItem | None = None
