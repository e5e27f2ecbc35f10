"""Every world by name. A new one is a file in this folder and a line here; the file's name is the world's."""

from driftwise.core.spec import catalogue
from driftwise.worlds.abrupt import Abrupt as Abrupt
from driftwise.worlds.ac_mab import ACMAB as ACMAB
from driftwise.worlds.asc_mab import ASCMAB as ASCMAB
from driftwise.worlds.random_walk import RandomWalk as RandomWalk
from driftwise.worlds.rotating import Rotating as Rotating
from driftwise.worlds.sc_mab import SCMAB as SCMAB
from driftwise.worlds.sinusoidal import Sinusoidal as Sinusoidal
from driftwise.worlds.stationary import Stationary as Stationary

WORLDS = catalogue(__name__, globals())
