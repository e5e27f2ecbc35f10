"""The worlds of this family by name. A new one is a file in this folder and a line here; the file's name is its name."""

from driftwise.core.spec import catalogue
from driftwise.families.convex.worlds.convex_gap import ConvexGap as ConvexGap
from driftwise.families.convex.worlds.convex_hard import ConvexHard as ConvexHard
from driftwise.families.convex.worlds.convex_linear import ConvexLinear as ConvexLinear
from driftwise.families.convex.worlds.convex_quadratic import ConvexQuadratic as ConvexQuadratic

WORLDS = catalogue(__name__, globals())
