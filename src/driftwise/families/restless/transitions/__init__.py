"""Transitions of restless arms: counted, pooled, bounded from above, and how fast they drift."""
