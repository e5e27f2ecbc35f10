"""Deployments: what is decided, learned, changed and asked, over the journal."""
