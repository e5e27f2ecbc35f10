"""`python -m benchmarks.auto_features`: a policy with nothing to set against linear policies tuned in hindsight."""
