"""Worlds of more than one family by name. `delayed` makes rewards of another world late, and has no name of its own."""

from driftwise.families.composite.worlds.flights import Flights as Flights
