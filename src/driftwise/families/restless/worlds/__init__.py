"""The worlds of this family by name. A new one is a file in this folder and a line here; the file's name is its name."""

from driftwise.core.spec import catalogue
from driftwise.families.restless.worlds.age_of_information import AgeOfInformation as AgeOfInformation
from driftwise.families.restless.worlds.climbing import Climbing as Climbing
from driftwise.families.restless.worlds.health_adherence import HealthAdherence as HealthAdherence
from driftwise.families.restless.worlds.machine_maintenance import MachineMaintenance as MachineMaintenance
from driftwise.families.restless.worlds.restless_table import RestlessTable as RestlessTable

WORLDS = catalogue(__name__, globals())
