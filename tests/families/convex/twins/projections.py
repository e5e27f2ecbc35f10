"""The nearest points of boxes, balls and simplices, slowly: sorted, summed exactly, a part at a time."""

import math
from typing import Any

import numpy as np

from driftwise.core.types import Floats
from driftwise.families.convex.projections import BALL, BOX, Domain


def nearest(domain: Domain, point: Any) -> Floats:
    """The nearest point of a product of sets: each part on its own."""
    answer = np.array(point, float)
    for part, kind in enumerate(domain.kinds):
        here = slice(domain.starts[part], domain.stops[part])
        if kind == BOX:
            answer[here] = np.clip(answer[here], domain.lows[here], domain.highs[here])
        elif kind == BALL:
            answer[here] = into_ball(answer[here], domain.centres[here], domain.sizes[part])
        else:
            answer[here] = onto_simplex(answer[here], domain.sizes[part])
    return answer


def into_ball(point: Floats, centre: Floats, radius: float) -> Floats:
    away = point - centre
    length = math.hypot(*away)
    return point if length <= radius else centre + away * (radius / length)


def onto_simplex(point: Floats, total: float) -> Floats:
    """Held, Wolfe & Crowder 1974: the largest k for which the k-th largest coordinate stays above its threshold."""
    ordered = sorted(point.tolist(), reverse=True)
    threshold = 0.0
    for k in range(1, len(ordered) + 1):
        candidate = (math.fsum(ordered[:k]) - total) / k
        if ordered[k - 1] > candidate:
            threshold = candidate
    return np.maximum(point - threshold, 0.0)


def most_linear(domain: Domain, slope: Floats) -> float:
    """The largest value of slope'y over the domain."""
    most = 0.0
    for part, kind in enumerate(domain.kinds):
        here = slice(domain.starts[part], domain.stops[part])
        own = slope[here]
        if kind == BOX:
            most += float(np.maximum(own * domain.lows[here], own * domain.highs[here]).sum())
        elif kind == BALL:
            most += float(own @ domain.centres[here] + domain.sizes[part] * np.linalg.norm(own))
        else:
            most += float(domain.sizes[part] * own.max())
    return most
