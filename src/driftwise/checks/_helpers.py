"""What several checks ask of policies and states."""

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.core.serialization import arrays, lasting
from driftwise.core.types import Record


def kind_name(policy: Policy) -> str:
    return type(policy).__name__


def inside(policy: Policy) -> Policy | None:
    """The policy inside a policy, if there is one."""
    inner: Policy | None = getattr(policy, "policy", None)
    return inner


def differences(one: Record, other: Record) -> list[str]:
    """The arrays that differ beyond the last bits of sums; caches do not count."""
    pairs = zip(lasting(one), lasting(other), strict=True)
    return [
        path
        for (path, a), (_, b) in pairs
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
    ]


def alike(one: Record, other: Record) -> bool:
    return not differences(one, other)


def spoil_scratch(state: Record) -> None:
    """Write nonsense into the arrays that hold nothing from one call to the next: whoever reads them first is wrong."""
    kept = {path for path, _ in arrays(state)}
    for path, array in arrays(state, but=()):
        if path not in kept:
            array[...] = np.nan if array.dtype.kind == "f" else 0
