"""Diagnosis of a log: does it drift, when, how far, how often the seasons turn, and what to run."""
