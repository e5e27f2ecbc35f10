"""Statistics of a deployment: their state, how events change it, and their JSON view."""
