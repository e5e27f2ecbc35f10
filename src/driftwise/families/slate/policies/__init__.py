"""The policies of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.slate.policies.sliding_slate_ucb import SlidingSlateUCB as SlidingSlateUCB
