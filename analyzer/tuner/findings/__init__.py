"""Findings of a finished campaign: effects, confirmation, results."""
