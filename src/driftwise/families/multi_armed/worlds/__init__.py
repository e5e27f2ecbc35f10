"""The worlds of this family by name. A new one is a file in this folder and a line here; the file's name is its name."""

from driftwise.core.spec import catalogue
from driftwise.families.multi_armed.worlds.abrupt import Abrupt as Abrupt
from driftwise.families.multi_armed.worlds.ac_mab import ACMAB as ACMAB
from driftwise.families.multi_armed.worlds.asc_mab import ASCMAB as ASCMAB
from driftwise.families.multi_armed.worlds.random_walk import RandomWalk as RandomWalk
from driftwise.families.multi_armed.worlds.sc_mab import SCMAB as SCMAB
from driftwise.families.multi_armed.worlds.sinusoidal import Sinusoidal as Sinusoidal
from driftwise.families.multi_armed.worlds.stationary import Stationary as Stationary

WORLDS = catalogue(__name__, globals())
