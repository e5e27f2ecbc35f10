"""How boldly a search by cutting planes steps.

Cutting planes minimise a convex function by a model of it: the largest of the planes that touch it where it has been
asked so far. The model is right there and too low elsewhere, so its own lowest point swings about wildly. Better ask
between the best point known and the lowest of the model:

    next point = caution * best known + (1 - caution) * lowest of the model

Whatever the caution below 1, such a step raises the model or lowers the best: where the new plane leaves the model as
it was, the function equals the model there, and by convexity that closes a share 1 - caution of the gap. After a step
that found a new best the search grows bolder, after one that did not, more careful. Nothing confines the model, as a
box around the best point would, so its lowest point always bounds the minimum from below.
"""

from driftwise.core.types import Floats

CAUTION, LEAST, MOST = 0.5, 0.0, 0.9
BOLDER, CALMER = 0.1, 0.3


def next_caution(caution: float, better: bool) -> float:
    """After a step that found a new best, or did not."""
    return max(LEAST, caution - BOLDER) if better else min(MOST, caution + CALMER * (1.0 - caution))


def between(best: Floats, lowest: Floats, caution: float) -> Floats:
    """Where to ask next."""
    point: Floats = caution * best + (1.0 - caution) * lowest
    return point
