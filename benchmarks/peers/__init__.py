"""Other bandit libraries, each in its own virtual environment, timed in one uniform way."""
