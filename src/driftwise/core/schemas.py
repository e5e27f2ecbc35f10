"""What decisions and outcomes hold in JSON: each family has fields of its own, and a service takes those of all.

A family's fields are a struct in which everything may be left out: its adapter says what a decision needs.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from driftwise.core.fields import Number


class Fields(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """No field: the base of all, and of families that need none."""


class RewardFields(Fields):
    """The outcome of a decision: one reward."""

    reward: Number | None = None


def merged(name: str, base: type[msgspec.Struct], parts: Iterable[type[msgspec.Struct]]) -> type[Any]:
    """A struct with the fields of `base` and of all parts; a field of the same name must have the same type."""
    own = {field.name for field in msgspec.structs.fields(base)}
    fields: dict[str, Any] = {}
    for part in parts:
        for field in msgspec.structs.fields(part):
            if field.name in own or fields.setdefault(field.name, field.type) != field.type:
                raise TypeError(f"{part.__name__}.{field.name} does not fit the field of the same name in {name}")
    added = [(field, kind, None) for field, kind in fields.items()]
    return msgspec.defstruct(name, added, bases=(base,), namespace={"__doc__": base.__doc__}, module=base.__module__)


def given(fields: msgspec.Struct, names: Iterable[str]) -> dict[str, Any]:
    """The fields that were given, of these names."""
    return {name: value for name in names if (value := getattr(fields, name)) is not None}
