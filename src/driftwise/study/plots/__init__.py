"""Plots of studies and papers."""
