"""The ratio of two means, with an interval for paired samples."""

from driftwise.core.types import Floats
from driftwise.measure.summary import Estimate, estimate


def ratio_of_means(ours: Floats, theirs: Floats) -> Estimate:
    """The ratio of two means over the same runs or instances; its interval is that of what is left over, linearised."""
    ratio = float(ours.mean() / theirs.mean())
    return Estimate(ratio, estimate((ours - ratio * theirs) / theirs.mean()).ci95)
