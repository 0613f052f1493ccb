"""Confirmation: when enough pairs of runs have been measured, and how to word the result."""
