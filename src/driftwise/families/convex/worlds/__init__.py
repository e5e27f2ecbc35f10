"""The worlds of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.convex.worlds.convex_gap import ConvexGap as ConvexGap
from driftwise.families.convex.worlds.convex_hard import ConvexHard as ConvexHard
from driftwise.families.convex.worlds.convex_linear import ConvexLinear as ConvexLinear
from driftwise.families.convex.worlds.convex_quadratic import ConvexQuadratic as ConvexQuadratic
