"""How long a test waits for what has to come."""

PATIENCE = 120.0
"""Seconds that are no limit for a busy machine. What is there goes on at once, so only a failure waits."""
