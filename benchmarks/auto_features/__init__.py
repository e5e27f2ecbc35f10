"""How a policy with nothing to set fares against linear policies tuned in hindsight: `python -m benchmarks.auto_features`."""
