"""Policies over policies of any family, and worlds over worlds."""
