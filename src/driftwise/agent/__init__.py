"""Live decisions: `Agent`, and how each family is asked and answered."""

from driftwise.agent.agent import Agent as Agent
