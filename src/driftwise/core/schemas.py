"""What decisions and outcomes hold in JSON: each family has fields of its own, and a service takes those of all.

A family's fields are a struct in which everything may be left out: its adapter says what a decision needs.
"""

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from driftwise.core.fields import Number


class Fields(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """No field: the base of all, and of families that need none. What is left out is left out of JSON too."""


class RewardFields(Fields):
    """The outcome of a decision: one reward."""

    reward: Number | None = None


class ChangeFields(Fields):
    """Fields of a problem that can change: `horizon`, how many rounds there are in all."""

    horizon: Annotated[int, Meta(ge=1, le=10**12)] | None = None


def merged(name: str, base: type[msgspec.Struct], parts: Iterable[type[msgspec.Struct]]) -> type[Any]:
    """A struct with the fields of `base` and of all parts; a field of the same name must have the same type."""
    own = {field.name for field in msgspec.structs.fields(base)}
    fields: dict[str, Any] = {}
    for part in parts:
        for field in msgspec.structs.fields(part):
            if field.name in own or fields.setdefault(field.name, field.type) != field.type:
                raise TypeError(f"{part.__name__}.{field.name} does not fit the field of the same name in {name}")
    added = [(field, kind, None) for field, kind in fields.items()]
    doc = {"__doc__": base.__doc__}
    return msgspec.defstruct(name, added, bases=(base,), namespace=doc, module=base.__module__, kw_only=True)


def present_fields(fields: msgspec.Struct, names: Iterable[str]) -> dict[str, Any]:
    """The fields of these names that are not None."""
    return {name: value for name in names if (value := getattr(fields, name)) is not None}
