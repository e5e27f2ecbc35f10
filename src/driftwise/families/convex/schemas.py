"""Outcomes of points in JSON."""

from typing import Annotated

from msgspec import Meta

from driftwise.core.fields import Number, Row
from driftwise.core.schemas import Fields


class ConvexFields(Fields):
    """The `gradient` of the loss at the point; with constraints their `values` and `jacobian`; perhaps the `loss`."""

    gradient: Row | None = None
    values: Annotated[list[Number], Meta(max_length=1000)] | None = None
    jacobian: Annotated[list[Row], Meta(max_length=1000)] | None = None
    loss: Number | None = None
