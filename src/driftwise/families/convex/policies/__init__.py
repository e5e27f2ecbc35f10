"""The policies of this family by name. A new one is a file in this folder and a line here; the file's name is its name."""

from driftwise.core.spec import catalogue
from driftwise.families.convex.policies.virtual_queue import VirtualQueue as VirtualQueue

POLICIES = catalogue(__name__, globals())
