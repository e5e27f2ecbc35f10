"""The worlds of this family by name. A new one is a file in this folder and a line here; the file's name is its name."""

from driftwise.core.spec import catalogue
from driftwise.families.contextual.worlds.drifting_surface import DriftingSurface as DriftingSurface
from driftwise.families.contextual.worlds.flights import Flights as Flights
from driftwise.families.contextual.worlds.piecewise_linear import PiecewiseLinear as PiecewiseLinear
from driftwise.families.contextual.worlds.rotating import Rotating as Rotating
from driftwise.families.contextual.worlds.sine_pair import SinePair as SinePair

WORLDS = catalogue(__name__, globals())
