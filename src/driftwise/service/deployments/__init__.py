"""Deployments: decisions, outcomes, changes and queries, over the journal."""
