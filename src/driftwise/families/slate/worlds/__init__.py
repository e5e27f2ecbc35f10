"""The worlds of this family by name. A new one is a file in this folder and a line here; the file's name is its name."""

from driftwise.core.spec import catalogue
from driftwise.families.slate.worlds.slates import Slates as Slates

WORLDS = catalogue(__name__, globals())
