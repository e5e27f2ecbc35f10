"""What is registered, by family: the tests of each take their own."""

from driftwise.core.family import family_of
from driftwise.families import POLICIES, WORLDS

ARMED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "multi-armed"}
FEATURED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "contextual"}
ARMED_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "multi-armed"}
FEATURED_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "contextual"}
SLATED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "slate"}
POINTED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "convex"}
SLATED_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "slate"}
BUDGETED = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "knapsack"}
BUDGETED_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "knapsack"}
RESTLESS = {name: kind for name, kind in POLICIES.items() if family_of(kind()) == "restless"}
RESTLESS_WORLDS = {name: kind for name, kind in WORLDS.items() if kind().problem().family == "restless"}
