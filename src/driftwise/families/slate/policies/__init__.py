"""The policies of this family by name. A new one is a file in this folder and a line here; the file's name is its name."""

from driftwise.core.spec import catalogue
from driftwise.families.slate.policies.sliding_slate_ucb import SlidingSlateUCB as SlidingSlateUCB

POLICIES = catalogue(__name__, globals())
