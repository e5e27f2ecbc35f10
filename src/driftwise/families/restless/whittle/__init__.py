"""Whittle indices: of one arm, of many, again after a small change, and what they bound."""
