"""Policies over policies of any family, and worlds of more than one."""

from driftwise.core.spec import catalogue
from driftwise.families.composite import policies, worlds
from driftwise.families.composite.policies import *  # noqa: F403
from driftwise.families.composite.worlds import *  # noqa: F403

COMPOSITE_POLICIES, COMPOSITE_WORLDS = catalogue(policies), catalogue(worlds)
