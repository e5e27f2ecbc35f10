"""The policies of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.convex.policies.virtual_queue import VirtualQueue as VirtualQueue
