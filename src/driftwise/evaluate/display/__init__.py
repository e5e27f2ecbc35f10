"""Logs, diagnoses, evaluations and recommendations in notebooks."""
