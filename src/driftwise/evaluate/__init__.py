"""Logged decisions: reading them, whether they drift, and what to run on data like them."""
