"""The HTTP application."""
