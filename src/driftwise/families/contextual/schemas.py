"""Requests of contextual problems in JSON."""

from typing import Annotated

from msgspec import Meta

from driftwise.core.fields import Label, Matrix, Row
from driftwise.core.schemas import Fields


class ContextualRequest(Fields):
    """`actions` is a row of features per action, or per arm by name; `context` a vector."""

    actions: Matrix | Annotated[dict[Label, Row], Meta(min_length=1, max_length=1000)] | None = None
    context: Row | None = None


class ContextualArm(Fields):
    """The `features` of an arm that is added, where others have brought theirs."""

    features: Row | None = None
