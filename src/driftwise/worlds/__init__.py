"""Every world by name. A new one is a file in this folder and a line in this table."""

from typing import Any

from driftwise.worlds.abrupt import Abrupt
from driftwise.worlds.delayed import Delayed as Delayed
from driftwise.worlds.random_walk import RandomWalk
from driftwise.worlds.sinusoidal import Sinusoidal
from driftwise.worlds.stationary import Stationary

WORLDS: dict[str, Any] = {
    "stationary": Stationary,
    "abrupt": Abrupt,
    "sinusoidal": Sinusoidal,
    "random-walk": RandomWalk,
}
