"""The worlds of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.restless.worlds.age_of_information import AgeOfInformation as AgeOfInformation
from driftwise.families.restless.worlds.climbing import Climbing as Climbing
from driftwise.families.restless.worlds.health_adherence import HealthAdherence as HealthAdherence
from driftwise.families.restless.worlds.machine_maintenance import MachineMaintenance as MachineMaintenance
from driftwise.families.restless.worlds.restless_table import RestlessTable as RestlessTable
