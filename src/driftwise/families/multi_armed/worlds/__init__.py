"""The worlds of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.multi_armed.worlds.abrupt import Abrupt as Abrupt
from driftwise.families.multi_armed.worlds.ac_mab import ACMAB as ACMAB
from driftwise.families.multi_armed.worlds.asc_mab import ASCMAB as ASCMAB
from driftwise.families.multi_armed.worlds.local_level import LocalLevel as LocalLevel
from driftwise.families.multi_armed.worlds.random_walk import RandomWalk as RandomWalk
from driftwise.families.multi_armed.worlds.sc_mab import SCMAB as SCMAB
from driftwise.families.multi_armed.worlds.sinusoidal import Sinusoidal as Sinusoidal
from driftwise.families.multi_armed.worlds.stationary import Stationary as Stationary
