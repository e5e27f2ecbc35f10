"""Compiled mathematics that two or more families share."""
