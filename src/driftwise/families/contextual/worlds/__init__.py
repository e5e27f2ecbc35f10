"""The worlds of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.contextual.worlds.abrupt_linear import AbruptLinear as AbruptLinear
from driftwise.families.contextual.worlds.drifting_surface import DriftingSurface as DriftingSurface
from driftwise.families.contextual.worlds.hypercube import Hypercube as Hypercube
from driftwise.families.contextual.worlds.piecewise_linear import PiecewiseLinear as PiecewiseLinear
from driftwise.families.contextual.worlds.rotating import Rotating as Rotating
from driftwise.families.contextual.worlds.sine_pair import SinePair as SinePair
