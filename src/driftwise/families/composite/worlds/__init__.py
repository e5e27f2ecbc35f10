"""Worlds over worlds."""
