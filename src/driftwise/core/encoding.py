"""Arrays and plain facts as they are written into an agent's bytes."""

import math

import numpy as np

from driftwise.core.serialization import Packed
from driftwise.core.types import Array
from driftwise.errors import StateError

Arm = str | int | float
Facts = dict[str, bool | int | float | str | list[str]]


def packed(name: str, array: Array) -> Packed:
    """Numbers, ready to travel."""
    kind = array.dtype.newbyteorder("<")
    return Packed(name, kind.str, array.shape, array.astype(kind).tobytes())


KINDS = {"<f8": 8, "<i8": 8, "|b1": 1}  # what may travel, and its bytes


def unpacked(saved: Packed, shape: tuple[int | None, ...], kind: str = "<f8") -> Array:
    """Numbers that have travelled; they must have the shape expected, where None is any length."""
    fits = len(saved.shape) == len(shape) and all(b is None or a == b for a, b in zip(saved.shape, shape, strict=False))
    if saved.dtype != kind or not fits or len(saved.data) != KINDS[kind] * math.prod(saved.shape):
        raise StateError(f"{saved.path} is {saved.dtype}{saved.shape} in {len(saved.data)} bytes: it does not fit")
    array = np.frombuffer(saved.data, kind).reshape(saved.shape)
    return array.astype(array.dtype.newbyteorder("="))
