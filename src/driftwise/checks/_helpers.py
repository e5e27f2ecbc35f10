"""What several checks ask of policies and states."""

from typing import Any

import numpy as np

from driftwise.core.serialization import lasting


def called(policy: Any) -> str:
    return type(policy).__name__


def inside(policy: Any) -> Any:
    """The policy inside a policy, if there is one."""
    return getattr(policy, "policy", None)


def differences(one: Any, other: Any) -> list[str]:
    """The arrays that differ beyond the last bits of sums; caches do not count."""
    pairs = zip(lasting(one), lasting(other), strict=True)
    return [
        path
        for (path, a), (_, b) in pairs
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
    ]


def alike(one: Any, other: Any) -> bool:
    return not differences(one, other)
