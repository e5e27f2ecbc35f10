"""The service from Python."""
