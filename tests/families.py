"""What is registered, by family: the tests of each take their own."""

from driftwise.core.family import family_of
from driftwise.families import POLICIES
from driftwise.families import WORLDS

ARMED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "armed"}
FEATURED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "features"}
ARMED_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "armed"}
FEATURED_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "features"}
SLATED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "slates"}
POINTED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "convex"}
SLATED_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "slates"}
BUDGETED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "budgets"}
BUDGETED_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "budgets"}
RESTLESS = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "restless"}
RESTLESS_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "restless"}
